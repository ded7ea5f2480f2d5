"""Scenes as pictures: the network that makes their features is a part of the model and can learn.

``scenes`` comes as finished features. Whoever wants to fine-tune the network behind them, as the second half of LTD's
training does, needs the pictures themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from icrlib.data import backbones
from icrlib.data.scenes import generate
from icrlib.data.scenes.stamps import StampedPictures
from icrlib.data.splits import Dataset, Outline
from icrlib.files import sha256_of


def rendered(
    seed: int = 0,
    *,
    train: int | None = None,
    val: int | None = None,
    test: int | None = None,
    smoke: bool = False,
    progress: bool = True,
) -> Dataset:
    """The scenes of ``seed`` with pictures, (3, 64, 64) in [0, 1], where others hold features.

    A frozen network makes the features of ``scenes`` out of them, up to the half precision in which those are kept. An
    update costs several times as much, for the network runs in each. Pictures are never mirrored: left is not right.
    """
    plain = generate.load(seed, train=train, val=val, test=test, smoke=smoke, progress=progress)
    network = backbones.load(backbones.SCENES)
    splits = {
        split.name: replace(split, features=StampedPictures(split.images, network))
        for split in (plain.train, plain.val, plain.test)
    }
    return replace(
        plain,
        name="rendered",
        **splits,
        fingerprint=sha256_of(plain.fingerprint, "rendered"),
        options=plain.options | {"backbone": network.name},
    )


def outline(given: Mapping, *, seed: int = 0, smoke: bool = False, regions: bool = False) -> Outline:
    """What :func:`rendered` would draw; there are pictures, and so no ``regions``."""
    plain = generate.outline({**given, "regions": False}, seed=seed, smoke=smoke)
    return replace(plain, pictures=True, options={**plain.options, "backbone": backbones.SCENES})

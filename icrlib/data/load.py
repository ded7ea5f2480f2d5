"""Datasets by name."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable

from icrlib.data import karpathy, photos, precomputed
from icrlib.data.scenes import generate, stamps
from icrlib.data.splits import Dataset, Outline
from icrlib.errors import choose, true_or_false

# Drawn from a seed, by a function: nothing to fetch, and known before anything is drawn.
DRAWN: dict[str, Callable[..., Dataset]] = {
    "scenes": generate.load,
    "rendered": stamps.rendered,
    "stamps": stamps.stamped,
}
OUTLINES: dict[str, Callable[..., Outline]] = {
    "scenes": generate.outline,
    "rendered": stamps.outline_rendered,
    "stamps": stamps.outline_stamped,
}
DATASETS = (*DRAWN, *karpathy.PUBLISHED)
USUAL = "scenes"


def load_dataset(
    name: str = USUAL,
    *,
    root: str | os.PathLike | None = None,
    features: str | os.PathLike | None = None,
    smoke: bool = False,
    **options,
) -> Dataset:
    """Load a dataset by name.

    ``"scenes"`` is generated in seconds and cached (:func:`icrlib.data.scenes.load` lists its options). So are
    ``"rendered"``, the same as pictures, for a network that learns (:func:`icrlib.data.scenes.stamps.rendered`), and
    ``"stamps"``, pictures with a shortcut on purpose (:func:`icrlib.data.scenes.stamps.stamped`).
    ``"flickr8k"``, ``"flickr30k"`` and ``"coco"``, and your own data under one of these names, come from ``root``, a
    folder of photos with one ``dataset*.json`` in Karpathy's format (:func:`icrlib.data.photos.load`), or from
    ``features``, a folder of pre-computed features (:func:`icrlib.data.precomputed.load`); with both, the features of
    the photos are kept there. With ``train=400`` only so many of the training photos are used. ``smoke`` keeps a small
    part, for trying things out.

    Raises ``ValueError`` for an unknown name or option, ``FileNotFoundError`` for a missing folder or file.
    """
    true_or_false("smoke", smoke)
    choose(name, DATASETS, "dataset")
    if name in DRAWN:
        if features is not None or root is not None:
            raise ValueError(f"the dataset {name!r} makes its own pictures and features; leave root= and features= out")
        _check_options(DRAWN[name], options, name)
        return DRAWN[name](smoke=smoke, **options)
    if root is None and features is None:
        raise ValueError(
            f"the dataset {name!r} needs root=FOLDER with dataset*.json (icr data make writes it) and the photos, or "
            "features=FOLDER with train_ims.npy, train_caps.txt, dev_…, test_… (the layout of SCAN and VSRN)"
        )
    if root is None:
        _check_options(precomputed.load, options, name)
        return precomputed.load(features, name=name, smoke=smoke, **options)
    _check_options(photos.load, options, name)
    return photos.load(root, name=name, features=features, smoke=smoke, **options)


# What has a parameter of its own wherever data are asked for, or comes from load_dataset's own arguments.
NAMED = ("root", "features", "folder", "name", "smoke", "seed", "regions", "images", "backbone")


def more_options(name: str) -> list[str]:
    """Further options of a data set by name, such as ``min_count`` of photos or ``train`` of scenes."""
    choose(name, DATASETS, "dataset")
    options = inspect.signature(DRAWN.get(name, photos.load)).parameters.values()
    return [one.name for one in options if one.name not in NAMED and one.kind is not inspect.Parameter.VAR_KEYWORD]


def _check_options(loader: Callable, options: dict, name: str) -> None:
    known = {option: about.default for option, about in inspect.signature(loader).parameters.items()}
    known = {option: usual for option, usual in known.items() if option not in ("features", "folder", "name", "smoke")}
    for option, value in options.items():
        choose(option, known, f"option of the dataset {name!r}")
        if isinstance(known[option], bool):
            true_or_false(option, value)

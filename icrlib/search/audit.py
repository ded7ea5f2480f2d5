"""Measure any encoder on photos that have captions: how well it retrieves, and what a loss could still teach it."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
import torch

from icrlib.cocos.over_training_set import per_batch
from icrlib.data.karpathy import Photos
from icrlib.data.splits import Split
from icrlib.evaluation import measure
from icrlib.losses.build import by_name
from icrlib.models.base import Encodings, join
from icrlib.progress import bar
from icrlib.sampling import Batch, Sampler
from icrlib.search.encoders import Encoder

# Losses with their published constants, which suppose cosines as these models make them.
LOSSES = ("triplet", "triplet_sh", "ntxent", "smoothap")
TOGETHER = 32  # pictures that are encoded at a time


@dataclass(frozen=True)
class Audit:
    """What came out: ``measures`` as :func:`icrlib.evaluate` gives them, and ``left``, a row for each loss.

    ``left``: for both directions the share of queries (percent) of which a batch has no gradient, and the effective
    number of negatives of the others (:mod:`icrlib.cocos`, exact).
    """

    photos: int
    captions: int
    measures: dict
    left: pd.DataFrame

    def recalls(self) -> pd.DataFrame:
        """R@1, R@5, R@10 in percent and the median rank, a row for each direction."""
        names = {"r1": "R@1", "r5": "R@5", "r10": "R@10", "median_rank": "median rank"}
        sides = {"captions of a photo": "i2t", "the photo of a caption": "t2i"}
        rows = {told: self.measures[side] for told, side in sides.items()}
        return pd.DataFrame({told: {names[key]: row[key] for key in names} for told, row in rows.items()}).T


def audit(encoder: Encoder, photos: Photos, batch_size: int = 128, seed: int = 0, progress: bool = True) -> Audit:
    """Encode ``photos`` and their captions and compare all with all.

    ``encoder``: :class:`icrlib.search.Trained` for a model of this library, :class:`icrlib.search.Own` for any object
    with ``encode_images`` and ``encode_captions``. The losses see batches of ``batch_size`` pairs in which all captions
    of a photo count as right. ``ValueError`` for fewer than two photos, a photo without a caption, and for pictures
    that cannot be read, by name.
    """
    bare = [str(file) for file, texts in zip(photos.files, photos.captions, strict=True) if not texts]
    if bare or len(photos) < 2:
        raise ValueError(
            f"{bare[0]} has no caption; an audit needs captions of every photo"
            if bare
            else f"{len(photos)} photos; an audit needs two or more"
        )
    encoder.ready()
    texts = [text for some in photos.captions for text in some]
    owner = torch.tensor([row for row, some in enumerate(photos.captions) for _ in some])
    starts = range(0, len(photos), TOGETHER)
    images = join(
        [
            encoder.finish(encoder.pictures(photos.files[at : at + TOGETHER])).cpu()
            for at in bar(starts, "encoding photos", progress and len(starts) > 1)
        ]
    )
    told = join([encoder.texts(texts[at : at + 512]).cpu() for at in range(0, len(texts), 512)])
    split = Split("audit", torch.zeros(len(photos), 1), texts, owner, list(photos.ids))
    sampler = Sampler(split, seed, batch_size, positives="image")
    batches = [sampler[k] for k in range(sampler.per_epoch)]
    measures = measure(images, told, split, similarity=encoder.similarity, at_once=encoder.at_once)
    return Audit(
        len(photos),
        len(texts),
        measures,
        pd.DataFrame({by_name(name).label: _left(name, images, told, batches, encoder, progress) for name in LOSSES}).T,
    )


def _left(
    name: str, images: Encodings, captions: Encodings, batches: list[Batch], encoder: Encoder, progress: bool
) -> dict[str, float]:
    """What a loss finds in the batches, in both directions; a batch counts by its queries."""
    found = per_batch(
        by_name(name), images, captions, batches, convention="exact", similarity=encoder.similarity, progress=progress
    )
    told = {"photos": found["i2t"], "captions": found["t2i"]}
    return {
        f"{what} without a gradient, %": float(100 * one["C_0"].sum() / one["queries"].sum())
        for what, one in told.items()
    } | {
        f"effective negatives of {what}": float((one["n_eff"] * one["queries"]).sum() / one["queries"].sum())
        for what, one in told.items()
    }

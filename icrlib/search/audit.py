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
from icrlib.models.base import join
from icrlib.progress import bar
from icrlib.sampling import Sampler
from icrlib.search.encoders import TOGETHER, Encoder, encoded

# Losses with their published constants, which suppose cosines as these models make them.
LOSSES = ("triplet", "triplet_sh", "ntxent", "smoothap")
MEASURES = {"r1": "R@1", "r5": "R@5", "r10": "R@10", "median_rank": "median rank"}


@dataclass(frozen=True)
class Audit:
    """What came out: ``measures`` as :func:`icrlib.evaluate` gives them, and ``left``, a row for each loss.

    ``left``: for both directions the share of queries (percent) of which a batch has no gradient, and the effective
    number of negatives of the others (:mod:`icrlib.cocos`, exact).
    """

    measures: dict
    left: pd.DataFrame

    def recalls(self) -> pd.DataFrame:
        """R@1, R@5, R@10 in percent and the median rank, a row for each direction."""
        table = pd.DataFrame([self.measures["i2t"], self.measures["t2i"]])[list(MEASURES)]
        return table.set_axis(["captions of a photo", "the photo of a caption"]).rename(columns=MEASURES)


def audit(encoder: Encoder, photos: Photos, batch_size: int = 128, seed: int = 0, progress: bool = True) -> Audit:
    """Encode ``photos`` and their captions and compare all with all.

    ``encoder``: :class:`icrlib.search.Trained` for a model of this library, :class:`icrlib.search.Own` for any object
    with ``encode_images`` and ``encode_captions``. The losses see batches of ``batch_size`` pairs in which all captions
    of a photo count as right. ``ValueError`` for fewer than two photos, a photo without a caption, and for pictures
    that cannot be read, by name.
    """
    bare = [file for file, texts in zip(photos.files, photos.captions, strict=True) if not texts]
    if bare:
        raise ValueError(f"{bare[0]} has no caption; an audit needs captions of every photo")
    if len(photos) < 2:
        raise ValueError(f"{len(photos)} photos; an audit needs two or more")
    encoder.ready()
    texts = [text for captions in photos.captions for text in captions]
    owner = torch.tensor([row for row, captions in enumerate(photos.captions) for _ in captions])
    starts = bar(range(0, len(photos), TOGETHER), "encoding photos", progress and len(photos) > TOGETHER)
    images = join([encoder.finish(encoder.pictures(photos.files[at : at + TOGETHER])).cpu() for at in starts])
    captions = encoded(encoder, texts)
    split = Split("audit", torch.zeros(len(photos), 1), texts, owner, list(photos.ids))
    sampler = Sampler(split, seed, batch_size, positives="image")
    batches = [sampler[k] for k in range(sampler.per_epoch)]
    options = {"convention": "exact", "similarity": encoder.similarity, "progress": progress}
    left = {loss.label: _left(per_batch(loss, images, captions, batches, **options)) for loss in map(by_name, LOSSES)}
    measures = measure(images, captions, split, similarity=encoder.similarity, at_once=encoder.at_once)
    return Audit(measures, pd.DataFrame(left).T)


def _left(counts: dict[str, dict[str, torch.Tensor]]) -> dict[str, float]:
    """What a loss finds in the batches, in both directions; a batch counts by its queries."""
    sides, row = {"photos": counts["i2t"], "captions": counts["t2i"]}, {}
    for what, side in sides.items():
        row[f"{what} without a gradient, %"] = float(100 * side["C_0"].sum() / side["queries"].sum())
    for what, side in sides.items():
        row[f"effective negatives of {what}"] = float((side["n_eff"] * side["queries"]).sum() / side["queries"].sum())
    return row

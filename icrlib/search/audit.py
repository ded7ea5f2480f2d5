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


def audit(
    encoder: Encoder,
    photos: Photos,
    batch_size: int = 128,
    seed: int = 0,
    progress: bool = True,
    relevance: str = "own",
) -> Audit:
    """Encode ``photos`` and their captions and compare all with all.

    ``encoder``: :class:`icrlib.search.Trained` for a model of this library, :class:`icrlib.search.Own` for any object
    with ``encode_images`` and ``encode_captions``. The losses see batches of ``batch_size`` pairs in which all captions
    of a photo count as right. ``relevance="text"``: and all captions with the same text, in both tables. Photos without
    a caption are distractors: candidates of the captions. ``ValueError`` for fewer than two photos with captions, and
    for pictures that cannot be read, by name.
    """
    bare = [file for file, texts in zip(photos.files, photos.captions, strict=True) if not texts]
    kept = [row for row, texts in enumerate(photos.captions) if texts]
    photos = Photos(*([part[row] for row in kept] for part in (photos.files, photos.ids, photos.captions)))
    if len(photos) < 2:
        raise ValueError(f"{len(photos)} photos with captions; an audit needs two or more")
    encoder.ready()
    texts = [text for captions in photos.captions for text in captions]
    owner = torch.tensor([row for row, captions in enumerate(photos.captions) for _ in captions])
    files = [*photos.files, *bare]
    starts = bar(range(0, len(files), TOGETHER), "encoding photos", progress and len(files) > TOGETHER)
    every = join([encoder.finish(encoder.pictures(files[at : at + TOGETHER])).cpu() for at in starts])
    images, others = every[: len(photos)], every[len(photos) :] if bare else None
    captions = encoded(encoder, texts)
    split = Split("audit", torch.zeros(len(photos), 1), texts, owner, list(photos.ids))
    if relevance == "text":
        split.check_texts("relevance")
    sampler = Sampler(split, seed, batch_size, positives="text" if relevance == "text" else "image")
    batches = [sampler[k] for k in range(sampler.per_epoch)]
    options = {"convention": "exact", "similarity": encoder.similarity, "progress": progress}
    left = {loss.label: _left(per_batch(loss, images, captions, batches, **options)) for loss in map(by_name, LOSSES)}
    measures = measure(images, captions, split, relevance, encoder.similarity, encoder.at_once, others)
    return Audit(measures, pd.DataFrame(left).T)


def _left(counts: dict[str, dict[str, torch.Tensor]]) -> dict[str, float]:
    """What a loss finds in the batches, in both directions; a batch counts by its queries."""
    sides, row = {"photos": counts["i2t"], "captions": counts["t2i"]}, {}
    for what, side in sides.items():
        row[f"{what} without a gradient, %"] = float(100 * side["C_0"].sum() / side["queries"].sum())
    for what, side in sides.items():
        row[f"effective negatives of {what}"] = float((side["n_eff"] * side["queries"]).sum() / side["queries"].sum())
    return row

"""Measure any encoder on photos that have captions: how well it retrieves."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
import torch

from icrlib.data.karpathy import Photos
from icrlib.data.splits import Split
from icrlib.data.text import plain
from icrlib.evaluation import measure
from icrlib.models.base import join
from icrlib.progress import bar
from icrlib.search.encoders import TOGETHER, Encoder, encoded

MEASURES = {"r1": "R@1", "r5": "R@5", "r10": "R@10", "median_rank": "median rank"}


@dataclass(frozen=True)
class Audit:
    """What came out: ``measures`` as :func:`icrlib.evaluate` gives them."""

    measures: dict

    def recalls(self) -> pd.DataFrame:
        """R@1, R@5, R@10 in percent and the median rank, a row for each direction."""
        table = pd.DataFrame([self.measures["i2t"], self.measures["t2i"]])[list(MEASURES)]
        return table.set_axis(["captions of a photo", "the photo of a caption"]).rename(columns=MEASURES)


def audit(encoder: Encoder, photos: Photos, progress: bool = True, relevance: str = "own") -> Audit:
    """Encode ``photos`` and their captions and compare all with all.

    ``encoder``: :class:`icrlib.search.Trained` for a model of this library, :class:`icrlib.search.Own` for any object
    with ``encode_images`` and ``encode_captions``. Right for a caption is its own photo, or with ``relevance="text"``
    every photo with a caption of the same text. Photos without a caption are distractors: candidates of the captions.
    ``ValueError`` for fewer than two photos with captions, and for pictures that cannot be read, by name.
    """
    told = [[text for text in texts if plain(text).split()] for texts in photos.captions]
    bare = [file for file, texts in zip(photos.files, told, strict=True) if not texts]
    kept = [row for row, texts in enumerate(told) if texts]
    photos = Photos(*([part[row] for row in kept] for part in (photos.files, photos.ids, told)))
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
    return Audit(measure(images, captions, split, relevance, encoder.similarity, encoder.at_once, others))

"""What a dataset is: three splits of images and captions, and the vocabulary of the training captions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch

from icrlib.data.text import numbered
from icrlib.errors import at_least

DRAW = 100  # which images a smaller training split has is drawn once, for all runs


@dataclass(repr=False)
class Split:
    """Images (as features) and their captions, any number per image.

    ``features`` (N, D) pooled or (N, R, D) regions, float32 (or float16, cast batch by batch); ``Regions`` where images
    have unequally many (:class:`icrlib.data.regions.Regions`); or the files themselves
    (:class:`icrlib.data.photos.Pictures`), where a network in the model makes the features. ``captions`` C raw texts;
    ``image_of`` (C,) int64, the row of each caption's image; ``image_ids`` N names;
    ``folds`` > 1 asks for COCO's mean over that many parts. ``len(split)`` counts images.
    """

    name: str
    features: Any
    captions: list[str]
    image_of: torch.Tensor
    image_ids: list[str]
    folds: int = field(default=1, kw_only=True)

    def __post_init__(self) -> None:
        images, captions = len(self.features), len(self.captions)
        if len(self.image_of) != captions or len(self.image_ids) != images:
            raise ValueError(
                f"split {self.name!r}: {captions} captions but {len(self.image_of)} entries of image_of, "
                f"{images} feature rows but {len(self.image_ids)} image ids; each pair must agree"
            )
        counts = torch.bincount(self.image_of, minlength=images)
        if len(counts) != images or (counts == 0).any():
            bad = int((counts == 0).nonzero()[0]) if len(counts) == images else images
            raise ValueError(f"split {self.name!r}: image {bad} has no caption, or a caption names a missing image")

    def __len__(self) -> int:
        return len(self.features)

    def __repr__(self) -> str:
        size = " x ".join(map(str, self.features.shape[1:]))
        return f"Split({self.name!r}: {len(self):,} images of {size} numbers, {len(self.captions):,} captions)"

    def images_only(self, rows: torch.Tensor) -> Split:
        """The images in ``rows`` (n,) int64, ascending, with their captions."""
        kept = torch.isin(self.image_of, rows)
        captions = [caption for caption, keep in zip(self.captions, kept.tolist(), strict=True) if keep]
        image_of = torch.searchsorted(rows, self.image_of[kept])
        names = [self.image_ids[row] for row in rows.tolist()]
        return Split(self.name, self.features[rows], captions, image_of, names, folds=self.folds)

    @property
    def positives(self) -> torch.Tensor:
        """Own pairs as a bool mask (N, C): row = image, column = caption."""
        return self.image_of[None] == torch.arange(len(self))[:, None]

    @cached_property
    def texts(self) -> torch.Tensor:
        """Which text each caption is, (C,) int64: equal captions of different images have one number."""
        return torch.tensor(numbered(self.captions), dtype=torch.int64)

    @cached_property
    def text_keys(self) -> torch.Tensor:
        """Which texts are told of which images, each once: sorted keys text * images + image, (K,) int64."""
        return (self.texts * len(self) + self.image_of).unique()

    def pairs_by_text(self) -> tuple[torch.Tensor, torch.Tensor]:
        """``image`` and ``caption`` (T,) of all pairs where the image has a caption with the caption's text."""
        text, image = self.text_keys // len(self), self.text_keys % len(self)
        images = text.bincount(minlength=int(self.texts.max()) + 1)  # of each text
        several = images[self.texts]
        caption = torch.arange(len(self.captions)).repeat_interleave(several)
        place = torch.arange(len(caption)) - (several.cumsum(0) - several)[caption]
        return image[(images.cumsum(0) - images)[self.texts[caption]] + place], caption

    def share_text(self, images: torch.Tensor, captions: torch.Tensor) -> torch.Tensor:
        """Whether an image (B,) has a caption with the text of a caption (M,), bool (B, M)."""
        keys = self.texts[captions][None] * len(self) + images[:, None]
        return self.text_keys[torch.searchsorted(self.text_keys, keys).clamp_max(len(self.text_keys) - 1)] == keys

    def check_texts(self, setting: str) -> None:
        """``ValueError`` for an image that has every text, or a caption whose text every image has."""
        image, caption = self.pairs_by_text()
        for what, one, every in (("image", image, len(self.captions)), ("caption", caption, len(self))):
            if len(bad := (one.bincount() == every).nonzero()):
                name = self.image_ids[int(bad[0])] if what == "image" else repr(self.captions[int(bad[0])])
                raise ValueError(
                    f"{setting}='text': {what} {name} of the split {self.name!r} belongs to everything there, so "
                    f"nothing is left to tell it from; leave {setting}= out, or add other captions"
                )

    @property
    def relevance(self) -> torch.Tensor | None:
        """Which images a caption truly describes, bool (C, N); None where the data does not know."""
        return None


@dataclass(repr=False)
class Dataset:
    """Three splits, the vocabulary built from the training captions, and the defaults that suit them.

    ``fingerprint`` is a SHA-256 over the data; ``options`` is what :func:`icrlib.load_dataset` was asked for.
    ``defaults`` are settings for :func:`icrlib.train`; ``tuned`` are those that a method ("bow"), a loss ("triplet_sh")
    or both ("bow triplet_sh") do better with. ``drawn``: the data is drawn from a seed, another one for each run.
    ``foils``: the training split can draw false captions of the same words (``train.foils(rows, dice)``).
    """

    name: str
    train: Split
    val: Split
    test: Split
    vocabulary: object
    fingerprint: str
    defaults: dict = field(default_factory=dict)
    options: dict = field(default_factory=dict)
    tuned: dict[str, dict] = field(default_factory=dict)
    drawn: bool = False
    foils: bool = False

    def __repr__(self) -> str:
        parts = "".join(f"\n  {split!r}" for split in (self.train, self.val, self.test))
        words = "" if self.vocabulary is None else f", {len(self.vocabulary):,} words"
        return f"Dataset({self.name!r}{words}){parts}"

    def defaults_for(self, method: str, loss: str) -> dict:
        """What the data dictates for a run of ``method`` with ``loss``: the more special word counts."""
        levels = [self.tuned.get(key, {}) for key in (loss, method, f"{method} {loss}")]
        return {name: value for level in (self.defaults, *levels) for name, value in level.items()}


def draw_images(images: int, count: int) -> torch.Tensor:
    """``count`` of so many images, (count,) int64, ascending; ``ValueError`` where there are not so many."""
    if at_least("train", count, 1) > images:
        raise ValueError(f"train={count} images are wanted, and the training split has {images}")
    return torch.from_numpy(np.sort(np.random.default_rng(DRAW).choice(images, count, replace=False)))


@dataclass(frozen=True)
class Outline:
    """What is known of a data set before it is drawn or read: ``images`` of each split, ``shape`` of one image's
    features, whether the data holds ``pictures``; the others are those of :class:`Dataset`."""

    images: Mapping[str, int]
    shape: tuple[int, ...]
    pictures: bool = False
    options: Mapping = field(default_factory=dict)
    defaults: Mapping = field(default_factory=dict)
    tuned: Mapping = field(default_factory=dict)
    foils: bool = False


@dataclass(frozen=True)
class Judgements:
    """Pairs of a split that count as right, where somebody looked at more than the own ones.

    ``image`` and ``caption``, each (T,) int64 rows, every pair once. A query without any pair has no
    right answer; evaluation leaves it out. ``ValueError`` for rows out of the split.
    """

    name: str
    split: Split
    image: torch.Tensor
    caption: torch.Tensor

    def __post_init__(self) -> None:
        sizes = len(self.split), len(self.split.captions)
        pairs = set(zip(self.image.tolist(), self.caption.tolist(), strict=True))
        if len(pairs) != len(self.image) or any(not (0 <= i < sizes[0] and 0 <= c < sizes[1]) for i, c in pairs):
            raise ValueError(
                f"{self.name}: wanted pairs of rows of {sizes[0]} images and {sizes[1]} captions, each once"
            )

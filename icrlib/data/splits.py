"""What a dataset is: three splits of images and captions, and the vocabulary of the training captions."""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch

from icrlib.data import summary


class Images(Protocol):
    """Images that are not features yet, such as :class:`icrlib.data.crops.Pictures`; ``shape``: of the features."""

    shape: tuple[int, int]

    def __len__(self) -> int: ...

    def split(self, size: int) -> Any: ...


@dataclass(repr=False)
class Split:
    """Images (as features) and their captions, any number per image.

    ``features`` (N, D) pooled or (N, R, D) regions, float32 (or float16, cast batch by batch); or the files themselves
    (:class:`icrlib.data.crops.Pictures`), where a network in the model makes the features. ``captions`` C raw texts;
    ``image_of`` (C,) int64, the row of each caption's image; ``image_ids`` N names;
    ``folds`` > 1 asks for COCO's mean over that many parts. ``len(split)`` counts images.
    """

    name: str
    features: torch.Tensor | Images
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

    def picture(self, row: int) -> Any:
        """The picture in ``row``, as an array (H, W, 3) uint8 or the path of a file; None where only features are."""
        images = getattr(self, "images", getattr(self.features, "files", None))
        return None if images is None else images[row]

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(repr(self))}</p>{summary.table(self)}"

    @property
    def positives(self) -> torch.Tensor:
        """Own pairs as a bool mask (N, C): row = image, column = caption."""
        return self.image_of[None] == torch.arange(len(self))[:, None]

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
    ``word_vectors`` (words, size): where an embedding may start, one row a word of the vocabulary.
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
    word_vectors: torch.Tensor | None = None

    def __repr__(self) -> str:
        parts = "".join(f"\n  {split!r}" for split in (self.train, self.val, self.test))
        words = "" if self.vocabulary is None else f", {len(self.vocabulary):,} words"
        return f"Dataset({self.name!r}{words}){parts}"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(repr(self))}</pre>{summary.table(self.train)}"

    def defaults_for(self, method: str, loss: str) -> dict:
        """What the data dictates for a run of ``method`` with ``loss``: the more special word counts."""
        found = dict(self.defaults)
        for key in (loss, method, f"{method} {loss}"):
            found |= self.tuned.get(key, {})
        return found

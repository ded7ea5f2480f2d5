"""Which captions and images belong together, where somebody looked at more than the own pairs."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from icrlib.data.splits import Split

SIDES = ("i2t", "t2i")


@dataclass(frozen=True)
class Judgements:
    """Pairs of a split that count as right, for each direction on its own.

    ``i2t`` and ``t2i`` are (image, caption), each (T,) int64 rows of a split of ``images`` images and ``captions``
    captions. A query without any pair has no right answer; evaluation leaves it out.
    """

    name: str
    i2t: tuple[Tensor, Tensor]
    t2i: tuple[Tensor, Tensor]
    images: int
    captions: int

    def __post_init__(self) -> None:
        for side in SIDES:
            image, caption = getattr(self, side)
            for what, rows, size in (("image", image, self.images), ("caption", caption, self.captions)):
                if len(rows) and not 0 <= int(rows.min()) <= int(rows.max()) < size:
                    raise ValueError(
                        f"{self.name}, {side}: {what} rows must lie in 0 to {size - 1}; got "
                        f"{int(rows.min())} to {int(rows.max())}"
                    )
            if len(image) != len(caption):
                raise ValueError(
                    f"{self.name}, {side}: {len(image)} images for {len(caption)} captions; pairs have one of each"
                )
            if len((image * self.captions + caption).unique()) != len(image):
                raise ValueError(f"{self.name}, {side}: a pair is listed twice; each counts once")

    @classmethod
    def of_pairs(cls, name: str, split: Split, image: Tensor, caption: Tensor) -> Judgements:
        """The same pairs for both directions."""
        pairs = image, caption
        return cls(name, pairs, pairs, len(split), len(split.captions))

    @classmethod
    def own(cls, split: Split, name: str = "own pairs") -> Judgements:
        """Every caption with its own image only: what :func:`icrlib.evaluate` counts by default."""
        return cls.of_pairs(name, split, split.image_of, torch.arange(len(split.captions)))

    @classmethod
    def true(cls, split: Split, name: str = "truth") -> Judgements:
        """Every caption with every image that it truly describes, where the split knows that, as ``scenes`` does."""
        if split.relevance is None:
            raise ValueError(
                f"the split {split.name!r} does not know which images a caption describes; use "
                "Judgements.own, or judgements from a file"
            )
        caption, image = split.relevance.nonzero(as_tuple=True)
        return cls.of_pairs(name, split, image, caption)

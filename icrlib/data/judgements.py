"""Which captions and images belong together, where somebody looked at more than the own pairs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from icrlib.data.splits import Split

SIDES = ("i2t", "t2i")


class BadJudgements(ValueError):
    """A file of judgements is not what its format asks for, or it is about other images and captions."""


def file_in(place: Path, name: str, below: Iterable[str], source: str) -> Path:
    """The file of that name, or gzipped, in ``place`` or in one of the folders ``below``, as ``source`` has it."""
    tried = [place / folder / file for folder in ("", *below) for file in (name, f"{name}.gz")]
    found = next((path for path in tried if path.is_file()), None)
    if found is None:
        raise FileNotFoundError(f"{place}: no {name} or {name}.gz here; it is in {source}")
    return found


@dataclass(frozen=True)
class Judgements:
    """Pairs of a split that count as right, for each direction on its own.

    ``i2t`` and ``t2i`` are (image, caption), each (T,) int64 rows of a split of ``images`` images and ``captions``
    captions. The two may differ: ECCV Caption asks for other queries in each direction. A query without any pair has
    no right answer; evaluation leaves it out. ``dropped``: pairs of the source that name ids outside the split.
    """

    name: str
    i2t: tuple[Tensor, Tensor]
    t2i: tuple[Tensor, Tensor]
    images: int
    captions: int
    dropped: int = 0

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
    def of_pairs(cls, name: str, split: Split, image: Tensor, caption: Tensor, dropped: int = 0) -> Judgements:
        """The same pairs for both directions."""
        pairs = image, caption
        return cls(name, pairs, pairs, len(split), len(split.captions), dropped)

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

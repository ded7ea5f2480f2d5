"""Which captions and images belong together, where somebody looked at more than the own pairs."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from icrlib.data.splits import Split


@dataclass(frozen=True)
class Judgements:
    """Pairs of a split that count as right: ``image`` and ``caption``, each (T,) int64 rows, every pair once.

    A query without any pair has no right answer; evaluation leaves it out. ``ValueError`` for rows out of the split.
    """

    name: str
    split: Split
    image: Tensor
    caption: Tensor

    def __post_init__(self) -> None:
        sizes = {"image": len(self.split), "caption": len(self.split.captions)}
        for what, size in sizes.items():
            rows = getattr(self, what)
            if len(rows) and not 0 <= int(rows.min()) <= int(rows.max()) < size:
                raise ValueError(
                    f"{self.name}: {what} rows must lie in 0 to {size - 1}; got {int(rows.min())} to {int(rows.max())}"
                )
        if len(self.image) != len(self.caption):
            raise ValueError(f"{self.name}: {len(self.image)} images for {len(self.caption)} captions in the pairs")
        if len((self.image * sizes["caption"] + self.caption).unique()) != len(self.image):
            raise ValueError(f"{self.name}: a pair is listed twice; each counts once")

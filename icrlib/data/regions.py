"""Regions of images that have unequally many: padded, with how many each image has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor


@dataclass(frozen=True, eq=False)
class Regions:
    """``values`` (N, R, D), of which image i has the first ``lengths[i]``, (N,) int64; the rest is padding.

    What is taken of them is cut to the longest image in it, so one image with many regions makes no other batch larger.
    Models are given it in the place of a tensor (:func:`icrlib.models.parts.regions.regions_of`).
    """

    values: Tensor
    lengths: Tensor

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.values.shape)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: Tensor | slice) -> Regions:
        lengths = self.lengths[rows]
        return Regions(self.values[rows, : int(lengths.max()) if len(lengths) else 0], lengths)

    def split(self, size: int) -> list[Regions]:
        """Pieces of at most ``size`` images, as :meth:`torch.Tensor.split`."""
        return [self[first : first + size] for first in range(0, len(self), size)]

    def to(self, where: Any) -> Regions:
        return Regions(self.values.to(where), self.lengths.to(where))

    def float(self) -> Regions:
        return Regions(self.values.float(), self.lengths)

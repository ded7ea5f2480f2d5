"""Captions as rows of a table of a teacher's vectors: what a model of whole sentences takes for word numbers."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from icrlib.data.targets.base import vectors
from icrlib.data.targets.teachers import teacher
from icrlib.data.text import SPECIAL


class Sentences:
    """Stands where a :class:`icrlib.data.text.Vocabulary` stands; a new caption is a new row of the table.

    ``name``: a teacher that needs no captions to learn from, "sbert" or one's own; ``ValueError`` for another.
    """

    words = list(SPECIAL)  # there are no words to store with a model

    def __init__(self, name: str) -> None:
        if name in ("lsa", "form"):
            raise ValueError(f"teacher {name!r} reads only the captions that it was made for; take 'sbert'")
        self.teacher = teacher(name)
        self.size = self.teacher.size
        self._row: dict[str, int] = {}
        self._table = torch.zeros(0, self.size)

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, captions: Sequence[str]) -> tuple[Tensor, Tensor]:
        """Rows (C, 1) int64 of the captions' vectors, and lengths (C,), all 1. New ones are computed, or cached."""
        new = [caption for caption in dict.fromkeys(captions) if caption not in self._row]
        if new:
            self._table = torch.cat([self._table.cpu(), vectors(new, self.teacher)])
            self._row |= {caption: len(self._row) + row for row, caption in enumerate(new)}
        rows = torch.tensor([self._row[caption] for caption in captions], dtype=torch.int64)
        return rows[:, None], torch.ones_like(rows)

    def vectors(self, rows: Tensor) -> Tensor:
        """The unit vectors (B, d) of those rows, on the device of ``rows``."""
        self._table = self._table.to(rows.device)
        return self._table[rows]

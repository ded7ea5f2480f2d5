"""What every teacher has in common: captions in, unit vectors out, each distinct caption computed once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from icrlib.progress import bar


class Teacher:
    """Turns captions into target vectors.

    ``name``: what tables call it; ``size``: d, of the class where that is known before; ``identity``: a SHA-256 over
    what decides the vectors (weights, settings), so that vectors of another teacher are never taken for this one's.
    """

    name: str
    size: int
    identity: str

    def encode(self, captions: Sequence[str], progress: bool = False) -> Tensor:
        """Target vectors (C, d) of C captions, float32, rows of length 1. ``ValueError`` for what is no caption."""
        check(captions)
        distinct = list(dict.fromkeys(captions))
        found = torch.empty(len(distinct), self.size)
        with bar(None, f"{self.name}: captions", progress, total=len(distinct)) as shown, torch.inference_mode():
            for rows, values in self._parts(distinct):
                found[rows] = unit(values, [distinct[row] for row in rows], self.name)
                shown.update(len(rows))
        place = {caption: row for row, caption in enumerate(distinct)}
        return found[torch.tensor([place[caption] for caption in captions], dtype=torch.int64)]

    def _parts(self, captions: list[str]) -> Iterator[tuple[list[int], Tensor]]:
        """Rows of ``captions``, all different, and their vectors (n, d) of any length, until every row was there."""
        raise TypeError(f"{type(self).__name__} must define _parts(captions)")


def check(captions: Sequence[str]) -> None:
    """``ValueError`` unless these are texts with something in them."""
    if isinstance(captions, str):
        raise ValueError(f"wanted a list of captions; got one text, {captions[:60]!r}; write [caption]")
    for position, caption in enumerate(captions):
        if not isinstance(caption, str) or not caption.strip():
            raise ValueError(f"caption {position} is {caption!r}; every caption needs a word")


def unit(values: Tensor, captions: Sequence[str], name: str) -> Tensor:
    """Rows (n, d) scaled to length 1, float32. ``ValueError`` names the caption whose vector has no direction."""
    values = values.float()
    length = values.norm(dim=1)
    bad = ~(torch.isfinite(length) & (length > 0))
    if bad.any():
        row = int(bad.nonzero()[0])
        raise ValueError(
            f"{name} gives no direction to {captions[row]!r} (length {float(length[row])}); "
            "leave that caption out, or take another target"
        )
    return F.normalize(values, dim=1)

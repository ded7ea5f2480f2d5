"""What every teacher has in common: captions in, unit vectors out, each distinct caption computed once and kept in the
cache by what decides its vector: the teacher's identity and the captions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from icrlib.data.cache import cached
from icrlib.data.splits import Split
from icrlib.files import cache_dir, sha256_of
from icrlib.progress import bar

PART = 16_384  # captions in a file: a pass over COCO that was killed goes on after the last whole one


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
        texts, row_of = distinct(captions)
        values = torch.empty(len(texts), self.size)
        with bar(None, f"{self.name}: captions", progress, total=len(texts)) as counted, torch.inference_mode():
            for rows, part in self._parts(texts):
                values[rows] = unit(part, [texts[row] for row in rows], self.name)
                counted.update(len(rows))
        return values[row_of]

    def _parts(self, captions: list[str]) -> Iterator[tuple[list[int], Tensor]]:
        """Rows of ``captions``, all different, and their vectors (n, d) of any length, until every row was there."""
        raise TypeError(f"{type(self).__name__} must define _parts(captions)")


def distinct(captions: Sequence[str]) -> tuple[list[str], Tensor]:
    """The different captions, and of each caption its row among them, (C,) int64. ``ValueError`` for no texts."""
    if isinstance(captions, str):
        raise ValueError(f"wanted a list of captions; got one text, {captions[:60]!r}; write [caption]")
    for position, caption in enumerate(captions):
        if not isinstance(caption, str) or not caption.strip():
            raise ValueError(f"caption {position} is {caption!r}; every caption needs a word")
    row_of = {caption: row for row, caption in enumerate(dict.fromkeys(captions))}
    return list(row_of), torch.tensor([row_of[caption] for caption in captions], dtype=torch.int64)


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


def vectors(captions: Split | Sequence[str], teacher: Teacher, progress: bool = True) -> Tensor:
    """Target vectors (C, d) of a split's captions or of a list of texts, float32, rows of length 1.

    What was computed before is read from ``cache_dir()/targets``. A damaged file there is named and made anew; a cache
    that cannot be written is named and done without. ``ValueError`` for what is no caption.
    """
    texts, row_of = distinct(captions.captions if isinstance(captions, Split) else captions)
    parts = [_part(texts[start : start + PART], teacher, progress) for start in range(0, len(texts), PART)]
    return torch.cat(parts)[row_of] if parts else torch.zeros(0, teacher.size)


def _part(captions: list[str], teacher: Teacher, progress: bool) -> Tensor:
    """The vectors of some captions, from their file or into it."""
    about = {
        "teacher": teacher.identity,
        "captions": sha256_of(json.dumps(captions)),
        "shape": [len(captions), teacher.size],
    }
    path = cache_dir() / "targets" / f"{sha256_of(json.dumps(about, sort_keys=True))[:32]}.npz"
    made = cached(path, lambda: {"vectors": teacher.encode(captions, progress).numpy()})
    return torch.from_numpy(made["vectors"])

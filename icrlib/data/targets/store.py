"""Target vectors, computed once and kept in the cache by what decides them: the teacher's identity and the captions."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from icrlib.data.cache import keep_arrays, read_arrays
from icrlib.data.splits import Split
from icrlib.data.targets.base import Teacher, check
from icrlib.files import cache_dir, sha256_of

PART = 16_384  # captions in a file: a pass over COCO that was killed goes on after the last whole one
log = logging.getLogger(__name__)


def vectors(captions: Split | Sequence[str], teacher: Teacher, progress: bool = True, cache: bool = True) -> Tensor:
    """Target vectors (C, d) of a split's captions or of a list of texts, float32, rows of length 1.

    What was computed before is read from ``cache_dir()/targets``; a damaged file there is named and made anew, and one
    that was made by another teacher or for other captions is never used. A cache that cannot be written is named and
    done without.
    """
    captions = captions.captions if isinstance(captions, Split) else captions
    check(captions)
    distinct = list(dict.fromkeys(captions))
    parts = [distinct[start : start + PART] for start in range(0, len(distinct), PART)]
    found = [_part(part, teacher, progress, cache) for part in parts]
    if not found:
        return torch.zeros(0, teacher.size)
    place = {caption: row for row, caption in enumerate(distinct)}
    return torch.cat(found)[torch.tensor([place[caption] for caption in captions], dtype=torch.int64)]


def _part(captions: list[str], teacher: Teacher, progress: bool, cache: bool) -> Tensor:
    if not cache:
        return teacher.encode(captions, progress)
    about = {
        "teacher": teacher.identity,
        "captions": sha256_of(json.dumps(captions)),
        "shape": [len(captions), teacher.size],
    }
    path = cache_dir() / "targets" / f"{sha256_of(json.dumps(about, sort_keys=True))[:32]}.npz"
    stored = read_arrays(path, "these target vectors", "computing them") or {}
    if stored and not _fits(stored, about):
        log.warning(
            "%s: these target vectors were made by another teacher or for other captions; computing them again", path
        )
        stored = {}
    if stored:
        return torch.from_numpy(stored["vectors"])
    made = teacher.encode(captions, progress)
    said = np.frombuffer(json.dumps(about).encode(), np.uint8)
    keep_arrays(path, {"vectors": made.numpy(), "about": said}, "the target vectors are")
    return made


def _fits(stored: dict[str, np.ndarray], about: dict) -> bool:
    """Whether these are the vectors that ``about`` asks for."""
    try:
        found, said = stored["vectors"], json.loads(stored["about"].tobytes())
    except (KeyError, ValueError):
        return False
    return said == about and list(found.shape) == about["shape"] and found.dtype == np.float32

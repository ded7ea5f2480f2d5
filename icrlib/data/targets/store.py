"""Target vectors, computed once and kept in the cache by what decides them: the teacher's identity and the captions."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from icrlib.data.cache import cache_dir
from icrlib.data.splits import Split
from icrlib.data.targets.base import Teacher, check
from icrlib.files import DamagedFile, StorageError, read_sealed, sha256_of, write_sealed

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
    about = {"teacher": teacher.identity, "captions": sha256_of(json.dumps(captions)),
             "shape": [len(captions), teacher.size]}  # fmt: skip
    path = cache_dir() / "targets" / f"{sha256_of(json.dumps(about, sort_keys=True))[:32]}.npz"
    stored = _read(path, about)
    if stored is None:
        stored = teacher.encode(captions, progress)
        buffer = io.BytesIO()
        np.savez(buffer, vectors=stored.numpy(), about=np.frombuffer(json.dumps(about).encode(), np.uint8))
        try:
            write_sealed(path, buffer.getvalue())
        except StorageError as err:
            log.warning("the target vectors are not cached: %s", err)
    return stored


def _read(path, about: dict) -> Tensor | None:
    try:
        with np.load(io.BytesIO(read_sealed(path)), allow_pickle=False) as file:
            stored, said = file["vectors"], json.loads(file["about"].tobytes())
    except FileNotFoundError:
        return None
    except (DamagedFile, OSError, ValueError, KeyError) as err:
        log.warning("%s: these cached target vectors cannot be used (%s); computing them again", path, err)
        return None
    if said != about or list(stored.shape) != about["shape"] or stored.dtype != np.float32:
        log.warning("%s: these target vectors were made by another teacher or for other captions; computing them again",
                    path)  # fmt: skip
        return None
    return torch.from_numpy(stored)

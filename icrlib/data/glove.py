"""Word vectors from a text file in GloVe's form (Pennington et al. 2014), for the words of a vocabulary.

A line is a word, a space, and the numbers, separated by spaces. In the 840B file words may contain spaces themselves,
so a line is read from its right end.
"""

from __future__ import annotations

import json
import logging
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from icrlib.data.cache import keep_arrays, read_arrays
from icrlib.data.text import Vocabulary
from icrlib.files import cache_dir, sha256_of
from icrlib.parsing import UNREADABLE, opened
from icrlib.progress import bar

log = logging.getLogger(__name__)
_LOOK = 50  # lines that tell a file's dimension


class Vectors(NamedTuple):
    """``matrix`` (V, d) float32, a row for each word of the vocabulary; ``found`` (V,) bool: which the file has."""

    matrix: Tensor
    found: Tensor


def load(
    path: str | os.PathLike,
    vocabulary: Vocabulary,
    *,
    seed: int = 0,
    size: int = 300,
    progress: bool = True,
    cache: bool = True,
) -> Vectors:
    """The vectors of all words of ``vocabulary`` from a text file, plain, ``.gz`` or ``.zip``.

    A word that the file lacks is tried once more as LTD's release does it: without "-", "." and "'", and then only what
    stands before a "/". Rows still without a vector, such as those of ``<pad>`` and ``<unk>``, are drawn from N(0, 1)
    with ``seed``; a row's draw does not depend on which others were found. What was read is kept in the cache, by the
    vocabulary and the file's place, size and time of change.

    ``FileNotFoundError`` for a missing file, ``ValueError`` for one that holds another number of dimensions than
    ``size``, no numbers, damaged data or none of the words.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(
            f"{path}: no such file; wanted word vectors as text, such as glove.840B.300d.txt "
            "(also .gz or .zip), from nlp.stanford.edu/projects/glove"
        )
    about = path.stat()
    key = sha256_of(json.dumps([vocabulary.words, str(path.resolve()), about.st_size, about.st_mtime_ns, size]))[:32]
    kept = cache_dir() / "glove" / f"{key}.npz"
    stored = read_arrays(kept, "these word vectors", "reading them") if cache else None
    if stored is None:
        stored = dict(zip(("rows", "values"), _scan(path, vocabulary.words, size, progress), strict=True))
        if cache:
            keep_arrays(kept, stored, "the word vectors are")
    rows, values = stored["rows"], stored["values"]
    drawn = np.random.default_rng([seed, 840]).standard_normal((len(vocabulary), size), np.float32)
    drawn[rows] = values
    found = torch.zeros(len(vocabulary), dtype=torch.bool)
    found[torch.from_numpy(rows)] = True
    return Vectors(torch.from_numpy(drawn), found)


def cleaned(word: str) -> str:
    """What is looked up where ``word`` itself has no vector (the release's second try)."""
    return word.replace("-", "").replace(".", "").replace("'", "").split("/")[0]


def _scan(path: Path, words: list[str], size: int, progress: bool) -> tuple[np.ndarray, np.ndarray]:
    """Rows (n,) int64 of the words that were found, and their vectors (n, size) float32. Of a word that stands twice in
    the file the first line counts."""
    wanted = {form for word in words for form in (word, cleaned(word)) if form}
    heads = {form.split(" ")[0].encode() for form in wanted}
    known: dict[str, np.ndarray] = {}
    try:
        for number, line in enumerate(_lines(path, size, progress), 1):
            # Most lines are of no interest and are not cut into their 300 numbers.
            if line.split(b" ", 1)[0] not in heads:
                continue
            name, *numbers = line.rstrip().rsplit(b" ", size)
            word = name.decode("utf-8", "replace")
            if word in wanted and word not in known:
                known[word] = _numbers(numbers, size, path, number)
    except UNREADABLE as err:
        raise ValueError(f"{path}: cannot be read to its end ({err}); copy or download the file again") from err
    hits = [(row, known.get(word, known.get(cleaned(word)))) for row, word in enumerate(words)]
    hits = [(row, vector) for row, vector in hits if vector is not None]
    if not hits:
        raise ValueError(
            f"{path}: none of the {len(words)} words of the vocabulary is in it; is it the right file, "
            "and in the captions' language?"
        )
    return np.array([row for row, _ in hits], np.int64), np.stack([vector for _, vector in hits])


def _numbers(numbers: list[bytes], size: int, path: Path, line: int) -> np.ndarray:
    try:
        values = np.array(numbers, dtype=np.float32)
    except ValueError as err:
        raise ValueError(f"{path}, line {line}: not numbers behind the word ({err})") from err
    if len(values) != size or not np.isfinite(values).all():
        raise ValueError(
            f"{path}, line {line}: {len(values)} numbers, {int((~np.isfinite(values)).sum())} of them not "
            f"finite; wanted {size} finite ones"
        )
    return values


def _lines(path: Path, size: int, progress: bool) -> Iterator[bytes]:
    """The lines of the file, after a look whether they hold ``size`` numbers; the bar counts bytes on disk."""
    with open(path, "rb") as raw, opened(path, raw) as file:
        first = [line for _, line in zip(range(_LOOK), file, strict=False)]
        if first and len(first[0].split()) == 2 and all(part.isdigit() for part in first[0].split()):
            first[0] = b"\n"  # fastText's files begin with two counts
        fields = Counter(len(line.split(b" ")) - 1 for line in first if line.strip())
        there = fields.most_common(1)[0][0] if fields else 0
        if there != size:
            raise ValueError(
                f"{path}: its lines hold a word and {there} numbers; wanted {size}. Take a file of that "
                "size, such as glove.840B.300d.txt, or set the word dimension to the file's"
            )
        yield from first
        with bar(None, f"reading {path.name}", progress, total=path.stat().st_size, unit="B", unit_scale=True) as shown:
            for number, line in enumerate(file):
                yield line
                if number % 20_000 == 0:
                    shown.update(raw.tell() - shown.n)
            shown.update(raw.tell() - shown.n)

"""Word vectors from a text file in GloVe's form (Pennington et al. 2014), for the words of a vocabulary.

A line is a word, a space, and the numbers, separated by spaces. In the 840B file words may contain spaces themselves,
so a line is read from its right end.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from icrlib.data.text import Vocabulary
from icrlib.parsing import UNREADABLE, opened
from icrlib.progress import bar


def load(
    path: str | os.PathLike, vocabulary: Vocabulary, *, seed: int = 0, size: int = 300, progress: bool = True
) -> Tensor:
    """A vector for each word of ``vocabulary``, (V, size) float32, from a text file, plain, ``.gz`` or ``.zip``.

    A word that the file lacks is tried once more as LTD's release does it (:func:`cleaned`). Rows still without a
    vector, such as those of ``<pad>`` and ``<unk>``, are drawn from N(0, 1) with ``seed``; a row's draw does not depend
    on which others the file has. ``FileNotFoundError`` for a missing file, ``ValueError`` for one of another ``size``,
    without numbers, with damaged data or with none of the words.
    """
    vectors = _scan(Path(path), vocabulary.words, size, progress)
    matrix = np.random.default_rng([seed, 840]).standard_normal((len(vocabulary), size), np.float32)
    rows = {row: vectors.get(word, vectors.get(cleaned(word))) for row, word in enumerate(vocabulary.words)}
    rows = {row: vector for row, vector in rows.items() if vector is not None}
    if not rows:
        raise ValueError(
            f"{path}: no word of the vocabulary has a vector of {size} numbers in it; is it in the captions' language, "
            "and are its vectors of another size (word_size=)?"
        )
    matrix[list(rows)] = np.stack(list(rows.values()))
    return torch.from_numpy(matrix)


def cleaned(word: str) -> str:
    """What is looked up where ``word`` itself has no vector: without "-", "." and "'", up to the first "/"."""
    return word.replace("-", "").replace(".", "").replace("'", "").split("/")[0]


def _scan(path: Path, words: list[str], size: int, progress: bool) -> dict[str, np.ndarray]:
    """The vectors of the words and of their second tries; of a word that stands twice the first line counts."""
    wanted = {form for word in words for form in (word, cleaned(word)) if form}
    heads = {form.split(" ")[0].encode() for form in wanted}
    vectors: dict[str, np.ndarray] = {}
    try:
        with opened(path) as file:
            for number, line in enumerate(bar(file, f"reading {path.name}", progress, unit=" words"), 1):
                # Most lines are of no interest and are not cut into their 300 numbers.
                if line.split(b" ", 1)[0] not in heads:
                    continue
                name, *numbers = line.rstrip().rsplit(b" ", size)
                word = name.decode("utf-8", "replace")
                if number == 1 and len(numbers) == 1 < size:
                    continue  # fastText's files begin with two counts
                if word in wanted and word not in vectors:
                    vectors[word] = _vector(numbers, size, f"{path}, line {number}")
    except FileNotFoundError as err:
        raise FileNotFoundError(f"{path}: no such file; word vectors as text are glove.840B.300d.txt") from err
    except UNREADABLE as err:
        raise ValueError(f"{path}: cannot be read to its end ({err}); copy or download the file again") from err
    return vectors


def _vector(numbers: list[bytes], size: int, place: str) -> np.ndarray:
    try:
        values = np.array(numbers, dtype=np.float32)
    except ValueError as err:
        raise ValueError(f"{place}: not numbers behind the word ({err})") from err
    if len(values) != size or not np.isfinite(values).all():
        raise ValueError(f"{place}: {len(values)} numbers behind the word; wanted {size} finite ones (word_size=)")
    return values

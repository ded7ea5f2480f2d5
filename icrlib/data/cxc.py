"""Crisscrossed Captions (Parekh et al., 2021): what people said about pairs of COCO's captions and images.

The files are the release's ``data/{sits,sis,sts}_{val,test}.csv``, or the same gzipped: a header and the rows
``id, id, agg_score, sampling_method``, the score a mean over raters between 0 and 5. ``sits`` has captions with images,
``sis`` images with images, ``sts`` captions with captions. Val and test are Karpathy's splits of COCO, both out of
val2014.
"""

from __future__ import annotations

import csv
import io
import math
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from icrlib.data.coco import Ids
from icrlib.data.judgements import BadJudgements, Judgements, file_in
from icrlib.errors import choose
from icrlib.parsing import STREAM, UNREADABLE, NotPlain, TooLarge, opened

COLUMNS = {"sits": ("caption", "image"), "sis": ("image1", "image2"), "sts": ("caption1", "caption2")}
LAST = ("agg_score", "sampling_method")
PARTS = ("val", "test")
HIGHEST = 5.0
SOURCE = "data/ of the repository google-research-datasets/Crisscrossed-Captions"
ORIGINAL = "c2i_original"  # how the release marks a caption with its own image
ID = {"caption": re.compile(r"COCO_val2014:sentid:(\d+)"), "image": re.compile(r"COCO_val2014_(\d{12})\.jpg")}


@dataclass(frozen=True)
class Ratings:
    """T rated pairs: ``first`` and ``second`` COCO ids in the order of the columns, ``scores`` (T,) float64 in [0, 5],
    ``methods`` how each pair was found. ``kind``: "sits", "sis" or "sts"."""

    kind: str
    first: list[int]
    second: list[int]
    scores: np.ndarray
    methods: list[str]
    path: Path

    def __len__(self) -> int:
        return len(self.scores)


def read(place: str | os.PathLike, kind: str = "sits", part: str = "test") -> Ratings:
    """The ratings in ``place``: the file itself, or the folder (also the release's, with ``data/``) that holds it.

    ``FileNotFoundError`` where it is missing; :class:`BadJudgements` (a ``ValueError``) names file and line of a row
    that has not four columns, an id of the right kind and a score between 0 and 5, or that rates a pair again.
    """
    choose(kind, COLUMNS, "kind of ratings")
    choose(part, PARTS, "part of CxC")
    path = Path(place)
    if not path.is_file():
        path = file_in(path, f"{kind}_{part}.csv", ["data"], SOURCE)
    kinds = [column.rstrip("12") for column in COLUMNS[kind]]
    first, second, scores, methods, seen = [], [], [], [], {}
    for line, row in _rows(path, [*COLUMNS[kind], *LAST]):
        pair = tuple(_number(path, line, what, text) for what, text in zip(kinds, row, strict=False))
        if pair in seen:
            raise BadJudgements(f"{path}, line {line}: this pair was rated in line {seen[pair]} already")
        seen[pair] = line
        first.append(pair[0])
        second.append(pair[1])
        scores.append(_score(path, line, row[2]))
        methods.append(row[3])
    if not scores:
        raise BadJudgements(f"{path}: a header and no row; get the file again")
    return Ratings(kind, first, second, np.array(scores), methods, path)


def judgements(
    ratings: Ratings,
    ids: Ids,
    *,
    threshold: float | None = 3.0,
    keep_originals: bool = False,
    missing: str = "refuse",
) -> Judgements:
    """Pairs of caption and image with a score of ``threshold`` or more, as rows of the split that has these ``ids``.

    The threshold holds for a caption's own image, too, as naver-ai/eccv-caption reads CxC (3.0; 28 captions of the test
    split have no right image left); ``keep_originals`` keeps own pairs whatever their score. ``threshold=None``: every
    pair that was rated. ``missing``: see :meth:`icrlib.data.coco.Ids.place`.
    """
    if ratings.kind != "sits":
        raise ValueError(
            f"{ratings.path}: judgements between captions and images need the ratings 'sits'; got {ratings.kind!r}"
        )
    right, name = np.ones(len(ratings), bool), "CxC, all rated"
    if threshold is not None:
        if isinstance(threshold, bool) or not isinstance(threshold, (int, float)) or not 0 <= threshold <= HIGHEST:
            raise ValueError(
                f"threshold must be a number between 0 and 5, as the scores are, or None for every pair; "
                f"got {threshold!r}"
            )
        right, name = ratings.scores >= threshold, f"CxC ≥ {threshold:g}"
        if keep_originals:
            right, name = right | (np.array(ratings.methods) == ORIGINAL), f"{name} or own"
    image, caption, kept = ids.place(ratings.second, ratings.first, str(ratings.path), missing)
    counted = right[kept]
    pairs = image[counted], caption[counted]
    return Judgements(name, pairs, pairs, len(ids.images), len(ids.captions), int((right & ~kept).sum()))


def _rows(path: Path, header: list[str]) -> Iterator[tuple[int, list[str]]]:
    """Line number and columns of each row; lines without a character are passed over."""
    line = 0
    try:
        with opened(path, STREAM) as file:
            reader = csv.reader(io.TextIOWrapper(file, encoding="utf-8-sig", newline=""))
            found = next(reader, None)
            if found != header:
                what = "it is empty" if found is None else f"its header is {','.join(found)[:80]!r}"
                raise BadJudgements(f"{path}: {what}; wanted {','.join(header)!r}")
            for row in reader:
                line = reader.line_num
                if row and len(row) != len(header):
                    raise BadJudgements(
                        f"{path}, line {line}: {len(row)} columns; wanted {len(header)}, {','.join(header)}"
                    )
                if row:
                    yield line, row
    except (*UNREADABLE, NotPlain, TooLarge, UnicodeDecodeError, csv.Error) as err:
        raise BadJudgements(f"{path}, after line {line}: not a whole CSV file in UTF-8 ({err}); get it again") from err


def _number(path: Path, line: int, what: str, text: str) -> int:
    match = ID[what].fullmatch(text)
    if not match:
        like = {"caption": "COCO_val2014:sentid:262300", "image": "COCO_val2014_000000369373.jpg"}[what]
        raise BadJudgements(f"{path}, line {line}: {text[:60]!r} is no {what} id; they look like {like}")
    return int(match[1])


def _score(path: Path, line: int, text: str) -> float:
    try:
        score = float(text)
    except ValueError:
        score = math.nan
    if not 0 <= score <= HIGHEST:
        raise BadJudgements(f"{path}, line {line}: the score {text[:60]!r} is not a number between 0 and 5")
    return score

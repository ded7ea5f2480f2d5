"""Measures where people, or a truth function, say which candidates are right: several for one query, none for another.

:func:`icrlib.evaluate` counts a caption's own image as its only right answer. Crisscrossed Captions
(:mod:`icrlib.data.cxc`) and the truth of ``scenes`` know of more.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from icrlib import evaluation
from icrlib.data.judgements import SIDES, Judgements
from icrlib.data.splits import Split
from icrlib.metrics import Ranks, from_ranks
from icrlib.models.base import RetrievalModel
from icrlib.score_checks import finite

Scores = Callable[[str, Tensor], Tensor]


def evaluate_judged(
    model: RetrievalModel | Tensor, split: Split, judgements: Judgements, batch_size: int = 512, progress: bool = False
) -> dict:
    """Measures of both directions, ``{"i2t": {…}, "t2i": {…}, "rsum": …}``, with the pairs of ``judgements`` as right.

    ``model``: a model, or its scores (N, C) for the split. Keys of a direction are those of :mod:`icrlib.metrics`, and
    ``map_at_r`` (see :func:`map_at_r`), ``queries`` that were asked, ``left_out``: those without a right answer, and
    ``positives``: right answers of a query, on average. Every image and caption of the split is a candidate.
    """
    wanted, got = (len(split), len(split.captions)), (judgements.images, judgements.captions)
    if wanted != got:
        raise ValueError(
            f"{judgements.name}: judgements for {got[0]} images and {got[1]} captions, but the split {split.name!r} "
            f"has {wanted[0]} and {wanted[1]}; make them for it"
        )
    return _evaluate(_scores(model, split, batch_size, progress), judgements)


def map_at_r(found: Ranks) -> float:
    """mAP@R (Musgrave et al. 2020): precision at the hits among the first R, summed and divided by R, the number of
    right answers; the mean over queries, a fraction. A right answer beyond R counts 0."""
    relevant = torch.bincount(found.query, minlength=found.queries).double()
    hit = found.rank <= relevant[found.query]
    precision = (found.k.double() + 1) / found.rank * hit
    return float((torch.zeros_like(relevant).index_add(0, found.query, precision) / relevant).mean())


def _scores(model: RetrievalModel | Tensor, split: Split, batch_size: int, progress: bool) -> Scores:
    """A function of a direction and rows of queries to their scores with all candidates.

    The whole matrix is computed once if it has room (:data:`icrlib.evaluation.WHOLE`), else each part when it is asked.
    """
    if isinstance(model, Tensor):
        if model.shape != (len(split), len(split.captions)):
            raise ValueError(
                f"scores {tuple(model.shape)}: wanted ({len(split)}, {len(split.captions)}), the images "
                f"and captions of the split {split.name!r}"
            )
        return _of_matrix(model)
    images, captions = evaluation.embed(model, split, batch_size, progress)
    most = model.scores_at_once
    if len(images) * len(captions) * 4 <= evaluation.WHOLE:
        return _of_matrix(evaluation.all_scores(images, captions, model.similarity, most, progress))

    def part(side: str, rows: Tensor) -> Tensor:
        if side == "i2t":
            return finite(evaluation.all_scores(images[rows], captions, model.similarity, most))
        return _turned(finite(evaluation.all_scores(images, captions[rows], model.similarity, most)))

    return part


def _of_matrix(matrix: Tensor) -> Scores:
    finite(matrix)
    return lambda side, rows: matrix[rows] if side == "i2t" else _turned(matrix[:, rows])


def _turned(part: Tensor) -> Tensor:
    """The transpose as it would lie in memory: single queries are read from it, which is thrice as fast so."""
    return part.T.contiguous()


def _evaluate(scores: Scores, judgements: Judgements) -> dict:
    result = {}
    for side in SIDES:
        found = _ranks(scores, judgements, side)
        total = judgements.images if side == "i2t" else judgements.captions
        result[side] = from_ranks(found) | {
            "map_at_r": map_at_r(found),
            "queries": found.queries,
            "left_out": total - found.queries,
            "positives": len(found.query) / found.queries,
        }
    return result | {"rsum": sum(result[side][key] for side in SIDES for key in evaluation.RECALLS)}


@torch.no_grad()
def _ranks(scores: Scores, judgements: Judgements, side: str) -> Ranks:
    """Ranks of the right answers of all queries that have one."""
    image, caption = getattr(judgements, side)
    query, candidate = (image, caption) if side == "i2t" else (caption, image)
    candidates = judgements.captions if side == "i2t" else judgements.images
    if not len(query):
        raise ValueError(f"{judgements.name}, {side}: no query has a right answer, so there is nothing to measure")
    asked, query, count = query.unique(return_inverse=True, return_counts=True)
    if (count == candidates).any():
        raise ValueError(
            f"{judgements.name}, {side}: every candidate is right for query "
            f"{int(asked[count == candidates][0])}, so its ranks say nothing; leave it out"
        )
    return evaluation.ranks_in_parts(lambda rows: scores(side, asked[rows]), query, candidate, len(asked), candidates)

"""Measures where people say which candidates are right: several for one query, none for another.

:func:`icrlib.evaluate` counts a caption's own image as its only right answer. Crisscrossed Captions
(:mod:`icrlib.data.cxc`) have more.
"""

from __future__ import annotations

import torch
from torch import Tensor

from icrlib import evaluation
from icrlib.data.splits import Judgements
from icrlib.metrics import Ranks, from_ranks
from icrlib.models.base import RetrievalModel
from icrlib.score_checks import finite


def evaluate_judged(
    model: RetrievalModel | Tensor, judgements: Judgements, batch_size: int = 512, progress: bool = False
) -> dict:
    """Measures of both directions, ``{"i2t": {…}, "t2i": {…}, "rsum": …}``, with the pairs of ``judgements`` as right.

    ``model``: a model, or its scores (N, C) for the judgements' split. Keys of a direction are those of
    :mod:`icrlib.metrics`, and ``map_at_r`` (see :func:`map_at_r`), ``queries`` that have a right answer, ``left_out``:
    those without one, and ``positives``: right answers of a query, on average. Every image and caption of the split is
    a candidate. The score matrix is held at once.
    """
    split = judgements.split
    wanted = (len(split), len(split.captions))
    scores = model if isinstance(model, Tensor) else evaluation.scores(model, split, batch_size, progress)
    if scores.shape != wanted:
        raise ValueError(f"scores {tuple(scores.shape)}: wanted {wanted}, images and captions of {split.name!r}")
    finite(scores)
    result = {
        "i2t": _side(f"{judgements.name}, i2t", scores, judgements.image, judgements.caption),
        "t2i": _side(f"{judgements.name}, t2i", scores.T, judgements.caption, judgements.image),
    }
    return result | {"rsum": sum(side[key] for side in result.values() for key in evaluation.RECALLS)}


def map_at_r(found: Ranks) -> float:
    """mAP@R (Musgrave et al. 2020): precision at the hits among the first R, summed and divided by R, the number of
    right answers; the mean over queries, a fraction. A right answer beyond R counts 0."""
    relevant = torch.bincount(found.query, minlength=found.queries).double()
    hit = found.rank <= relevant[found.query]
    precision = (found.k.double() + 1) / found.rank * hit
    return float((torch.zeros_like(relevant).index_add(0, found.query, precision) / relevant).mean())


@torch.no_grad()
def _side(what: str, scores: Tensor, query: Tensor, candidate: Tensor) -> dict:
    """Measures of one direction, over the queries (rows of ``scores``) that have a right answer."""
    if not len(query):
        raise ValueError(f"{what}: no query has a right answer, so there is nothing to measure")
    kept, query = query.unique(return_inverse=True)
    # Rows of a transpose are copied: single queries are read from them, which is thrice as fast so.
    parts = evaluation.ranks_in_parts(
        lambda rows: scores[kept[rows]].contiguous(), query, candidate, len(kept), scores.shape[1]
    )
    numbers = {"queries": len(kept), "left_out": len(scores) - len(kept), "positives": len(query) / len(kept)}
    return from_ranks(parts) | {"map_at_r": map_at_r(parts)} | numbers

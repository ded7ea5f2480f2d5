r"""From a score matrix to ranks, and from ranks to R@k, mAP and R-precision. Tensors only.

Rows of ``scores`` (Q, M) are queries, ``positives`` (Q, M) bool marks the relevant candidates. The relevant
candidates of a query, sorted by falling score, are numbered k = 0, 1, …; the k-th has

.. math:: \text{rank}_k = 1 + k + \#\{\text{non-relevant scored higher}\} + \#\{\text{non-relevant tied with it}\}.

The last term is what ``ties="pessimistic"`` (the default) adds: a model that scores everything alike gets 0, not 100.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from icrlib.errors import choose
from icrlib.score_checks import check

ROOM = 1 << 18  # numbers in the buffer of comparisons, so that it stays in a CPU's cache
KEYS = ("r1", "r5", "r10", "average_recall", "map_at_5", "map", "r_precision", "median_rank")


@dataclass(frozen=True)
class Ranks:
    """T relevant (query, candidate) pairs: ``query`` (T,), ``k`` (T,) from 0, ``rank`` (T,) from 1; ``queries`` = Q."""

    query: Tensor
    k: Tensor
    rank: Tensor
    queries: int

    @staticmethod
    def join(parts: list[Ranks]) -> Ranks:
        """Ranks of consecutive chunks of queries as one."""
        starts = torch.tensor([0, *(part.queries for part in parts)]).cumsum(0).tolist()
        query = torch.cat([part.query + start for part, start in zip(parts, starts, strict=False)])
        return Ranks(query, torch.cat([p.k for p in parts]), torch.cat([p.rank for p in parts]), starts[-1])


def ranks(scores: Tensor, positives: Tensor, ties: str = "pessimistic") -> Ranks:
    """Rank of every relevant candidate. ``ValueError`` on a row without positive or negative, or on NaN."""
    check(scores, positives)
    return ranks_at(scores, *positives.nonzero(as_tuple=True), ties)


def ranks_at(scores: Tensor, query: Tensor, candidate: Tensor, ties: str = "pessimistic") -> Ranks:
    """:func:`ranks` for relevant pairs that are given as a list: ``query`` and ``candidate`` (T,) int64, in any order.

    Spares the mask, which at COCO's size costs more time than the ranks. The scores must be finite
    (:func:`icrlib.score_checks.finite` looks). ``ValueError`` where a query has no relevant candidate, or no other.
    """
    choose(ties, ("pessimistic", "optimistic"), "ties")
    count = torch.bincount(query, minlength=len(scores))
    for name, bad in (("relevant", count == 0), ("other", count == scores.shape[1])):
        if bad.any():
            raise ValueError(f"query {int(bad.nonzero()[0])} has no {name} candidate; it needs at least one of each")
    own = scores[query, candidate]
    order = (-own).argsort(stable=True)  # two stable sorts: by query, and within a query by falling score
    order = order[query[order].argsort(stable=True)]
    query, own = query[order], own[order]
    start = (count.cumsum(0) - count)[query]
    place = torch.arange(len(query), device=query.device)
    k = place - start
    # Runs of relevant candidates that tie: [first, end) in the order above.
    fresh = (query.diff() != 0) | (own.diff() != 0)
    run = torch.cat([fresh.new_zeros(1), fresh]).cumsum(0)
    end = torch.bincount(run).cumsum(0)
    if ties == "pessimistic":
        relevant = end[run] - start
        ahead = _count(torch.ge, scores, query, k, own)
    else:
        relevant = (end - torch.bincount(run))[run] - start
        ahead = _count(torch.gt, scores, query, k, own)
    return Ranks(query, k, 1 + k + ahead - relevant, len(scores))


def _count(above: Callable, scores: Tensor, query: Tensor, k: Tensor, own: Tensor) -> Tensor:
    """How many candidates of its query are ``above`` each own score, (T,); ``k`` numbers the pairs of a query.

    Comparisons are written as 0.0 and 1.0 into a buffer that stays in the cache and are added there, several times
    faster than bools; float32 counts exactly to 2^24 candidates. A transposed matrix is read as it lies in memory.
    """
    room = 64 * ROOM if scores.is_cuda else ROOM
    deepest = int(k.max()) + 1
    if deepest * len(scores) > 2 * len(query):  # very different numbers of relevant candidates: pair by pair
        parts = [
            above(scores[q], s[:, None]).float().sum(1)
            for q, s in zip(*(t.split(max(1, room // scores.shape[1])) for t in (query, own)), strict=True)
        ]
        return torch.cat(parts).long()
    limits = scores.new_full((deepest, len(scores)), torch.inf)
    limits[k, query] = own
    counts = torch.zeros(limits.shape, device=scores.device)
    turned = scores.stride(0) < scores.stride(1)
    table = scores.T if turned else scores
    buffer = torch.empty(max(1, room // table.shape[1]), table.shape[1], device=scores.device)
    for first in range(0, len(table), len(buffer)):
        part = table[first : first + len(buffer)]
        there, mine = buffer[: len(part)], slice(first, first + len(part))
        for limit, total in zip(limits, counts, strict=True):
            above(part, limit if turned else limit[mine, None], out=there)
            if turned:
                total += there.sum(0)
            else:
                total[mine] = there.sum(1)
    return counts[k, query].long()


def from_ranks(found: Ranks) -> dict[str, float]:
    """The measures of one direction: see :func:`from_scores`."""
    query, k, rank = found.query, found.k.double(), found.rank.double()

    def mean_over_queries(values: Tensor, divide_by: Tensor) -> float:
        total = torch.zeros(found.queries, dtype=torch.float64, device=query.device).index_add(0, query, values)
        return float((total / divide_by.clamp(min=1)).mean())

    relevant = torch.bincount(query, minlength=found.queries).double()
    best = rank[found.k == 0]
    recall = {f"r{n}": 100 * float((best <= n).double().mean()) for n in (1, 5, 10)}
    precision = (k + 1) / rank
    in_five = (rank <= 5).double()
    hits = torch.zeros_like(relevant).index_add(0, query, in_five)
    return recall | {
        "average_recall": sum(recall.values()) / 3,
        "map_at_5": mean_over_queries(precision * in_five, hits),
        "map": mean_over_queries(precision, relevant),
        "r_precision": mean_over_queries((rank <= relevant[query]).double(), relevant),
        "median_rank": float(best.quantile(0.5)),  # the mean of the two middle ones, as NumPy's median
    }


def from_scores(scores: Tensor, positives: Tensor, ties: str = "pessimistic") -> dict[str, float]:
    """Measures of one direction, for any mask of relevant candidates.

    ``r1 r5 r10``: percent of queries with a relevant candidate among the first k (a hit rate), and their mean
    ``average_recall``; ``map_at_5``: as the ECIR release computes it, precision at the hits in the first five,
    averaged over the hits *found*; ``map`` and ``r_precision`` (precision at the number of relevant candidates):
    fractions; ``median_rank``: of the best relevant candidate.
    """
    return from_ranks(ranks(scores, positives, ties))


def diagnose(scores: Tensor, positives: Tensor, margin: float = 0.2) -> dict[str, float | bool | str]:
    """Is this model learning or collapsed? One direction of a batch or of a split.

    ``spread``: standard deviation of all scores; ``positive`` and ``negative``: their mean scores; ``active``:
    share of queries with a negative inside the margin of a positive; ``collapsed``: every score nearly the same
    although triplets are active; ``hint``: what that means and what to do, else an empty string.
    """
    check(scores, positives)
    s = scores.detach().double()
    worst = s.masked_fill(~positives, torch.inf).amin(1)
    hardest = s.masked_fill(positives, -torch.inf).amax(1)
    spread, active = float(s.std(correction=0)), float((margin + hardest - worst > 0).double().mean())
    # Scores of a healthy model differ by a good part of the margin; at a collapse they agree to a small part of it.
    collapsed = spread < 0.05 * max(margin, 0.02) and active > 0.99
    hint = (
        f"every image and caption gets nearly the same score (spread {spread:.4f}), so the loss sits at the value of "
        "a model that knows nothing. Hardest-negative losses pass through this at the start; it usually ends by "
        "itself. If not: train longer, lower the learning rate, or start with all negatives (warmup=500)."
    )
    return {
        "spread": spread,
        "positive": float(s[positives].mean()),
        "negative": float(s[~positives].mean()),
        "active": active,
        "collapsed": collapsed,
        "hint": hint if collapsed else "",
    }

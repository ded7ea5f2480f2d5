r"""From a score matrix to ranks, and from ranks to R@k, mAP and R-precision. Tensors only.

Rows of ``scores`` (Q, M) are queries, ``positives`` (Q, M) bool marks the relevant candidates. The relevant
candidates of a query, sorted by falling score, are numbered k = 0, 1, …; the k-th has

.. math:: \text{rank}_k = 1 + k + \#\{\text{non-relevant scored higher}\} + \#\{\text{non-relevant tied with it}\}.

The last term is what ``ties="pessimistic"`` (the default) adds: a model that scores everything alike gets 0, not 100.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from icrlib.errors import choose
from icrlib.scores import check

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


def ranks(
    scores: Tensor, positives: Tensor, ties: str = "pessimistic", memory_budget: int = 256 << 20
) -> Ranks:
    """Rank of every relevant candidate. ``ValueError`` on a row without positive or negative, or on NaN."""
    check(scores, positives)
    choose(ties, ("pessimistic", "optimistic"), "ties")
    query, candidate = positives.nonzero(as_tuple=True)
    own = scores[query, candidate]
    order = (-own).argsort(stable=True)  # two stable sorts: by query, and within a query by falling score
    order = order[query[order].argsort(stable=True)]
    query, own = query[order], own[order]
    count = positives.sum(1)
    k = torch.arange(len(query), device=query.device) - (count.cumsum(0) - count)[query]
    above = torch.ge if ties == "pessimistic" else torch.gt
    chunk = max(1, memory_budget // (scores.shape[1] * 8))
    ahead = [
        (above(scores[q], s[:, None]) & ~positives[q]).sum(1)
        for q, s in zip(query.split(chunk), own.split(chunk), strict=True)
    ]
    return Ranks(query, k, 1 + k + torch.cat(ahead), len(scores))


def from_ranks(found: Ranks) -> dict[str, float]:
    """The measures of one direction: see :func:`from_scores`."""
    query, k, rank = found.query, found.k.double(), found.rank.double()

    def mean_over_queries(values: Tensor, divide_by: Tensor) -> float:
        total = torch.zeros(found.queries, dtype=torch.float64, device=query.device).index_add(
            0, query, values
        )
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

r"""The one interface of every loss: a score matrix and a mask of positives in, a number or its gradient out.

One direction. Row q of ``scores`` (Q, M) holds the cosine similarities of query q to M candidates;
``positives`` (Q, M) marks the relevant ones. Every loss here is a mean over a query's positives,

.. math:: \ell_q = \frac{1}{|P_q|} \sum_{i \in P_q} \ell_{q,i},

so a loss states two things only: the term :math:`\ell_{q,i}` of one (query, positive) pair, and the derivative
of that term with respect to every score of the row. :class:`Pairs` lays out the rows that both need.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from icrlib.scores import check

Reduction = Literal["sum", "mean"]


@dataclass(frozen=True)
class Pairs:
    """T (query, positive) pairs, each with the whole row of its query.

    ``query`` and ``positive`` (T,) int64: row and column; ``own`` (T, 1): the pair's score; ``rows`` (T, M): all
    scores of its query; ``negatives`` and ``others`` (T, M) bool: the query's negatives, and its other positives.
    ``scores`` and ``positives`` (Q, M): the whole batch, for an objective that looks beyond its own row.
    """

    query: Tensor
    positive: Tensor
    own: Tensor
    rows: Tensor
    negatives: Tensor
    others: Tensor
    scores: Tensor
    positives: Tensor

    def first_hardest(self) -> Tensor:
        """Column of the highest-scoring negative, (T, 1) int64; at a tie the first index, as argmax promises."""
        return self.rows.detach().masked_fill(~self.negatives, -torch.inf).argmax(1, keepdim=True)

    def hardest_only(self) -> Pairs:
        """The same pairs with that one negative; all other negatives count as left out."""
        negatives = torch.zeros_like(self.negatives).scatter(1, self.first_hardest(), True)
        others = ~negatives.scatter(1, self.positive[:, None], True)
        return replace(self, negatives=negatives, others=others)


@dataclass(frozen=True, kw_only=True)
class Loss:
    """Base of all losses. A subclass gives :meth:`terms` and :meth:`term_weights`; the rest follows.

    ``queries`` and ``directions`` say how ``loss(scores, positives)`` reduces over the queries of a direction and
    over the two directions. ``memory_budget`` bounds, in bytes, each (pairs, M) matrix held at a time.
    """

    queries: Reduction = "mean"
    directions: Reduction = "mean"
    memory_budget: int = 256 << 20

    def __post_init__(self) -> None:
        for name in ("queries", "directions"):
            if getattr(self, name) not in ("sum", "mean"):
                raise ValueError(f"{name} must be 'sum' or 'mean'; got {getattr(self, name)!r}")
        for name in ("tau", "margin"):
            value = getattr(self, name, 1.0)
            if not (value > 0 or (name == "margin" and value == 0)):
                raise ValueError(
                    f"{name} must be {'positive' if name == 'tau' else 'zero or more'}; got {value!r}"
                )

    def terms(self, pairs: Pairs) -> Tensor:
        """The loss of each pair, (T,)."""
        raise TypeError(f"{type(self).__name__} must define terms(pairs)")

    def term_weights(self, pairs: Pairs) -> Tensor:
        """Derivative of each pair's loss by every score of its row, (T, M), in closed form."""
        raise TypeError(f"{type(self).__name__} must define term_weights(pairs)")

    def per_query(self, scores: Tensor, positives: Tensor) -> Tensor:
        """Loss of each query, (Q,), one direction: rows are the queries."""
        check(scores, positives)
        total = scores.new_zeros(len(scores))
        chunks = list(self._chunks(positives, scores.element_size()))
        # Where one chunk is enough, autograd keeps its matrices; else each chunk is computed again on the way back.
        again = len(chunks) > 1 and torch.is_grad_enabled() and scores.requires_grad
        for query, positive in chunks:
            terms = (
                checkpoint(self._chunk_terms, scores, positives, query, positive, use_reentrant=False)
                if again
                else self._chunk_terms(scores, positives, query, positive)
            )
            total = total.index_add(0, query, terms)
        return total / positives.sum(1)

    def weights(self, scores: Tensor, positives: Tensor) -> Tensor:
        r"""Closed form of :math:`w_{qj} = \partial \ell_q / \partial s_{qj}`, (Q, M), one direction; no autograd."""
        check(scores, positives)
        with torch.no_grad():
            total = torch.zeros_like(scores)
            for query, positive in self._chunks(positives, scores.element_size()):
                pairs = lay_out(scores, positives, query, positive)
                total.index_add_(0, query, self.term_weights(pairs))
            return total / positives.sum(1, keepdim=True)

    def __call__(self, scores: Tensor, positives: Tensor) -> Tensor:
        """Scalar loss of both directions: rows as queries (image to text), then columns (text to image)."""
        parts = [self.per_query(scores, positives), self.per_query(scores.T, positives.T)]
        i2t, t2i = (part.sum() if self.queries == "sum" else part.mean() for part in parts)
        return i2t + t2i if self.directions == "sum" else (i2t + t2i) / 2

    def score_gradient(self, scores: Tensor, positives: Tensor) -> Tensor:
        """Closed form of d ``loss(scores, positives)`` / d ``scores``, (Q, M): both directions, reduced as the loss."""
        i2t, t2i = self.weights(scores, positives), self.weights(scores.T, positives.T)
        if self.queries == "mean":
            i2t, t2i = i2t / len(i2t), t2i / len(t2i)
        return (i2t + t2i.T) * (1.0 if self.directions == "sum" else 0.5)

    def collapsed(self, positives: Tensor) -> float:
        """The loss of a model that gives every pair the same score: where a collapse sits."""
        return float(
            self(torch.zeros(positives.shape, dtype=torch.float64, device=positives.device), positives)
        )

    def _chunk_terms(self, scores: Tensor, positives: Tensor, query: Tensor, positive: Tensor) -> Tensor:
        return self.terms(lay_out(scores, positives, query, positive))

    def _chunks(self, positives: Tensor, element_size: int) -> Iterator[tuple[Tensor, Tensor]]:
        query, positive = positives.nonzero(as_tuple=True)
        rows = max(1, self.memory_budget // (positives.shape[1] * element_size))
        yield from zip(query.split(rows), positive.split(rows), strict=True)


def lay_out(scores: Tensor, positives: Tensor, query: Tensor, positive: Tensor) -> Pairs:
    """Gather the rows of the given (query, positive) pairs; no copy where each query has just one positive."""
    single = len(query) == len(scores) == int(query[-1]) + 1 and bool((query.diff() == 1).all())
    rows, mask = (scores, positives) if single else (scores[query], positives[query])
    own = rows.gather(1, positive[:, None])
    others = mask.scatter(1, positive[:, None], False)
    return Pairs(query, positive, own, rows, ~mask, others, scores, positives)

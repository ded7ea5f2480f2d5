r"""The one interface of every loss: a score matrix and a mask of positives in, a number or its gradient out.

One direction. Row q of ``scores`` (Q, M) holds the cosine similarities of query q to M candidates;
``positives`` (Q, M) marks the relevant ones. Every loss here is a mean over a query's positives,

.. math:: \ell_q = \frac{1}{|P_q|} \sum_{i \in P_q} \ell_{q,i},

so a loss states two things only: the term :math:`\ell_{q,i}` of one (query, positive) pair, and the derivative
of that term with respect to every score of the row. :class:`Pairs` lays out the rows that both need.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import wraps
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from icrlib.score_checks import check

Reduction = Literal["sum", "mean"]
COMMON = 21  # scores that are tried for a collapse, before the best is refined between its neighbours


def once(compute: Callable) -> Callable:
    """Keep what a method makes of some :class:`Pairs`, its last argument: value and weights share their first steps."""

    @wraps(compute)
    def kept(*args: Any) -> Any:
        memo = args[-1].memo
        if compute not in memo:
            memo[compute] = compute(*args)
        return memo[compute]

    return kept


@dataclass(frozen=True)
class Pairs:
    """T (query, positive) pairs, each with the whole row of its query.

    ``query`` and ``positive`` (T,) int64, query by query: row and column; ``own`` (T, 1): the pair's score; ``rows``
    (T, M): all scores of its query; ``mask`` (T, M) bool: the query's positives. ``single``: no query has a second one.
    ``scores`` and ``positives`` (Q, M): the whole batch, for an objective that looks beyond its own row.
    """

    query: Tensor
    positive: Tensor
    own: Tensor
    rows: Tensor
    single: bool
    scores: Tensor
    positives: Tensor
    memo: dict = field(default_factory=dict, repr=False, compare=False)

    @property
    def mask(self) -> Tensor:
        """The query's positives, bool (T, M)."""
        return self.positives.index_select(0, self.query)

    @property
    def negatives(self) -> Tensor:
        """The query's negatives, bool (T, M)."""
        return ~self.mask

    @property
    def others(self) -> Tensor:
        """The query's other positives, bool (T, M)."""
        return self.mask.scatter(1, self.positive[:, None], False)

    def at_negatives(self, values: Tensor, elsewhere: float) -> Tensor:
        """``values`` (T, M) at the negatives, ``elsewhere`` at all positives."""
        return values.scatter(1, self.columns(), elsewhere)  # several times faster than a mask

    def without_others(self, values: Tensor, there: float) -> Tensor:
        """``values`` (T, M), but ``there`` at the query's other positives."""
        if self.single:
            return values
        own = self.positive[:, None]
        return values.scatter(1, self.columns(), there).scatter(1, own, values.gather(1, own))

    @once
    def columns(self) -> Tensor:
        """Columns of the query's positives, (T, most of them) int64; a shorter list repeats the pair's own."""
        if self.single:
            return self.positive[:, None]
        first = int(self.query[0])
        mask = self.positives[first : int(self.query[-1]) + 1]
        row, column = mask.nonzero(as_tuple=True)
        count = mask.sum(1)
        place = torch.arange(len(row), device=row.device) - (count.cumsum(0) - count)[row]
        table = row.new_full((len(mask), int(count.max())), -1)
        table[row, place] = column
        table = table[self.query - first]
        return torch.where(table < 0, self.positive[:, None], table)

    @once
    def first_hardest(self) -> Tensor:
        """Column of the highest-scoring negative, (T, 1) int64; at a tie the first index, as argmax promises."""
        return self.at_negatives(self.rows.detach(), -torch.inf).argmax(1, keepdim=True)

    @once
    def hardest_only(self) -> Pairs:
        """The same pairs with that one negative: rows of two scores, the positive's and the negative's, (T, 2)."""
        rows = torch.cat([self.own, self.rows.gather(1, self.first_hardest())], 1)
        mask = torch.zeros_like(rows, dtype=torch.bool)
        mask[:, 0] = True
        return lay_out(rows, mask, torch.arange(len(rows), device=rows.device), torch.zeros_like(self.positive))


@dataclass(frozen=True, kw_only=True)
class Loss:
    """Base of all losses. A subclass gives :meth:`terms` and :meth:`term_weights`; the rest follows.

    ``queries`` and ``directions`` say how ``loss(scores, positives)`` reduces over the queries of a direction and
    over the two directions.
    """

    queries: Reduction = "mean"
    directions: Reduction = "mean"
    memory: ClassVar[int] = 256 << 20  # bytes of each (pairs, M) matrix that is held at a time,
    cache: ClassVar[int] = 1 << 20  # and on a CPU, where no autograd keeps it: all steps then stay in its cache
    label: ClassVar[str] = ""  # how the text writes the loss
    colour: ClassVar[str] = ""  # its own in every figure, of seaborn's palette for colour-blind readers; "": grey
    marker: ClassVar[str] = ""
    rows_independent: ClassVar[bool] = True  # False where a query's weights depend on the rows of other queries
    alone: ClassVar[bool] = False  # True where a score's weight depends on no other score of the batch
    batches: ClassVar[str] = "pairs"  # what a batch is made of, as published: pairs, or images with all their captions
    learnable: ClassVar[tuple[str, ...]] = ()  # which of tau and bias training may learn
    positive: ClassVar[tuple[str, ...]] = ("tau", "scale", "alpha", "beta", "gamma")  # constants that must be above 0

    def __post_init__(self) -> None:
        for name in ("queries", "directions"):
            if getattr(self, name) not in ("sum", "mean"):
                raise ValueError(f"{name} must be 'sum' or 'mean'; got {getattr(self, name)!r}")
        for option in fields(self):
            name, value, usual = option.name, getattr(self, option.name), option.default
            number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
            if isinstance(usual, (int, float)) and not isinstance(usual, bool) and not number:
                raise ValueError(f"{name} of {type(self).__name__} must be a finite number; got {value!r}")
            if name in self.positive and not value > 0:
                raise ValueError(f"{name} must be positive; got {value!r}")
            if name in ("margin", "eps") and not value >= 0:
                raise ValueError(f"{name} must be zero or more; got {value!r}")

    def terms(self, pairs: Pairs) -> Tensor:
        """The loss of each pair, (T,)."""
        raise TypeError(f"{type(self).__name__} must define terms(pairs)")

    def term_weights(self, pairs: Pairs) -> Tensor:
        """Derivative of each pair's loss by every score of its row, (T, M), in closed form."""
        raise TypeError(f"{type(self).__name__} must define term_weights(pairs)")

    def per_query(self, scores: Tensor, positives: Tensor) -> Tensor:
        """Loss of each query, (Q,), one direction: rows are the queries."""
        count = check(scores, positives)
        total = scores.new_zeros(len(scores))
        for query, positive in chunked(scores, positives, self.memory):
            total = total.index_add(0, query, self.terms(lay_out(scores, positives, query, positive)))
        return total / count

    def weights(self, scores: Tensor, positives: Tensor) -> Tensor:
        r"""Closed form of :math:`w_{qj} = \partial \ell_q / \partial s_{qj}`, (Q, M), one direction; no autograd."""
        count = check(scores, positives)
        return self._one_way(scores.detach(), positives, count, on_diagonal(positives, count), values=False)[1]

    def __call__(self, scores: Tensor, positives: Tensor) -> Tensor:
        """Scalar loss of both directions: rows as queries (image to text), then columns (text to image).

        Its gradient is the closed form, computed on the way; ``per_query`` is the way through autograd, of which a
        derivative of the gradient can be taken, too. Half-precision scores are computed in single precision.
        """
        exact = scores.detach()
        exact = exact.float() if exact.dtype in (torch.float16, torch.bfloat16) else exact
        value, gradient = self._value_and_gradient(exact, positives)
        if not (torch.is_grad_enabled() and scores.requires_grad):
            return value
        return _ClosedForm.apply(scores, value, gradient)

    def score_gradient(self, scores: Tensor, positives: Tensor) -> Tensor:
        """Closed form of d ``loss(scores, positives)`` / d ``scores``, (Q, M): both directions, reduced as the loss."""
        return self._value_and_gradient(scores.detach(), positives, values=False)[1]

    def _value_and_gradient(self, scores: Tensor, positives: Tensor, values: bool = True) -> tuple[Tensor, Tensor]:
        # Rows are read and written as they lie in memory, hence the copies of the transposes.
        count = check(scores, positives)
        diagonal = on_diagonal(positives, count)
        losses, gradient = self._one_way(scores, positives, count, diagonal, values)
        half = 0.5 if self.directions == "mean" else 1.0
        if diagonal and self.alone:  # the other direction is the same sum over the same pairs
            each = 2 * half / (1 if self.queries == "sum" else len(scores))
            return losses.sum() * each, gradient.mul_(each)
        turned, mask, asked = (scores.T, positives, None) if diagonal else columns_as_queries(scores, positives)
        turned, mask = turned.contiguous(), mask.contiguous()
        count = count if diagonal else check(turned, mask)
        backwards, columns = self._one_way(turned, mask, count, diagonal, values)
        first, second = (half, half) if self.queries == "sum" else (half / len(scores), half / len(turned))
        if first != 1:
            gradient.mul_(first)
        value = losses.sum() * first + backwards.sum() * second
        if asked is None:
            return value, gradient.add_(columns.T.contiguous(), alpha=second)
        return value, gradient.index_add_(1, asked, columns.T.contiguous(), alpha=second)

    @torch.no_grad()
    def _one_way(
        self, scores: Tensor, positives: Tensor, count: Tensor, diagonal: bool, values: bool
    ) -> tuple[Tensor, Tensor]:
        """Loss (Q,) and weights (Q, M) of one direction in closed form, chunk by chunk."""
        single = diagonal or int(count.sum()) == len(count)
        parts = chunked(scores, positives, self.memory if scores.is_cuda else self.cache, diagonal)
        if single and len(parts) == 1:  # nothing to put together
            pairs = lay_out(scores, positives, *parts[0], single)
            return (self.terms(pairs) if values else scores.new_zeros(())), self.term_weights(pairs)
        total, weights = scores.new_zeros(len(scores)), (torch.empty_like if single else torch.zeros_like)(scores)
        for query, positive in parts:
            pairs = lay_out(scores, positives, query, positive, single)
            if values:
                total.index_add_(0, query, self.terms(pairs))
            if single:  # nothing to add up
                weights[int(query[0]) : int(query[-1]) + 1] = self.term_weights(pairs)
            else:
                weights.index_add_(0, query, self.term_weights(pairs))
        return (total, weights) if single else (total / count, weights / count[:, None])

    def collapsed(self, positives: Tensor) -> float:
        """The loss where a collapse sits: of all scores in [-1, 1] that every pair may share, the cheapest.

        A loss of differences has one value there. One with thresholds, or a pull alone, sees how high the scores are.
        """

        def equal(score: float) -> float:
            scores = torch.full(positives.shape, score, dtype=torch.float64, device=positives.device)
            return float(self(scores, positives))

        costs = [equal(score) for score in (-1.0, 0.0, 1.0)]
        if max(costs) - min(costs) <= 1e-9 * max(map(abs, costs)):
            return costs[1]
        from scipy.optimize import minimize_scalar  # only losses with thresholds need it

        grid = torch.linspace(-1, 1, COMMON).tolist()
        costs = [equal(score) for score in grid]
        place = min(range(COMMON), key=costs.__getitem__)
        around = grid[max(place - 1, 0)], grid[min(place + 1, COMMON - 1)]
        return min(costs[place], float(minimize_scalar(equal, bounds=around, method="bounded").fun))

    def notes(self, scores: Tensor, positives: Tensor) -> dict[str, float]:
        """What an evaluation in training notes about the last batch, beside the value."""
        return {}

    def sharpened(self, scores: Tensor, positives: Tensor, log_scale: Tensor, bias: Tensor | None = None) -> Tensor:
        r"""The loss with temperature :math:`e^{-t}` (and bias b), differentiable by t = ``log_scale`` and by b, too.

        The scores are multiplied by :math:`e^t` and the loss is taken at a temperature of 1, so that its closed form
        gives the derivatives by the products, and the chain rule the rest. A loss with a margin or another constant in
        units of the scores must scale that, too: it overrides this method.
        """
        exact = scores.float() if scores.dtype in (torch.float16, torch.bfloat16) else scores
        zero, sharp = torch.zeros(()), exact * log_scale.exp()
        return self.at(zero)(sharp, positives) if bias is None else self.at(zero, zero)(sharp + bias, positives)

    def at(self, log_scale: Tensor, bias: Tensor | None = None) -> Loss:
        """This loss with the present values of what was learned, for counts and diagnosis."""
        now = {"tau": (-log_scale).exp().item()}
        return replace(self, **(now if bias is None else now | {"bias": bias.item()}))


class _ClosedForm(torch.autograd.Function):
    """A ``value`` whose gradient by the scores is known; a derivative of that gradient is refused, and never 0."""

    @staticmethod
    def forward(ctx, scores: Tensor, value: Tensor, gradient: Tensor) -> Tensor:
        ctx.save_for_backward(gradient)
        ctx.kind = scores.dtype
        return value.clone()

    @staticmethod
    def backward(ctx, by_value: Tensor) -> tuple[Tensor, None, None]:
        if torch.is_grad_enabled():
            raise ValueError("autograd knows no derivative of this gradient (create_graph=True); take per_query")
        return (ctx.saved_tensors[0] * by_value).to(ctx.kind), None, None


def shares(logits: Tensor) -> tuple[Tensor, Tensor]:
    """Softmax of each row of ``logits`` (T, M), and the log of the row's sum of exponentials (T, 1).

    The largest share is 1 / M at least, so its logarithm is exact, and the exponentials are taken once."""
    share = logits.softmax(1)
    return share, logits.amax(1, keepdim=True) - share.amax(1, keepdim=True).log()


def columns_as_queries(scores: Tensor, positives: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
    """The second direction: columns as rows (M', Q), their positives, and which columns these are (M',), None for all.

    A column without a positive is a candidate and no query, such as a caption that is nobody's. A row without one is
    an error, which the check of the first direction finds.
    """
    has = positives.any(0)
    if has.all() or not has.any():
        return scores.T, positives.T, None
    asked = has.nonzero()[:, 0]
    return scores.T[asked], positives.T[asked], asked


def chunked(scores: Tensor, positives: Tensor, room: int, diagonal: bool = False) -> list[tuple[Tensor, Tensor]]:
    """All (query, positive) pairs in order, in pieces whose rows of ``scores`` have at most ``room`` bytes."""
    each = torch.arange(len(positives), device=positives.device)
    query, positive = (each, each) if diagonal else positives.nonzero(as_tuple=True)
    rows = max(1, room // (scores.element_size() * positives.shape[1]))
    return list(zip(query.split(rows), positive.split(rows), strict=True)) if rows < len(query) else [(query, positive)]


def on_diagonal(positives: Tensor, count: Tensor) -> bool:
    """Whether the one positive of row q is column q: the usual batch of pairs, which needs no search of the mask."""
    return count.shape[0] == positives.shape[1] == int(count.sum()) and bool(positives.diagonal().all())


def lay_out(scores: Tensor, positives: Tensor, query: Tensor, positive: Tensor, single: bool = False) -> Pairs:
    """Gather the rows of the given (query, positive) pairs; ``single``: they are neighbours of one positive each, which
    spares the copy."""
    single = single or len(query) == len(scores) and torch.equal(query, torch.arange(len(query), device=query.device))
    if single:
        rows = scores if len(query) == len(scores) else scores[int(query[0]) : int(query[-1]) + 1]
    else:
        rows = scores.index_select(0, query)
    return Pairs(query, positive, rows.gather(1, positive[:, None]), rows, single, scores, positives)

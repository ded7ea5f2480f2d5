r"""Gradients designed directly: a triplet weight times a pair weight, without a loss behind them (GOAL, Eqs. 1-13).

For a query, its positive with score :math:`s^+` and the hardest negative with score :math:`s^-`,

.. math:: w^+ = T(s^+, s^-)\, P^+(s^+), \qquad w^- = T(s^+, s^-)\, P^-(s^-),

and a step of gradient descent raises :math:`s^+` by :math:`w^+` and lowers :math:`s^-` by :math:`w^-`. A triplet
weight T looks at both scores; a pair weight P looks at one of them, and perhaps at *relative* scores: the query's
other positives and negatives that lie close to the pair.

Both kinds stand in a table, so a new one is one line::

    goal.TRIPLET_WEIGHTS["flat"] = lambda o, positive, negative: torch.full_like(positive, 0.5)
    objective = GradientObjective("flat", "lin")
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from icrlib.errors import choose
from icrlib.losses.base import Loss, Pairs, Reduction, once

PREFIX = "goal:"
Weight = Callable[["GradientObjective", Tensor, Tensor], Tensor]


def _con(o: GradientObjective, positive: Tensor, negative: Tensor) -> Tensor:
    """GOAL Eq. 5: 1 inside the margin, 0 on and outside of it. The release has no margin: always 1."""
    if o.convention == "released":
        return torch.ones_like(positive)
    return (negative + (o.margin - positive) > 0).to(positive.dtype)


def _cir(o: GradientObjective, positive: Tensor, negative: Tensor) -> Tensor:
    """GOAL Eq. 8: circles around (1, 0). The release lowers the exponent by a half, without a word in the paper."""
    half = 0.5 if o.convention == "released" else 1.0
    return torch.sigmoid(o.tau * ((1 - positive) ** 2 + negative**2 - half))


# T by name: (objective, s+, s-) -> T. All tensors (T, 1), one entry a (query, positive) pair.
TRIPLET_WEIGHTS: dict[str, Weight] = {
    "con": _con,
    "nca": lambda o, positive, negative: torch.sigmoid(o.tau * (negative - positive)),  # Eq. 7
    "cir": _cir,
}


@dataclass(frozen=True)
class PairWeight:
    r"""``positive`` and ``negative``: (objective, score, relative term) -> :math:`P^+`, :math:`P^-`.

    ``compare_positive`` and ``compare_negative``: (objective, own score − relative score) -> what is averaged over the
    relative scores to give that term; None where P does not look at them. ``neutral``: the term without any.
    """

    positive: Weight
    negative: Weight
    compare_positive: Callable[[GradientObjective, Tensor], Tensor] | None = None
    compare_negative: Callable[[GradientObjective, Tensor], Tensor] | None = None
    neutral: float = 0.0


# The 1 of Eq. 11 is the relative term's neutral value, so that Eq. 12 is the same function.
_SIGMOIDS = {
    "positive": lambda o, s, mu: 1 / (mu + torch.exp(o.alpha * (s - o.lam))),
    "negative": lambda o, s, mu: 1 / (mu + torch.exp(-o.beta * (s - o.lam))),
    "neutral": 1.0,
}
_LINES = {"positive": lambda o, s, nu: (1 - nu) * (1 - s), "negative": lambda o, s, nu: (1 + nu) * s}
PAIR_WEIGHTS: dict[str, PairWeight] = {
    "con": PairWeight(lambda o, s, _: torch.ones_like(s), lambda o, s, _: torch.ones_like(s)),  # Eq. 9
    "lin": PairWeight(**_LINES),  # Eq. 10
    "sig": PairWeight(**_SIGMOIDS),  # Eq. 11
    "lin-ms": PairWeight(**_LINES, compare_positive=lambda o, gap: gap, compare_negative=lambda o, gap: gap),  # Eq. 13
    "sig-ms": PairWeight(  # Eq. 12
        **_SIGMOIDS,
        compare_positive=lambda o, gap: torch.exp(o.alpha * gap),
        compare_negative=lambda o, gap: torch.exp(-o.beta * gap),
    ),
}


@dataclass(frozen=True)
class GradientObjective(Loss):
    r"""A gradient without a loss: ``triplet_weight`` (T) times ``pair_weight`` (P), on the hardest negative.

    **The weights are the definition.** ``weights`` has :math:`-w^+` at the positive, :math:`+w^-` at the hardest
    negative (first index at a tie), 0 elsewhere; several positives: the mean over them. ``per_query`` is the surrogate
    :math:`\sum_j \bar w_j s_j` with :math:`\bar w` held constant: its gradient is :math:`w`, its **value means
    nothing**. Watch :meth:`gap` instead. Being an ordinary function of the scores, it obeys loss scaling, accumulation
    and mixed precision, and negatives receive their gradient wherever they were encoded.

    ``margin`` (T con), ``tau`` (T nca, cir), ``alpha``, ``beta``, ``lam`` (P sig) are the values of GOAL's figures; the
    paper does not say which it trained with. ``eps``: how near a relative score must be, 0.1 as released.

    ``convention="paper"``: Eqs. 5-13. Relative positives: the query's other positives below its highest negative +
    ``eps``; relative negatives: its other negatives above its lowest positive - ``eps``; their terms are constants, 1
    (sig-ms) or 0 (lin-ms) where there are none. ``"released"``: what the paper's code does once it is made to run, for
    one positive a row: no margin, T cir shifted, the positives of *other* queries as relative positives, the lowest
    positive of the whole batch as the bound, bounds included, and 0 where there are none.

    Sums over queries and directions, as released.

    >>> objective = GradientObjective("nca", "lin")
    >>> objective.weights(torch.tensor([[0.6, 0.5], [0.1, 0.6]]), torch.eye(2, dtype=torch.bool))
    tensor([[-0.1076,  0.1345],
            [ 0.0007, -0.0027]])
    """

    triplet_weight: str
    pair_weight: str
    margin: float = 0.2
    tau: float = 10.0
    alpha: float = 2.0
    beta: float = 10.0
    lam: float = 0.5
    eps: float = 0.1
    convention: str = "paper"
    queries: Reduction = field(default="sum", kw_only=True)
    directions: Reduction = field(default="sum", kw_only=True)

    def __post_init__(self) -> None:
        choose(self.triplet_weight, TRIPLET_WEIGHTS, "triplet weight")
        choose(self.pair_weight, PAIR_WEIGHTS, "pair weight")
        choose(self.convention, ("paper", "released"), "convention")
        super().__post_init__()

    @property
    def name(self) -> str:
        """What :func:`icrlib.losses.by_name` calls it, "goal:cir x sig-ms"."""
        return f"{PREFIX}{self.triplet_weight} x {self.pair_weight}"

    @property
    def rows_independent(self) -> bool:
        """False as released: its relative scores come from the rows of other queries, too."""
        return self.convention == "paper"

    def on_plane(
        self, positive: Tensor, negative: Tensor, relative: tuple[float | None, float | None] = (None, None)
    ) -> tuple[Tensor, Tensor]:
        r"""(:math:`w^+`, :math:`w^-`) at scores :math:`s^+`, :math:`s^-` of any one shape, relative terms held fixed.

        ``relative``: (:math:`\mu^+, \mu^-`) or (:math:`\nu^+, \nu^-`); None is the neutral value.
        """
        pair = PAIR_WEIGHTS[self.pair_weight]
        plus, minus = (pair.neutral if term is None else term for term in relative)
        weight = TRIPLET_WEIGHTS[self.triplet_weight](self, positive, negative)
        return weight * pair.positive(self, positive, plus), weight * pair.negative(self, negative, minus)

    def gap(self, scores: Tensor, positives: Tensor) -> float:
        r"""Sum of :math:`s^- - s^+` over all pairs of both directions: what falls while training works."""
        total = 0.0
        for s, mask in ((scores, positives), (scores.T, positives.T)):
            hardest = s.masked_fill(mask, -torch.inf).amax(1, keepdim=True)
            total += float(((hardest - s) * mask).sum())
        return total

    def notes(self, scores: Tensor, positives: Tensor) -> dict[str, float]:
        """The gap: the value of the surrogate means nothing."""
        return {"gap": self.gap(scores, positives)}

    def collapsed(self, positives: Tensor) -> float:
        """NaN: the surrogate's value means nothing, so no value of it shows a collapse."""
        return math.nan

    def terms(self, pairs: Pairs) -> Tensor:
        hardest, plus, minus = self._pair_weights(pairs)
        return (minus * pairs.rows.gather(1, hardest) - plus * pairs.own)[:, 0]

    def term_weights(self, pairs: Pairs) -> Tensor:
        hardest, plus, minus = self._pair_weights(pairs)
        return torch.zeros_like(pairs.rows).scatter_(1, hardest, minus).scatter_(1, pairs.positive[:, None], -plus)

    @once
    @torch.no_grad()
    def _pair_weights(self, pairs: Pairs) -> tuple[Tensor, Tensor, Tensor]:
        """Column of the hardest negative, :math:`w^+` and :math:`w^-`, (T, 1) each; constants to autograd."""
        hardest = pairs.first_hardest()
        negative = pairs.rows.gather(1, hardest)
        if self.convention == "released" and bool((several := pairs.positives.sum(1) != 1).any()):
            row = int(several.nonzero()[0])
            raise ValueError(
                f"convention='released' knows one positive a row; row {row} has {int(pairs.positives[row].sum())}. "
                "Use convention='paper'."
            )
        relative = self.relative_terms(pairs, hardest, negative)
        return hardest, *self.on_plane(pairs.own, negative, relative)

    def relative_terms(self, pairs: Pairs, hardest: Tensor, negative: Tensor) -> tuple:
        """The two relative terms of each pair, (T, 1) each, or None where nothing is compared: the neutral value."""
        pair = PAIR_WEIGHTS[self.pair_weight]
        if pair.compare_positive is None or pair.compare_negative is None:
            return None, None
        released, rows = self.convention == "released", pairs.rows
        if released:
            positives = pairs.scores[pairs.positives].expand(len(rows), -1)  # of all queries; own row q at column q
            near = (positives <= negative + self.eps).scatter(1, pairs.query[:, None], False)
            bound = pairs.scores[pairs.positives].min()
            close = (rows >= bound - self.eps) & pairs.negatives
        else:
            positives, near = rows, None if pairs.single else pairs.others & (rows < negative + self.eps)
            bound = pairs.own if pairs.single else rows.masked_fill(~pairs.mask, torch.inf).amin(1, keepdim=True)
            close = (rows > bound - self.eps) & pairs.negatives
        close = close.scatter(1, hardest, False)
        plus = None if near is None else self._mean(pair, pair.compare_positive, pairs.own - positives, near)
        minus = self._mean(pair, pair.compare_negative, negative - rows, close)
        return plus, minus

    def _mean(self, pair: PairWeight, compare: Callable, gaps: Tensor, among: Tensor) -> Tensor:
        """Mean of ``compare(gap)`` over the entries ``among``, or the value for none."""
        values = compare(self, torch.where(among, gaps, 0.0)).masked_fill(~among, 0.0)
        released = self.convention == "released"
        # The release counts what is not 0, so that exact ties drop out of the mean of lin-ms.
        count = (values != 0 if released else among).sum(1, keepdim=True)
        mean = values.sum(1, keepdim=True) / count.clamp_min(1)
        return torch.where(count > 0, mean, 0.0 if released else pair.neutral)


def parse(name: str) -> tuple[str, str]:
    """("cir", "sig-ms") of "goal:cir x sig-ms"."""
    first, _, second = name.removeprefix(PREFIX).partition(" x ")
    choose(first, TRIPLET_WEIGHTS, "triplet weight (of 'goal:T x P')")
    return first, choose(second, PAIR_WEIGHTS, "pair weight (of 'goal:T x P')")

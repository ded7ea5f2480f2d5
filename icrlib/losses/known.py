r"""The losses of metric learning that GOAL's Table 1 names, each with all negatives or with the hardest one alone.

With several positives each is the mean over them of the one-positive loss, as everywhere in this package. Circle and
Multi-Similarity have the defaults of pytorch-metric-learning, and for one positive a query its values; NT-Xent with the
hardest negative and binomial deviance are not in it. Means over queries and directions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

import torch
from torch import Tensor
from torch.nn import functional

from icrlib.errors import choose
from icrlib.losses.base import Loss, Pairs, once


def softplus(x: Tensor) -> Tensor:
    """log(1 + exp(x)), exact far beyond PyTorch's default, which takes x itself from 20 on."""
    return functional.softplus(x, threshold=40)


@dataclass(frozen=True)
class HardNTXent(Loss):
    r"""NT-Xent with the hardest negative alone (GOAL Eq. 6): :math:`\log(1 + e^{(s^- - s^+)/\tau})`.

    Its gradient is that of ``goal:nca x con`` at the same sharpness (GOAL's ``tau`` is :math:`1/\tau`),
    times :math:`1/\tau`.
    """

    tau: float = 0.1
    label: ClassVar[str] = "NT-Xent, hardest"
    learnable: ClassVar[tuple[str, ...]] = ("tau",)

    def terms(self, pairs: Pairs) -> Tensor:
        hardest = pairs.rows.gather(1, pairs.first_hardest())
        return softplus((hardest - pairs.own) / self.tau)[:, 0]

    def term_weights(self, pairs: Pairs) -> Tensor:
        hardest = pairs.first_hardest()
        weight = torch.sigmoid((pairs.rows.gather(1, hardest) - pairs.own) / self.tau) / self.tau
        row = torch.zeros_like(pairs.rows).scatter(1, hardest, weight)
        return row.scatter(1, pairs.positive[:, None], -weight)


@dataclass(frozen=True)
class _Mined(Loss):
    """A loss over all negatives of a query, or over the hardest.

    ``negatives``: "all", or only the "hardest" of each query.
    """

    negatives: Literal["all", "hardest"] = field(default="all", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        choose(self.negatives, ("all", "hardest"), "choice of negatives")
        for name in ("alpha", "beta", "gamma"):
            if not getattr(self, name, 1.0) > 0:
                raise ValueError(f"{name} must be positive; got {getattr(self, name)!r}")

    def chosen(self, pairs: Pairs) -> Pairs:
        """The pairs with the negatives that count."""
        return pairs if self.negatives == "all" else pairs.hardest_only()


@dataclass(frozen=True)
class Circle(_Mined):
    r"""Circle loss (Sun et al. 2020): a softmax whose scores move at a pace of their own.

    .. math:: \ell = \log\Big(1 + e^{-\gamma a_p (s^+ - \Delta_p)} \sum_{n} e^{\gamma a_n (s_n - \Delta_n)}\Big),
              \quad a_p = [1 + m - s^+]_+,\; a_n = [s_n + m]_+,\; \Delta_p = 1 - m,\; \Delta_n = m

    ``margin`` m, ``gamma`` :math:`\gamma`. ``detach=True``, as published: the paces a are constants for the gradient,
    which is then not the derivative of the value. ``False``: the full gradient.
    """

    label: ClassVar[str] = "Circle"
    margin: float = 0.4
    gamma: float = 80.0
    detach: bool = True

    def _by_autograd(self, scores: Tensor, positives: Tensor) -> Tensor:
        if self.detach:
            raise ValueError(
                "Circle's paces are no part of its derivative (detach=True), so autograd knows no second one "
                "(create_graph=True); take Circle(detach=False), or differentiate score_gradient() yourself"
            )
        return super()._by_autograd(scores, positives)

    @once
    def _logits(self, pairs: Pairs) -> tuple[Tensor, Tensor, Tensor]:
        """Exponents of the positive (T, 1) and of the negatives (T, M), and the log of the latter's sum (T, 1)."""
        slow, fast = torch.relu(1 + self.margin - pairs.own), torch.relu(pairs.rows + self.margin)
        if self.detach:
            slow, fast = slow.detach(), fast.detach()
        negative = pairs.at_negatives(self.gamma * fast * (pairs.rows - self.margin), -torch.inf)
        return -self.gamma * slow * (pairs.own - 1 + self.margin), negative, negative.logsumexp(1, keepdim=True)

    def terms(self, pairs: Pairs) -> Tensor:
        positive, _, total = self._logits(self.chosen(pairs))
        return softplus(positive + total)[:, 0]

    def term_weights(self, pairs: Pairs) -> Tensor:
        pairs = self.chosen(pairs)
        positive, negative, total = self._logits(pairs)
        slow, fast = torch.relu(1 + self.margin - pairs.own), torch.relu(pairs.rows + self.margin)
        if not self.detach:  # the product rule's second term, where the pace is not cut off at 0
            slow = slow - (slow > 0) * (pairs.own - 1 + self.margin)
            fast = fast + (fast > 0) * (pairs.rows - self.margin)
        whole = self.gamma * torch.sigmoid(positive + total)
        row = (negative - total).exp() * fast * whole
        return row.scatter(1, pairs.positive[:, None], -whole * slow)


@dataclass(frozen=True)
class BinomialDeviance(_Mined):
    r"""Binomial deviance (Yi et al. 2014): each pair on its own side of a threshold.

    .. math:: \ell = \log(1 + e^{-\alpha(s^+ - \lambda)}) + \frac{1}{|N|}\sum_{n} \log(1 + e^{\beta(s_n - \lambda)})

    ``alpha``, ``beta``: how sharp the two terms are, that of the positive and that of the negatives. ``lam``: the
    threshold between them.

    ``scaled=True`` divides the two terms by :math:`\alpha` and :math:`\beta`, as Multi-Similarity does, and as the
    match with ``goal:con x sig`` needs.
    """

    label: ClassVar[str] = "Binomial deviance"
    alpha: float = 2.0
    beta: float = 10.0
    lam: float = 0.5
    scaled: bool = False

    def _scales(self) -> tuple[float, float]:
        return (1 / self.alpha, 1 / self.beta) if self.scaled else (1.0, 1.0)

    def terms(self, pairs: Pairs) -> Tensor:
        pairs, (first, second) = self.chosen(pairs), self._scales()
        costs = pairs.at_negatives(softplus(self.beta * (pairs.rows - self.lam)), 0).sum(1)
        own = softplus(-self.alpha * (pairs.own[:, 0] - self.lam))
        return first * own + second * costs / pairs.negatives.sum(1)

    def term_weights(self, pairs: Pairs) -> Tensor:
        pairs, (first, second) = self.chosen(pairs), self._scales()
        pushed = second * self.beta * torch.sigmoid(self.beta * (pairs.rows - self.lam))
        pulled = first * self.alpha * torch.sigmoid(-self.alpha * (pairs.own - self.lam))
        row = pairs.at_negatives(pushed, 0) / pairs.negatives.sum(1, keepdim=True)
        return row.scatter(1, pairs.positive[:, None], -pulled)


@dataclass(frozen=True)
class MultiSimilarity(_Mined):
    r"""Multi-Similarity loss with its miner (Wang et al. 2019).

    .. math:: \ell = \tfrac1\alpha \log(1 + e^{-\alpha(s^+ - \lambda)})
              + \tfrac1\beta \log\Big(1 + \sum_{n} e^{\beta(s_n - \lambda)}\Big)

    ``alpha``, ``beta``: how sharp the two terms are, that of the positive and that of the negatives. ``lam``: the
    threshold between them. ``eps``: how far below the positive a negative may be to count.

    The miner keeps the negatives with :math:`s_n + \epsilon > s^+`, and the positive if any is left.
    """

    label: ClassVar[str] = "Multi-Similarity"
    alpha: float = 2.0
    beta: float = 50.0
    lam: float = 0.5
    eps: float = 0.1

    @once
    def _mined(self, pairs: Pairs) -> tuple[Tensor, Tensor, Tensor]:
        """Exponents of the negatives that the miner keeps (-inf elsewhere), the log of their sum, and if any is kept.

        In a row without any, autograd through the sum gives NaN; ``where`` lets none of it through.
        """
        near = pairs.rows.detach() + self.eps > pairs.own.detach()
        exponents = torch.where(near, self.beta * (pairs.rows - self.lam), -torch.inf)
        exponents = pairs.at_negatives(exponents, -torch.inf)
        total = exponents.logsumexp(1, keepdim=True)
        return exponents, total, total > -torch.inf

    def terms(self, pairs: Pairs) -> Tensor:
        pairs = self.chosen(pairs)
        _, total, kept = self._mined(pairs)
        pulled = softplus(-self.alpha * (pairs.own - self.lam)) * kept / self.alpha
        return (pulled + softplus(total) / self.beta)[:, 0]

    def term_weights(self, pairs: Pairs) -> Tensor:
        pairs = self.chosen(pairs)
        exponents, total, kept = self._mined(pairs)
        row = (exponents - softplus(total)).exp()
        pulled = torch.sigmoid(-self.alpha * (pairs.own - self.lam)) * kept
        return row.scatter(1, pairs.positive[:, None], -pulled)

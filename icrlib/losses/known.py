r"""The losses of metric learning that GOAL's Table 1 names, each with all negatives or with the hardest one alone.

With several positives each is the mean over them of the one-positive loss, as everywhere in this package. Circle and
Multi-Similarity have the defaults of pytorch-metric-learning, and for one positive a query its values; NT-Xent with the
hardest negative and binomial deviance are not in it. Means over queries and directions. :class:`Alignment` is the pull
without a push of LTD's Table 2.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

import torch
from torch import Tensor
from torch.nn import functional

from icrlib.errors import choose
from icrlib.losses.base import Loss, Pairs, once, shares


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
        return softplus((pairs.rows.gather(1, pairs.first_hardest()) - pairs.own) / self.tau)[:, 0]

    def term_weights(self, pairs: Pairs) -> Tensor:
        hardest = pairs.first_hardest()
        weight = torch.sigmoid((pairs.rows.gather(1, hardest) - pairs.own) / self.tau) / self.tau
        return torch.zeros_like(pairs.rows).scatter_(1, hardest, weight).scatter_(1, pairs.positive[:, None], -weight)


@dataclass(frozen=True)
class _Mined(Loss):
    """A loss over all negatives of a query, or over the hardest.

    ``negatives``: "all", or only the "hardest" of each query.
    """

    negatives: Literal["all", "hardest"] = field(default="all", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        choose(self.negatives, ("all", "hardest"), "choice of negatives")

    def chosen(self, pairs: Pairs) -> Pairs:
        """The pairs with the negatives that count."""
        return pairs if self.negatives == "all" else pairs.hardest_only()

    def spread(self, weights: Tensor, pairs: Pairs) -> Tensor:
        """The ``weights`` of the chosen pairs as those of all candidates, (T, M)."""
        if self.negatives == "all":
            return weights
        columns = torch.cat([pairs.positive[:, None], pairs.first_hardest()], 1)
        return torch.zeros_like(pairs.rows).scatter_(1, columns, weights)


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

    @once
    def _lead(self, pairs: Pairs) -> tuple[Tensor, Tensor, Tensor]:
        """Shares of the negatives (T, M), the pace of each, and the log of the sum in Circle's logarithm (T, 1)."""
        slow, fast = torch.relu(1 + self.margin - pairs.own), torch.relu(pairs.rows + self.margin)
        if self.detach:
            slow, fast = slow.detach(), fast.detach()
        negative = pairs.at_negatives((pairs.rows - self.margin) * self.gamma * fast, -torch.inf)
        share, total = shares(negative)
        return share, fast, total - self.gamma * slow * (pairs.own - 1 + self.margin)

    def terms(self, pairs: Pairs) -> Tensor:
        return softplus(self._lead(self.chosen(pairs))[2])[:, 0]

    def term_weights(self, pairs: Pairs) -> Tensor:
        among, pairs = pairs, self.chosen(pairs)
        share, fast, lead = self._lead(pairs)
        slow = torch.relu(1 + self.margin - pairs.own)
        if not self.detach:  # the product rule's second term, where the pace is not cut off at 0
            slow = slow - (slow > 0) * (pairs.own - 1 + self.margin)
            fast = fast + (fast > 0) * (pairs.rows - self.margin)
        whole = self.gamma * torch.sigmoid(lead)
        row = (share * fast).mul_(whole)
        return self.spread(row.scatter_(1, pairs.positive[:, None], -whole * slow), among)


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
    alone = property(lambda self: self.negatives == "all")  # the hardest is found among the others

    @once
    def _sides(self, pairs: Pairs) -> tuple[Tensor, float, Tensor | float]:
        """Exponents of all candidates (T, M), and what the positive's term and a negative's one are multiplied by."""
        positives = 1 if pairs.single else pairs.mask.sum(1, keepdim=True, dtype=pairs.rows.dtype)
        first, second = (1 / self.alpha, 1 / self.beta) if self.scaled else (1.0, 1.0)
        return self.beta * (pairs.rows - self.lam), first, second / (pairs.rows.shape[1] - positives)

    def terms(self, pairs: Pairs) -> Tensor:
        costs, first, second = self._sides(pairs := self.chosen(pairs))
        own = softplus(-self.alpha * (pairs.own - self.lam))
        return (first * own + second * pairs.at_negatives(softplus(costs), 0).sum(1, keepdim=True))[:, 0]

    def term_weights(self, pairs: Pairs) -> Tensor:
        among, pairs = pairs, self.chosen(pairs)
        costs, first, second = self._sides(pairs)
        pulled = first * self.alpha * torch.sigmoid(-self.alpha * (pairs.own - self.lam))
        row = torch.sigmoid(costs).mul_(second * self.beta).scatter_(1, pairs.columns(), 0)
        return self.spread(row.scatter_(1, pairs.positive[:, None], -pulled), among)


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
        """Shares in the sum of the negatives that the miner keeps (T, M), its logarithm, and if any is kept (T, 1).

        The sum's 1 stands in the positive's column, so no row is without an exponent.
        """
        near = pairs.at_negatives(pairs.rows.detach() + self.eps > pairs.own.detach(), False)
        exponents = torch.where(near, self.beta * (pairs.rows - self.lam), -torch.inf)
        share, total = shares(exponents.scatter(1, pairs.positive[:, None], 0.0))
        return share, total, near.any(1, keepdim=True)

    def terms(self, pairs: Pairs) -> Tensor:
        pairs = self.chosen(pairs)
        _, total, kept = self._mined(pairs)
        pulled = softplus(-self.alpha * (pairs.own - self.lam)) * kept / self.alpha
        return (pulled + total / self.beta)[:, 0]

    def term_weights(self, pairs: Pairs) -> Tensor:
        among, pairs = pairs, self.chosen(pairs)
        share, _, kept = self._mined(pairs)
        pulled = torch.sigmoid(-self.alpha * (pairs.own - self.lam)) * kept
        return self.spread(share.scatter(1, pairs.positive[:, None], -pulled), among)


@dataclass(frozen=True)
class Alignment(Loss):
    r"""Pull the positive, push nobody (LTD Table 2, rows 4.*.1): :math:`\ell_q = 1 - s_{qp}`.

    The loss of "fixed" targets: images learn to meet caption vectors that do not move (RF §6.12). Where both sides
    learn, the best answer is to put everything in one place.

    .. math:: \frac{\partial \ell_q}{\partial s_{qp}} = -1, \qquad \frac{\partial \ell_q}{\partial s_{qj}} = 0.
    """

    label: ClassVar[str] = "1 − cosine"
    alone: ClassVar[bool] = True

    def terms(self, pairs: Pairs) -> Tensor:
        return 1 - pairs.own[:, 0]

    def term_weights(self, pairs: Pairs) -> Tensor:
        return torch.zeros_like(pairs.rows).scatter_(1, pairs.positive[:, None], -1.0)

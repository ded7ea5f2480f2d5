r"""NT-Xent with few negatives: a softmax that gives most of them nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from icrlib.losses.base import Loss, Pairs, once


@dataclass(frozen=True)
class SparseNTXent(Loss):
    r"""The few hardest negatives share one unit of weight, each by its score; the others get exactly nothing.

    Few negatives, as for Triplet-SH, but weighed by score, as for NT-Xent. Both are had when weights :math:`p` are bid
    for: a negative offers how far it violates a margin of :math:`\tau`, and a weight costs more the larger it is and
    the more is given away in all,

    .. math:: \ell_{q,i} = \max_{p \ge 0,\; \sum p \le 1}\; \sum_{j \in N} p_j \Big(1 + \frac{s_j - s_i}{\tau}\Big)
              - \frac12 \Big(\sum_{j \in N} p_j\Big)^2 - \frac12 \sum_{j \in N} p_j^2

    The maximum is at :math:`p_j = [s_j/\tau - \theta]_+`, also for :math:`j = i`, with the one :math:`\theta` for which
    they add up to one. That is the *sparsemax* of positive and negatives, and this is its loss (Martins and Astudillo
    2016): NT-Xent with a projection onto the simplex where that has a softmax. Weights (Danskin's theorem; the book
    derives both): :math:`p_j/\tau` at the negatives, minus their sum at the positive.

    So a query is done, without loss or weight, once its positive leads all negatives by :math:`\tau`. The weights are
    continuous in the scores, where those of the triplet losses jump, and while all scores are equal they are NT-Xent's.

    ``tau``: 0.2, so that a triplet is done where it is for VSE++. Other positives of the query are left out; means
    over queries and directions, as for NT-Xent.

    >>> scores, own = torch.tensor([[0.6, 0.55, 0.5, 0.1]]), torch.tensor([[True, False, False, False]])
    >>> SparseNTXent(tau=0.2).weights(scores, own)
    tensor([[-2.0833,  1.6667,  0.4167,  0.0000]])
    """

    tau: float = 0.2
    label: ClassVar[str] = "NT-Xent, sparse"
    colour: ClassVar[str] = "#3b1f6b"  # the palette's other colours are too light or grey; this is by far the darkest
    marker: ClassVar[str] = "*"
    learnable: ClassVar[tuple[str, ...]] = ("tau",)

    @once
    def _shares(self, pairs: Pairs) -> Tensor:
        """p of each negative, (T, M); 0 at all positives."""
        return pairs.at_negatives(sparsemax(pairs.without_others(pairs.rows / self.tau, -torch.inf)), 0)

    def terms(self, pairs: Pairs) -> Tensor:
        shares = self._shares(pairs)
        offers = 1 + (pairs.rows - pairs.own) / self.tau
        return (shares * (offers - shares / 2)).sum(1) - shares.sum(1) ** 2 / 2

    def term_weights(self, pairs: Pairs) -> Tensor:
        shares = self._shares(pairs)
        return (shares / self.tau).scatter_(1, pairs.positive[:, None], -shares.sum(1, keepdim=True) / self.tau)


def sparsemax(logits: Tensor) -> Tensor:
    r"""The point of the simplex nearest to each row of ``logits`` (T, M): :math:`[z_j - \theta]_+`, summing to one.

    :math:`\theta` is the mean of those above it, less one over their number. Starting from all that can be above,
    those at most 1 below the highest, each round raises :math:`\theta` and drops those below, until none is dropped; a
    few rounds, where sorting would take far longer. -inf gets 0.
    """
    below = (logits - logits.detach().amax(1, keepdim=True)).clamp(min=-2)  # so that large scores keep their digits
    with torch.no_grad():
        theta, last = torch.full_like(below[:, :1], -1), None
        while last is None or not torch.equal(theta, last):
            above = torch.gt(below, theta, out=torch.empty_like(below))  # numbers add up far faster than a mask
            last, count = theta, above.sum(1, keepdim=True)
            theta = torch.maximum(theta, (above.mul_(below).sum(1, keepdim=True) - 1) / count)
    # Not [·]_+ of all: one that was dropped at θ itself may lie above it by rounding, and would count in the slope.
    kept = below > theta
    return torch.where(
        kept, below - (torch.where(kept, below, 0).sum(1, keepdim=True) - 1) / kept.sum(1, keepdim=True), 0
    )

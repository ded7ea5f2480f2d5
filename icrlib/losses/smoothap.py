r"""SmoothAP: average precision with the step function replaced by a sigmoid."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from icrlib.losses.base import Loss, Pairs, chunks, once


@dataclass(frozen=True)
class SmoothAP(Loss):
    r"""One minus a smooth average precision (ECIR Eqs. 5-8).

    Let :math:`G_{ij} = \sigma((s_j - s_i)/\tau)`, which is near 1 where candidate j is ranked above positive i. Then

    .. math:: R_i = 1 + \sum_{j \ne i} G_{ij}, \quad A_i = 1 + \sum_{j \in P, j \ne i} G_{ij}, \quad
              \ell_{q,i} = 1 - A_i / R_i

    are the smooth rank of i among all candidates, its rank among the positives, and one minus the precision there;
    their mean over :math:`i \in P` is one minus AP. ``tau``: 0.01 as published. ECIR prints the difference inside
    :math:`G` with the other sign; its code and appendix have the one used here. As released, queries and
    directions are averaged; its cut of :math:`(s_j-s_i)/\tau` at ±50, which moves a value by 2e-22, is left out.

    Only the rows of positives are formed, so time and memory grow with Q·P·M, not Q·M².

    Weights, with :math:`w_{ij} = G_{ij}(1-G_{ij})/(\tau R_i^2)` and :math:`C_i = R_i - A_i`: a negative j gets
    :math:`A_i w_{ij}`, another positive :math:`-C_i w_{ij}`, and i itself minus the sum of the row.
    """

    tau: float = 0.01
    label: ClassVar[str] = "SmoothAP"
    colour: ClassVar[str] = "#029e73"
    marker: ClassVar[str] = "D"
    batches: ClassVar[str] = "images"  # it ranks several positives, and pairs have one
    learnable: ClassVar[tuple[str, ...]] = ("tau",)

    def _chunks(self, positives: Tensor, element_size: int) -> Iterator[tuple[Tensor, Tensor]]:
        # Five positives a query make matrices that outgrow a CPU's cache; pieces of some 2 MB are a third faster.
        budget = self.memory_budget if positives.is_cuda else min(self.memory_budget, 1 << 21)
        return chunks(positives, budget // element_size)

    @once
    def _ranks(self, pairs: Pairs) -> tuple[Tensor, Tensor, Tensor]:
        """G (T, M), 0 at the pair's own column; R and C, (T, 1) each."""
        above = (pairs.rows - pairs.own).mul_(1 / self.tau).sigmoid_()
        own = pairs.positive[:, None]  # below in place where autograd does not mind: a copy costs as much as a product
        above = above.scatter(1, own, 0.0) if above.requires_grad else above.scatter_(1, own, 0.0)
        total = above.sum(1, keepdim=True)
        negatives_above = total if pairs.single else (above * self._negatives(pairs)).sum(1, keepdim=True)
        return above, 1 + total, negatives_above

    @once
    def _negatives(self, pairs: Pairs) -> Tensor:
        """1 at negatives, 0 at positives, (T, M); products with it are far cheaper than a bool mask."""
        return (~pairs.positives).to(pairs.rows.dtype).index_select(0, pairs.query)

    def terms(self, pairs: Pairs) -> Tensor:
        _, rank, negatives_above = self._ranks(pairs)
        return (negatives_above / rank)[:, 0]  # 1 - A/R = C/R, without the cancellation near a perfect rank

    def term_weights(self, pairs: Pairs) -> Tensor:
        above, rank, negatives_above = self._ranks(pairs)
        scale = 1 / (self.tau * rank**2)
        # σ(x)σ(-x) and not σ(x)(1 - σ(x)): far ahead of the positive a float32 σ(x) is 1, and its weight would be 0.
        row = (pairs.own - pairs.rows).mul_(1 / self.tau).sigmoid_().mul_(above)
        if pairs.single:
            row *= scale  # A is 1 with one positive
        else:  # A = R - C at the negatives, -C at the positives
            row *= (self._negatives(pairs) * (rank * scale)).sub_(negatives_above * scale)
        return row.scatter_(1, pairs.positive[:, None], -row.sum(1, keepdim=True))

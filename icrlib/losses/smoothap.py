r"""SmoothAP: average precision with the step function replaced by a sigmoid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from icrlib.losses.base import Loss, Pairs, once


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

    @once
    def _ranks(self, pairs: Pairs) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """(s_j - s_i)/τ (T, M); G of the positives, 0 at the pair's own column, (T, P); G of the negatives (T, M), 0 at
        all positives; and C (T, 1), the sum of the latter."""
        lead = (pairs.rows - pairs.own).mul_(1 / self.tau)
        above, columns = lead.sigmoid(), pairs.columns()
        positives_above = above.gather(1, columns).masked_fill(columns == pairs.positive[:, None], 0)
        # In place where autograd does not mind: a copy costs as much as a product.
        above = above.scatter(1, columns, 0.0) if above.requires_grad else above.scatter_(1, columns, 0.0)
        return lead, positives_above, above, above.sum(1, keepdim=True)

    def terms(self, pairs: Pairs) -> Tensor:
        _, positives_above, _, negatives_above = self._ranks(pairs)
        rank = 1 + positives_above.sum(1, keepdim=True) + negatives_above
        return (negatives_above / rank)[:, 0]  # 1 - A/R = C/R, without the cancellation near a perfect rank

    def term_weights(self, pairs: Pairs) -> Tensor:
        lead, positives_above, above, negatives_above = self._ranks(pairs)
        precise, columns = 1 + positives_above.sum(1, keepdim=True), pairs.columns()
        scale = 1 / (self.tau * (precise + negatives_above) ** 2)
        # σ(x)σ(-x) and not σ(x)(1 - σ(x)): far ahead of the positive a float32 σ(x) is 1, and its weight would be 0.
        row = (-lead).sigmoid_().mul_(above).mul_(precise * scale)
        row.scatter_(1, columns, torch.sigmoid(-lead.gather(1, columns)) * positives_above * -negatives_above * scale)
        return row.scatter_(1, pairs.positive[:, None], -row.sum(1, keepdim=True))

r"""SmoothAP: average precision with the step function replaced by a sigmoid."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from icrlib.losses.base import Loss, Pairs


@dataclass(frozen=True)
class SmoothAP(Loss):
    r"""One minus a smooth average precision (ECIR Eqs. 5-8).

    Let :math:`G_{ij} = \sigma((s_j - s_i)/\tau)`, which is near 1 where candidate j is ranked above positive i. Then

    .. math:: R_i = 1 + \sum_{j \ne i} G_{ij}, \quad A_i = 1 + \sum_{j \in P, j \ne i} G_{ij}, \quad
              \ell_{q,i} = 1 - A_i / R_i

    are the smooth rank of i among all candidates, its rank among the positives, and one minus the precision there;
    their mean over :math:`i \in P` is one minus AP. ``tau``: 0.01 as published. ECIR prints the difference inside
    :math:`G` with the other sign; its code and appendix have the one used here. As released, :math:`(s_j-s_i)/\tau`
    is cut at ±50, and queries and directions are averaged.

    Only the rows of positives are formed, so time and memory grow with Q·P·M, not Q·M².

    Weights, with :math:`w_{ij} = G_{ij}(1-G_{ij})/(\tau R_i^2)` and :math:`C_i = R_i - A_i`: a negative j gets
    :math:`A_i w_{ij}`, another positive :math:`-C_i w_{ij}`, and i itself minus the sum of the row.
    """

    tau: float = 0.01

    def _above(self, pairs: Pairs) -> Tensor:
        above = torch.sigmoid(((pairs.rows - pairs.own) / self.tau).clamp(-50, 50))
        return above.scatter(1, pairs.positive[:, None], 0.0)

    def terms(self, pairs: Pairs) -> Tensor:
        above = self._above(pairs)
        negatives_above = above.masked_fill(~pairs.negatives, 0).sum(1)
        return negatives_above / (
            1 + above.sum(1)
        )  # 1 - A/R = C/R, without the cancellation near a perfect rank

    def term_weights(self, pairs: Pairs) -> Tensor:
        above = self._above(pairs)
        rank = 1 + above.sum(1, keepdim=True)
        negatives_above = above.masked_fill(~pairs.negatives, 0).sum(1, keepdim=True)
        steep = above * (1 - above) / (self.tau * rank**2)
        row = steep * torch.where(pairs.negatives, rank - negatives_above, -negatives_above)
        return row.scatter(1, pairs.positive[:, None], -row.sum(1, keepdim=True))

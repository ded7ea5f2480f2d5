r"""The triplet loss, over all negatives and over the hardest one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import torch
from torch import Tensor

from icrlib.losses.base import Loss, Pairs, Reduction


@dataclass(frozen=True)
class Triplet(Loss):
    r"""Every negative that comes within the margin of the positive pays (ECIR Eq. 3).

    .. math:: \ell_{q,i} = \sum_{j \in N_q} [\alpha + s_j - s_i]_+

    ``margin``: :math:`\alpha`, 0.2 in VSE++ and ECIR. As released, queries and directions are summed.
    Weights (ECIR Eq. 9, whose printed sign is that of the descent direction): +1 on each active negative and
    minus their number on the positive. On the hinge itself (:math:`\alpha + s_j = s_i`) the weight is 0, as in
    the strict inequality of Eq. 9; the released code passes a gradient of 1 there.

    >>> Triplet(margin=0.2)(torch.tensor([[0.6, 0.5], [0.1, 0.6]]), torch.eye(2, dtype=torch.bool))
    tensor(0.2000)
    """

    margin: float = 0.2
    label: ClassVar[str] = "Triplet"
    colour: ClassVar[str] = "#de8f05"
    marker: ClassVar[str] = "o"
    queries: Reduction = field(default="sum", kw_only=True)
    directions: Reduction = field(default="sum", kw_only=True)

    def terms(self, pairs: Pairs) -> Tensor:
        return pairs.at_negatives(torch.relu(pairs.rows + (self.margin - pairs.own)), 0).sum(1)

    def term_weights(self, pairs: Pairs) -> Tensor:
        active = pairs.at_negatives((pairs.rows + (self.margin - pairs.own) > 0).to(pairs.rows.dtype), 0)
        return active.scatter_(1, pairs.positive[:, None], -active.sum(1, keepdim=True))


@dataclass(frozen=True)
class TripletSH(Triplet):
    r"""Only the hardest negative in the batch pays (ECIR Eqs. 1-2; "max of hinges" in VSE++).

    .. math:: \ell_{q,i} = [\alpha + \max_{j \in N_q} s_j - s_i]_+

    The paper calls it semi-hard; the negative chosen is the hardest one. At a tie of maxima the first index takes it.
    """

    label: ClassVar[str] = "Triplet-SH"
    colour: ClassVar[str] = "#d55e00"
    marker: ClassVar[str] = "s"

    def terms(self, pairs: Pairs) -> Tensor:
        hardest = pairs.rows.gather(1, pairs.first_hardest())
        return torch.relu(hardest + (self.margin - pairs.own))[:, 0]

    def term_weights(self, pairs: Pairs) -> Tensor:
        hardest = pairs.first_hardest()
        active = (pairs.rows.gather(1, hardest) + (self.margin - pairs.own) > 0).to(pairs.rows.dtype)
        return torch.zeros_like(pairs.rows).scatter_(1, hardest, active).scatter_(1, pairs.positive[:, None], -active)

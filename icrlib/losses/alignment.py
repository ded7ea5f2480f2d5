r"""Pull the positive, push nobody: one minus cosine (LTD Table 2, rows 4.*.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from icrlib.losses.base import Loss, Pairs


@dataclass(frozen=True)
class Alignment(Loss):
    r"""For query q with positive p, :math:`\ell_q = 1 - s_{qp}`; there are no negatives.

    The loss of "fixed" targets: images learn to meet caption vectors that do not move (RF §6.12). Where both sides
    learn, the best answer is to put everything in one place.

    .. math:: \frac{\partial \ell_q}{\partial s_{qp}} = -1, \qquad \frac{\partial \ell_q}{\partial s_{qj}} = 0.
    """

    label: ClassVar[str] = "1 − cosine"

    def terms(self, pairs: Pairs) -> Tensor:
        return 1 - pairs.own[:, 0]

    def term_weights(self, pairs: Pairs) -> Tensor:
        return torch.zeros_like(pairs.rows).scatter_(1, pairs.positive[:, None], -1.0)

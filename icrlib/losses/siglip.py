r"""SigLIP: each pair on its own, matching or not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from icrlib.losses.base import Loss, Pairs, once
from icrlib.losses.known import softplus


@dataclass(frozen=True)
class SigLIP(Loss):
    r"""A yes-or-no question for each pair (Zhai et al. 2023, "Sigmoid loss for language image pre-training").

    .. math:: \ell_{q,i} = \log(1 + e^{-(t s_i + b)}) + \sum_{j \in N} \log(1 + e^{t s_j + b})

    No candidate looks at another, so there is no softmax. Each score is compared with the threshold :math:`-b/t`, and
    adding a constant to all scores changes the loss. ``scale``: :math:`t`, 10; ``bias``: :math:`b`, -10, which starts
    at "no", as nearly all pairs are negatives. Published, both are learned from there on: ``learn_tau=True``,
    ``learn_bias=True`` in training, where a learned scale is shown as its temperature :math:`1/t`.

    Means over queries and directions. For B pairs with one positive each both directions have the same value, the sum
    over all :math:`B^2` pairs divided by B, as published. With several positives their terms are averaged, so that a
    query pulls as much as it does with one.

    Weights: :math:`t\,\sigma(t s_j + b)` on each negative and :math:`-t\,\sigma(-t s_i - b)` on the positive, which do
    not add up to zero.

    >>> round(float(SigLIP()(torch.eye(3), torch.eye(3, dtype=torch.bool))), 6)
    0.693238
    """

    scale: float = 10.0
    bias: float = -10.0
    label: ClassVar[str] = "SigLIP"
    colour: ClassVar[str] = "#ca9161"
    marker: ClassVar[str] = "P"
    learnable: ClassVar[tuple[str, ...]] = ("tau", "bias")
    alone: ClassVar[bool] = True

    @property
    def tau(self) -> float:
        """The temperature: what a learned scale starts from, and is shown as."""
        return 1 / self.scale

    @once
    def _logits(self, pairs: Pairs) -> Tensor:
        return pairs.rows * self.scale + self.bias

    def terms(self, pairs: Pairs) -> Tensor:
        pushed = pairs.at_negatives(softplus(self._logits(pairs)), 0).sum(1)
        return pushed + softplus(-self.scale * pairs.own[:, 0] - self.bias)

    def term_weights(self, pairs: Pairs) -> Tensor:
        row = torch.sigmoid(self._logits(pairs)).mul_(self.scale).scatter_(1, pairs.columns(), 0)
        pulled = self.scale * torch.sigmoid(-self.scale * pairs.own - self.bias)
        return row.scatter_(1, pairs.positive[:, None], -pulled)

    def at(self, log_scale: Tensor, bias: Tensor | None = None) -> Loss:
        """As in the base, by the name that the scale has here. Without ``bias`` the loss's own stays as it is."""
        found = self.bias if bias is None else float(bias.detach())
        return replace(self, scale=float(log_scale.detach().exp()), bias=found)

r"""IFM, implicit feature modification: NT-Xent beside NT-Xent with a margin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from icrlib.losses.base import Loss, Pairs, once, shares
from icrlib.losses.known import softplus
from icrlib.losses.ntxent import NTXent


@dataclass(frozen=True)
class IFM(Loss):
    r"""The mean of NT-Xent and of NT-Xent on scores made harder by ``eps`` (Robinson et al. 2021).

    IFM moves the positive away from the query and each negative towards it, as far as :math:`\varepsilon` in the
    direction that raises the loss most; for unit vectors that lowers the positive's score by :math:`\varepsilon` and
    raises each negative's by as much. A softmax does not see what is added to all of its scores, so what remains is a
    margin of :math:`2\varepsilon` on the positive:

    .. math:: \ell_{q,i} = \tfrac12 \log(1 + e^{u}) + \tfrac12 \log(1 + e^{u + 2\varepsilon/\tau}), \qquad
              u = \log \sum_{j \in N} e^{s_j/\tau} - s_i/\tau

    The second term times :math:`2\tau` tends to :math:`[2\varepsilon + \max_j s_j - s_i]_+` for :math:`\tau \to 0`:
    Triplet-SH with a margin of :math:`2\varepsilon`. At 0.1, its default, that is the margin of VSE++.

    ``tau``: where the release's learned temperature begins, 0.07. ``eps``: 0.1, as released; 0 gives NT-Xent. Other
    positives of the query are left out of both halves; means over queries and directions, both as for NT-Xent.

    Weights: a negative gets its share :math:`e^{s_j/\tau} / \sum_{k \in N} e^{s_k/\tau}` of
    :math:`\frac{1}{2\tau}[\sigma(u) + \sigma(u + 2\varepsilon/\tau)]`, and the positive minus the whole.

    >>> one = torch.eye(3, dtype=torch.bool)
    >>> round(float(IFM(tau=0.1, eps=0.1)(torch.eye(3), one) - IFM(tau=0.1, eps=0.0)(torch.eye(3), one)), 6)
    0.00029
    """

    tau: float = 0.07
    eps: float = 0.1
    label: ClassVar[str] = "IFM"
    colour: ClassVar[str] = "#cc78bc"
    marker: ClassVar[str] = "v"
    learnable: ClassVar[tuple[str, ...]] = ("tau",)

    @once
    def _lead(self, pairs: Pairs) -> tuple[Tensor, Tensor]:
        """Shares of the negatives (T, M), and by how much the log of their sum leads over the positive's logit (u)."""
        share, total = shares(pairs.at_negatives(pairs.rows / self.tau, -torch.inf))
        return share, total - pairs.own / self.tau

    def terms(self, pairs: Pairs) -> Tensor:
        _, lead = self._lead(pairs)
        return (softplus(lead) + softplus(lead + 2 * self.eps / self.tau))[:, 0] / 2

    def term_weights(self, pairs: Pairs) -> Tensor:
        share, lead = self._lead(pairs)
        pull = (torch.sigmoid(lead) + torch.sigmoid(lead + 2 * self.eps / self.tau)) / (2 * self.tau)
        return (share * pull).scatter_(1, pairs.positive[:, None], -pull)

    def sharpened(self, scores: Tensor, positives: Tensor, log_scale: Tensor, bias: Tensor | None = None) -> Tensor:
        """As in the base. The margin is in units of the scores, so it is taken off before these are scaled."""
        exact = scores.float() if scores.dtype in (torch.float16, torch.bfloat16) else scores
        plain = NTXent(1.0, queries=self.queries, directions=self.directions)
        harder = exact - 2 * self.eps * positives.to(exact.dtype)
        return (plain(exact * log_scale.exp(), positives) + plain(harder * log_scale.exp(), positives)) / 2

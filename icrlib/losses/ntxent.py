r"""NT-Xent, also called InfoNCE: a softmax over the candidates; and DCL, its form without the positive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from icrlib.losses.base import Loss, Pairs, once, shares


@dataclass(frozen=True)
class NTXent(Loss):
    r"""Cross-entropy of picking the positive among the candidates.

    .. math:: \ell_{q,i} = -s_i/\tau + \log \sum_{j \in \Omega} e^{s_j/\tau}

    ``tau``: temperature, 0.1 in ECIR (0.05 in LTD). ``denominator="all"``: :math:`\Omega` is the positive and the
    negatives, as in ECIR Eq. 11, the slides and the released code; ``"negatives"``: the negatives alone, as ECIR
    Eq. 4 prints it, which has no lower bound. Other positives of the query are left out of both. ``"candidates"``:
    all of them, the query's other positives too. With the true mask of a batch (``positives="image"``, or batches of
    images) that is the cross-entropy of soft labels, of which each of n positives has 1/n, as X-VLM's contrastive term
    (FS S4; it learns τ from 0.07 on, ``learn_tau``). Means over queries and directions, as released.

    Weights: :math:`(p_j - 1[j = i])/\tau` with :math:`p` the softmax over :math:`\Omega` (ECIR Eq. 11, whose sign
    is that of the descent direction).

    >>> round(float(NTXent(tau=0.1)(torch.eye(3), torch.eye(3, dtype=torch.bool))), 6)
    9.1e-05
    """

    tau: float = 0.1
    denominator: Literal["all", "negatives", "candidates"] = "all"
    label: ClassVar[str] = "NT-Xent"
    colour: ClassVar[str] = "#0173b2"
    marker: ClassVar[str] = "^"
    softmax: ClassVar[bool] = True  # its weights are shares of a whole, which icrlib.cocos notes too
    learnable: ClassVar[tuple[str, ...]] = ("tau",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.denominator not in ("all", "negatives", "candidates"):
            raise ValueError(f"denominator must be 'all', 'negatives' or 'candidates'; got {self.denominator!r}")

    @once
    def _shares(self, pairs: Pairs) -> tuple[Tensor, Tensor]:
        """Each candidate's share of the sum (T, M), and the log of the sum (T, 1)."""
        logits = pairs.rows / self.tau
        if self.denominator != "candidates":
            logits = (pairs.without_others if self.denominator == "all" else pairs.at_negatives)(logits, -torch.inf)
        return shares(logits)

    def terms(self, pairs: Pairs) -> Tensor:
        return (self._shares(pairs)[1] - pairs.own / self.tau)[:, 0]

    def term_weights(self, pairs: Pairs) -> Tensor:
        pulled = torch.full_like(pairs.own, -1 / self.tau)
        return (self._shares(pairs)[0] / self.tau).scatter_add_(1, pairs.positive[:, None], pulled)


InfoNCE = NTXent


@dataclass(frozen=True)
class DCL(NTXent):
    r"""Decoupled contrastive learning (Yeh et al. 2022): NT-Xent whose denominator leaves the positive out.

    .. math:: \ell_{q,i} = -s_i/\tau + \log \sum_{j \in N} e^{s_j/\tau}

    This is ``NTXent(denominator="negatives")`` and no code beside it: ECIR's Eq. 4 as printed, which ECIR did not
    train with, and which others chose on purpose: without the factor :math:`1 - p_i` of NT-Xent's weights, every
    positive is pulled with :math:`1/\tau` for ever.

    One thing differs from the publication. There a query meets the other items twice, as two views of each picture,
    and both are negatives. Here the views are image and caption, and a query's negatives are those of the other kind.

    >>> scores, own = torch.rand(3, 3), torch.eye(3, dtype=torch.bool)
    >>> bool(DCL()(scores, own) == NTXent(denominator="negatives")(scores, own))
    True
    """

    denominator: Literal["negatives"] = "negatives"
    label: ClassVar[str] = "DCL"
    colour: ClassVar[str] = "#56b4e9"
    marker: ClassVar[str] = "<"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.denominator != "negatives":
            raise ValueError(f"DCL leaves the positive out of its denominator; got {self.denominator!r}: take NTXent")

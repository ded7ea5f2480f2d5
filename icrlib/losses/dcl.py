"""The decoupled contrastive loss, by the name it is known by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from icrlib.losses.ntxent import NTXent


@dataclass(frozen=True)
class DCL(NTXent):
    r"""Decoupled contrastive learning (Yeh et al. 2022): NT-Xent whose denominator leaves the positive out.

    .. math:: \ell_{q,i} = -s_i/\tau + \log \sum_{j \in N} e^{s_j/\tau}

    This is ``NTXent(denominator="negatives")`` and no code beside it: ECIR's Eq. 4 as printed, which ECIR did not
    train with, and which others chose on purpose. In NT-Xent all weights of a query shrink with
    :math:`1 - p_i`, so that a positive that is found slows down its negatives, too; without the positive in the
    denominator that factor is gone. Every positive is then pulled with :math:`1/\tau` for ever.

    One thing differs from the publication. There a query meets the other items twice, as two views of each picture,
    and both are negatives. Here the views are image and caption, and a query's negatives are those of the other kind.

    >>> import torch
    >>> scores, own = torch.rand(3, 3), torch.eye(3, dtype=torch.bool)
    >>> bool(DCL()(scores, own) == NTXent(denominator="negatives")(scores, own))
    True
    """

    denominator: Literal["all", "negatives"] = "negatives"
    label: ClassVar[str] = "DCL"
    colour: ClassVar[str] = "#56b4e9"
    marker: ClassVar[str] = "<"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.denominator != "negatives":
            raise ValueError(f"DCL leaves the positive out of its denominator; got {self.denominator!r}: take NTXent")

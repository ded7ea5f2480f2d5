"""What a score matrix and its mask of positives must be, for losses and metrics alike."""

from __future__ import annotations

import math

import torch
from torch import Tensor


class NonFiniteScores(ValueError):
    """The scores hold NaN or infinity, so no loss and no rank is defined."""


def check(scores: Tensor, positives: Tensor) -> Tensor:
    """Raise ``ValueError`` unless ``scores`` and ``positives`` are what every loss here needs.

    Returns how many positives each row has, (Q,) int32: everybody who checks needs that next.
    """
    if scores.ndim != 2 or positives.shape != scores.shape:
        raise ValueError(
            f"scores {tuple(scores.shape)} and positives {tuple(positives.shape)} must be one (Q, M) matrix each: "
            "a row a query, a column a candidate"
        )
    if positives.dtype != torch.bool:
        raise ValueError(f"positives must be a bool mask; got {positives.dtype}. Use mask.bool()")
    if not scores.is_floating_point():
        raise ValueError(f"scores must be floating point; got {scores.dtype}")
    count = positives.sum(1, dtype=torch.int32)  # three times as fast as the int64 that it would be
    for name, found, wrong in zip(("positive", "negative"), count.aminmax(), (0, positives.shape[1]), strict=True):
        if int(found) == wrong:
            raise ValueError(
                f"row {int((count == wrong).nonzero()[0])} of positives has no {name}; every query needs at least one "
                "positive and one negative candidate"
            )
    finite(scores)
    return count


def finite(scores: Tensor) -> Tensor:
    """The same ``scores``; :class:`NonFiniteScores` names the first entry that is NaN or infinite."""
    # A finite sum has finite terms: one quick look, and a search only where the sum is not (it may also overflow).
    if not math.isfinite(scores.detach().sum()) and not torch.isfinite(scores).all():
        row, column = (~torch.isfinite(scores)).nonzero()[0].tolist()
        raise NonFiniteScores(f"scores[{row}, {column}] is {scores[row, column].item()}; find the NaN before the loss")
    return scores

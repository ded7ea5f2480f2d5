r"""What the gradient itself says, for any loss with ``weights``: the ``"exact"`` convention of :mod:`icrlib.cocos`.

Everything here is first a number per query, then a summary per batch, so that the batches of a whole training set can
be counted in one go. It knows no particular loss.
"""

from __future__ import annotations

import torch
from torch import Tensor

from icrlib.losses.base import Loss

EPS = 0.01  # ECIR's threshold below which a weight counts as nothing


@torch.no_grad()
def per_query(loss: Loss, scores: Tensor, positives: Tensor, eps: float) -> dict[str, Tensor]:
    """The numbers behind :func:`summary` for K batches of equal shape (K, Q, M) at once, (K, Q) each."""
    mask = positives.flatten(0, 1)
    weights = loss.weights(scores.detach().flatten(0, 1), mask).abs()
    negatives = torch.where(mask, 0, weights).contiguous()
    numbers = {"count": above(weights, eps).sum(1, dtype=torch.float32), "n_eff": effective(negatives)}
    if getattr(loss, "softmax", False):
        numbers |= shares(weights, negatives, mask, eps)
    return {name: values.view(scores.shape[:2]) for name, values in numbers.items()}


def above(weights: Tensor, eps: float) -> Tensor:
    """1 where a weight is above ``eps``, else 0, in its own type: sums of a bool mask take three times as long."""
    return torch.gt(weights, eps, out=torch.empty_like(weights))


def effective(negatives: Tensor) -> Tensor:
    r""":math:`(\sum_N |w|)^2 / \sum_N w^2` of each row of ``negatives`` (Q, M), |w| of the negatives; 0 without any."""
    top = negatives.amax(1, keepdim=True)
    scaled = negatives / top  # by the largest: tiny weights would vanish when squared
    return torch.where(top[:, 0] > 0, scaled.sum(1) ** 2 / (scaled**2).sum(1), 0)


def shares(weights: Tensor, negatives: Tensor, positives: Tensor, eps: float) -> dict[str, Tensor]:
    """The negatives above ``eps``, their summed weight, and the positives' weight, (Q,) each."""
    counted = above(negatives, eps)
    return {
        "C_neg": counted.sum(1, dtype=torch.float32).double(),
        "W_neg": (negatives * counted).sum(1),
        "W_pos": (weights * positives).sum(1),
    }


def summary(numbers: dict[str, Tensor]) -> dict[str, Tensor]:
    """Each batch: ``C_q``, ``C_B``, ``C_0``, ``n_eff``, the mean of what else there is; (K,) float64, on the CPU."""
    numbers = {name: values.cpu() for name, values in numbers.items()}
    counts, several = numbers.pop("count").double(), numbers.pop("n_eff")
    return {
        "C_q": _mean_where_any(counts),
        "C_B": counts.sum(1),
        "C_0": (counts == 0).sum(1).double(),
        "n_eff": _mean_where_any(several),
    } | {name: values.mean(1).double() for name, values in numbers.items()}


def _mean_where_any(values: Tensor) -> Tensor:
    """Mean over the queries that have any, (K,); 0 where none has."""
    some, means = values != 0, values.mean(1).double()
    for k in (~some.all(1)).nonzero()[:, 0].tolist():
        means[k] = values[k][some[k]].mean() if some[k].any() else 0
    return means

r"""What ECIR defines, and what its released code counted: ``"definition"`` and ``"published"`` of :mod:`icrlib.cocos`.

The paper gives a formula for each of four losses, so these are functions of the loss's class; a loss of another class
is refused. Both conventions take K batches of equal shape at once, ``scores`` and ``positives`` (K, Q, M), rows of
each the queries, and return what :func:`icrlib.cocos.exact.summary` takes, (K, Q) each.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch

import torch
from torch import Tensor

from icrlib.cocos import exact
from icrlib.losses.base import Loss, Pairs, chunked, lay_out
from icrlib.losses.ntxent import NTXent
from icrlib.losses.smoothap import SmoothAP
from icrlib.losses.triplet import Triplet, TripletSH


@torch.no_grad()
def per_query(
    loss: Loss, scores: Tensor, positives: Tensor, eps: float, direction: str, published: bool
) -> dict[str, Tensor]:
    """The paper's count, or what the released counter did, which takes not every mask (``ValueError``); beside it the
    effective number of negatives of the true weights."""
    counts = _released if published else _defined
    scores, rows, mask = scores.detach(), scores.detach().flatten(0, 1), positives.flatten(0, 1)
    numbers = {"count": counts(loss, scores, positives, eps, direction)}
    negatives = loss.weights(rows, mask).abs().masked_fill(mask, 0)
    numbers["n_eff"] = exact.effective(negatives).view(len(scores), -1)
    if getattr(loss, "softmax", False):
        means = _mean_over_positives(loss, rows, mask, lambda pairs: _shares(loss, pairs, eps))
        numbers |= dict(zip(("C_neg", "W_neg", "W_pos"), means.view(*scores.shape[:2], 3).unbind(2), strict=True))
    return numbers


def _defined(loss: Loss, scores: Tensor, positives: Tensor, eps: float, direction: str) -> Tensor:
    means = _mean_over_positives(
        loss, scores.flatten(0, 1), positives.flatten(0, 1), lambda pairs: _contributing(loss, pairs, eps).sum(1)
    )
    return means.view(scores.shape[:2])


@singledispatch
def _contributing(loss: Loss, pairs: Pairs, eps: float) -> Tensor:
    """Which candidates of its row a (query, positive) pair counts, bool (T, M); the paper's formulas."""
    raise ValueError(
        f"ECIR defines no count for {type(loss).__name__}, only for Triplet, TripletSH, NTXent and SmoothAP; "
        "use convention='exact', which takes any loss with weights"
    )


@_contributing.register
def _(loss: Triplet, pairs: Pairs, eps: float) -> Tensor:
    return _inside_margin(loss, pairs)


@_contributing.register
def _(loss: TripletSH, pairs: Pairs, eps: float) -> Tensor:
    return _inside_margin(loss, pairs).any(1, keepdim=True)


@_contributing.register
def _(loss: NTXent, pairs: Pairs, eps: float) -> Tensor:
    return (_share(loss, pairs) > eps) & pairs.negatives


@_contributing.register
def _(loss: SmoothAP, pairs: Pairs, eps: float) -> Tensor:
    return _steepness(loss, pairs) / loss.tau > eps


def _inside_margin(loss: Triplet, pairs: Pairs) -> Tensor:
    return (pairs.rows + (loss.margin - pairs.own) > 0) & pairs.negatives


def _share(loss: NTXent, pairs: Pairs) -> Tensor:
    """Softmax over the positive and the negatives, as in Eq. 11, whatever the loss's own denominator is."""
    return (pairs.rows / loss.tau).masked_fill(pairs.others, -torch.inf).softmax(1)


def _shares(loss: NTXent, pairs: Pairs, eps: float) -> Tensor:
    """The negatives above ``eps``, their summed share, and one minus the positive's share, (T, 3)."""
    share = _share(loss, pairs)
    kept = share.masked_fill(~_contributing(loss, pairs, eps), 0)
    own = share.gather(1, pairs.positive[:, None])[:, 0]
    return torch.stack([(kept > 0).sum(1), kept.sum(1), 1 - own], 1)


def _steepness(loss: SmoothAP, pairs: Pairs) -> Tensor:
    """G(1-G)/R², (T, M): Eq. 13 without the 1/τ of G's derivative."""
    above = ((pairs.rows - pairs.own) / loss.tau).sigmoid().scatter(1, pairs.positive[:, None], 0.0)
    rank = 1 + above.sum(1, keepdim=True)
    return above * (1 - above) / rank**2


def _mean_over_positives(loss: Loss, scores: Tensor, positives: Tensor, value: Callable[[Pairs], Tensor]) -> Tensor:
    """Mean over each query's positives of ``value(pairs)``, (T,) or (T, K): (Q,) or (Q, K)."""
    parts, query = [], []
    for q, positive in chunked(scores, positives, loss.memory if scores.is_cuda else loss.cache):
        parts.append(value(lay_out(scores, positives, q, positive)).to(scores.dtype))
        query.append(q)
    values = torch.cat(parts)
    total = values.new_zeros(len(scores), *values.shape[1:]).index_add_(0, torch.cat(query), values)
    return total / positives.sum(1).view(-1, *[1] * (values.ndim - 1))


def _as_defined(loss: Loss, scores: Tensor, positives: Tensor, eps: float, direction: str) -> Tensor:
    counts = _defined(loss, scores, positives, eps, direction)  # first: it refuses a loss that has no formula
    _one_positive(loss, positives)
    return counts


# The released counts, (K, Q): for most losses those of the definition, for one positive a query.
_released = singledispatch(_as_defined)
_released.register(TripletSH, _as_defined)


@_released.register
def _(loss: Triplet, scores: Tensor, positives: Tensor, eps: float, direction: str) -> Tensor:
    if direction == "i2t":
        return _as_defined(loss, scores, positives, eps, direction)
    _one_positive(loss, positives)
    rows, mask = scores.flatten(0, 1), positives.flatten(0, 1)
    pairs = lay_out(rows, mask, *mask.nonzero(as_tuple=True))
    # The wrong axis, as released: a sum for each image, where the captions are the queries.
    return _contributing(loss, pairs, eps).view(scores.shape).sum(1)


@_released.register
def _(loss: SmoothAP, scores: Tensor, positives: Tensor, eps: float, direction: str) -> Tensor:
    batches, queries, candidates = scores.shape
    images = queries if direction == "i2t" else candidates
    each = max(1, queries * candidates // images**2)  # captions of an image; the release has 5 in the code
    block = torch.eye(images, dtype=torch.bool, device=scores.device).repeat_interleave(each, dim=1)
    block = block if direction == "i2t" else block.T
    if block.shape != scores.shape[1:] or not (positives == block).all():
        raise ValueError(
            "the released counter of SmoothAP takes equally many captions an image, image by image; "
            "use another convention"
        )
    # Both directions read rows kq … kq+k-1 of query q, which are its positives only if q is an image.
    row = torch.arange(candidates, device=scores.device).repeat(batches)
    first = torch.arange(0, batches * queries, queries, device=scores.device)
    query = row // each + first.repeat_interleave(candidates)
    pairs = lay_out(scores.flatten(0, 1), positives.flatten(0, 1), query, row)
    number = (_steepness(loss, pairs) > eps).sum(1).to(scores.dtype)
    counts = number.new_zeros(batches * queries).index_add_(0, query, number).view(batches, queries)
    return counts / (each if direction == "i2t" else 1)


def _one_positive(loss: Loss, positives: Tensor) -> None:
    if (positives.sum(-1) != 1).any():
        raise ValueError(
            f"the released counter of {type(loss).__name__} knows one positive a query; use (image, caption) "
            "pairs, or another convention"
        )

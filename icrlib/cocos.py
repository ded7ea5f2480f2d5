r"""COCOS, counting contributing samples (ECIR section 4): how many candidates shape the gradient of a query.

One direction: rows of ``scores`` (Q, M) are the queries, ``positives`` (Q, M) bool marks the relevant candidates.
Three conventions, because what the paper defines, what its released code counted and what the gradient does differ:

``"definition"``
    The paper's own formulas. Triplet: the negatives inside the margin, :math:`s^+ - s^- < \alpha` (below Eq. 10).
    Triplet-SH: 1 if the hardest negative is inside it (Eq. 10). NT-Xent: the negatives whose softmax share
    :math:`p_j` exceeds :math:`\epsilon` (below Eq. 11). SmoothAP: Eq. 13, the (positive i, candidate j) pairs with
    :math:`G_{ij}(1-G_{ij}) / (\tau R_i^2) > \epsilon`, divided by :math:`|P|`, with :math:`D_{ij} = s_j - s_i` (the
    printed sign counts who is *below* i) and the :math:`1/\tau` that the derivative of Eq. 7 has. Several
    positives: the mean over them, as in the losses.
``"published"``
    What the released counter did, so that the paper's tables can be computed again. Four things differ.
    (1) Triplet, text to image: the matrix of active triplets is summed over the wrong axis, so ``C_q`` and ``C_0`` are
    per *image* (for how many captions is it a violating negative?). (2) SmoothAP, text to image: caption query q is
    read at rows kq … kq+k-1 of its (M, M) matrix, the rows of an image query. All but the first M/k queries find
    no row there and count as "no gradient" whatever the model; the few others look mostly at negatives. (3) SmoothAP:
    no :math:`1/\tau`. (4) NT-Xent's tables print ``C_neg``, a mean over all queries; the others ``C_q``, a mean
    over the queries that have a gradient. Inputs that the released code could not take are refused. It writes NaN
    where no query has a gradient, this module 0.
``"exact"``
    Entries of the loss's closed-form weights :math:`\partial\ell_q/\partial s_{qj}` above :math:`\epsilon` in absolute
    value, the positive's own included. For any loss with ``weights``, and the only one to compare losses with.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from icrlib.errors import choose
from icrlib.losses.base import Loss, Pairs, lay_out
from icrlib.losses.ntxent import NTXent
from icrlib.losses.smoothap import SmoothAP
from icrlib.losses.triplet import Triplet, TripletSH
from icrlib.scores import check

CONVENTIONS = ("definition", "published", "exact")


@torch.no_grad()
def count(
    loss: Loss,
    scores: Tensor,
    positives: Tensor,
    *,
    convention: str,
    eps: float = 0.01,
    direction: str = "i2t",
) -> dict[str, float]:
    r"""Count one direction: rows of ``scores`` are the queries. The module's text explains the conventions.

    Returns ``C_q``, the mean count over the queries with a gradient (0 if none has); ``C_B``, the sum over the
    batch; ``C_0``, the number of queries without a gradient; ``n_eff``, the effective number of negatives
    :math:`(\sum_N |w|)^2 / \sum_N w^2` of the true weights, a mean over the queries where one of them is not 0. NT-Xent
    adds means over *all* queries: ``C_neg``, the negatives above ``eps``, ``W_neg``, their summed share, and
    ``W_pos``, one minus the positive's share (``"exact"``: their weights, so both divided by :math:`\tau`).

    ``direction``, ``"i2t"`` or ``"t2i"``, says which of the two these rows are; only ``"published"`` needs it.
    ``ValueError`` for an unknown convention or direction, for a loss that ECIR does not define a count for
    (except ``"exact"``), and for masks that the released counter could not take (``"published"``).
    """
    choose(convention, CONVENTIONS, "convention")
    choose(direction, ("i2t", "t2i"), "direction")
    check(scores, positives)
    if not eps >= 0:
        raise ValueError(f"eps must be zero or more; got {eps!r}")
    scores = scores.detach()
    weights = loss.weights(scores, positives).abs()
    if convention == "exact":
        counts, extra = (weights > eps).sum(1), {}
        if isinstance(loss, NTXent):
            extra = _shares(weights.masked_fill(positives, 0), (weights * positives).sum(1), eps)
    else:
        if not isinstance(loss, (Triplet, NTXent, SmoothAP)):
            raise ValueError(
                f"ECIR defines no count for {type(loss).__name__}, only for Triplet, TripletSH, NTXent and SmoothAP; "
                "use convention='exact', which takes any loss with weights"
            )
        counts = (
            _published(loss, scores, positives, eps, direction)
            if convention == "published"
            else _definition(loss, scores, positives, eps)
        )
        extra = _ntxent(loss, scores, positives, eps) if isinstance(loss, NTXent) else {}
    return _summary(counts, weights.masked_fill(positives, 0)) | extra


def count_both(
    loss: Loss, scores: Tensor, positives: Tensor, *, convention: str = "exact", eps: float = 0.01
) -> dict[str, dict[str, float]]:
    """:func:`count` of images as queries (rows of ``scores``) and of captions as queries (columns)."""
    return {
        "i2t": count(loss, scores, positives, convention=convention, eps=eps, direction="i2t"),
        "t2i": count(loss, scores.T, positives.T, convention=convention, eps=eps, direction="t2i"),
    }


def _summary(counts: Tensor, weights: Tensor) -> dict[str, float]:
    counts = counts.cpu().double()
    some = counts > 0
    top = weights.amax(1, keepdim=True)
    scaled = (weights / top)[top[:, 0] > 0]  # by the largest: tiny weights would vanish when squared
    effective = scaled.sum(1) ** 2 / (scaled**2).sum(1)
    return {
        "C_q": float(counts[some].mean()) if some.any() else 0.0,
        "C_B": float(counts.sum()),
        "C_0": float((~some).sum()),
        "n_eff": float(effective.mean()) if len(effective) else 0.0,
    }


def _contributing(loss: Loss, pairs: Pairs, eps: float) -> Tensor:
    """Which candidates of its row a (query, positive) pair counts, bool (T, M); the paper's formulas."""
    if isinstance(loss, NTXent):
        return (_share(loss, pairs) > eps) & pairs.negatives
    if isinstance(loss, SmoothAP):
        return _steepness(loss, pairs) / loss.tau > eps
    active = (pairs.rows + (loss.margin - pairs.own) > 0) & pairs.negatives
    return active.any(1, keepdim=True) if isinstance(loss, TripletSH) else active


def _share(loss: NTXent, pairs: Pairs) -> Tensor:
    """Softmax over the positive and the negatives, as in Eq. 11, whatever the loss's own denominator is."""
    return (pairs.rows / loss.tau).masked_fill(pairs.others, -torch.inf).softmax(1)


def _steepness(loss: SmoothAP, pairs: Pairs) -> Tensor:
    """G(1-G)/R², (T, M): Eq. 13 without the 1/τ of G's derivative."""
    above, rank, _ = loss._ranks(pairs)
    return above * (1 - above) / rank**2


def _definition(loss: Loss, scores: Tensor, positives: Tensor, eps: float) -> Tensor:
    return _mean_over_positives(loss, scores, positives, lambda pairs: _contributing(loss, pairs, eps).sum(1))


def _mean_over_positives(
    loss: Loss, scores: Tensor, positives: Tensor, value: Callable[[Pairs], Tensor]
) -> Tensor:
    """Mean over each query's positives of ``value(pairs)``, (T,) or (T, K): (Q,) or (Q, K)."""
    parts, query = [], []
    for q, positive in loss._chunks(positives, scores.element_size()):
        parts.append(value(lay_out(scores, positives, q, positive)).to(scores.dtype))
        query.append(q)
    values = torch.cat(parts)
    total = values.new_zeros(len(scores), *values.shape[1:]).index_add_(0, torch.cat(query), values)
    return total / positives.sum(1).view(-1, *[1] * (values.ndim - 1))


def _ntxent(loss: NTXent, scores: Tensor, positives: Tensor, eps: float) -> dict[str, float]:
    def three(pairs: Pairs) -> Tensor:
        share = _share(loss, pairs)
        kept = share.masked_fill(~_contributing(loss, pairs, eps), 0)
        own = share.gather(1, pairs.positive[:, None])[:, 0]
        return torch.stack([(kept > 0).sum(1), kept.sum(1), 1 - own], 1)

    means = _mean_over_positives(loss, scores, positives, three).mean(0).tolist()
    return dict(zip(("C_neg", "W_neg", "W_pos"), means, strict=True))


def _shares(negatives: Tensor, own: Tensor, eps: float) -> dict[str, float]:
    above = negatives > eps
    return {
        "C_neg": float(above.sum(1).double().mean()),
        "W_neg": float((negatives * above).sum(1).mean()),
        "W_pos": float(own.mean()),
    }


def _published(loss: Loss, scores: Tensor, positives: Tensor, eps: float, direction: str) -> Tensor:
    if isinstance(loss, SmoothAP):
        return _published_smoothap(loss, scores, positives, eps, direction)
    if (positives.sum(1) != 1).any():
        raise ValueError(
            f"the released counter of {type(loss).__name__} knows one positive a query; use (image, caption) "
            "pairs, or another convention"
        )
    if type(loss) is Triplet and direction == "t2i":
        pairs = lay_out(scores, positives, *positives.nonzero(as_tuple=True))
        # The wrong axis, as released: a sum for each image, where the captions are the queries.
        return _contributing(loss, pairs, eps).sum(0)
    return _definition(loss, scores, positives, eps)


def _published_smoothap(
    loss: SmoothAP, scores: Tensor, positives: Tensor, eps: float, direction: str
) -> Tensor:
    queries, candidates = scores.shape
    images = queries if direction == "i2t" else candidates
    each = max(1, scores.numel() // images**2)  # captions of an image; the release has 5 in the code
    block = torch.eye(images, dtype=torch.bool, device=scores.device).repeat_interleave(each, dim=1)
    if not torch.equal(positives, block if direction == "i2t" else block.T):
        raise ValueError(
            "the released counter of SmoothAP takes equally many captions an image, image by image; "
            "use another convention"
        )
    # Both directions read rows kq … kq+k-1 of query q, which are its positives only if q is an image.
    row = torch.arange(candidates, device=scores.device)
    number = (_steepness(loss, lay_out(scores, positives, row // each, row)) > eps).sum(1).to(scores.dtype)
    counts = number.new_zeros(queries).index_add_(0, row // each, number)
    return counts / (each if direction == "i2t" else 1)

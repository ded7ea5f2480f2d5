"""Counts of one score matrix, in any of the three conventions of :mod:`icrlib.cocos`."""

from __future__ import annotations

from torch import Tensor

from icrlib.cocos import ecir, exact
from icrlib.errors import choose
from icrlib.losses.base import Loss, columns_as_queries
from icrlib.score_checks import check

CONVENTIONS = ("definition", "published", "exact")


def count(
    loss: Loss, scores: Tensor, positives: Tensor, *, convention: str, eps: float = exact.EPS, direction: str = "i2t"
) -> dict[str, float]:
    r"""Count one direction: rows of ``scores`` are the queries. The package's text explains the conventions.

    Returns ``C_q``, the mean count over the queries with a gradient (0 if none has); ``C_B``, the sum over the
    batch; ``C_0``, the number of queries without a gradient; ``n_eff``, the effective number of negatives
    :math:`(\sum_N |w|)^2 / \sum_N w^2` of the true weights, a mean over the queries where one of them is not 0. A
    softmax (a loss with the class attribute ``softmax``, here NT-Xent) adds means over *all* queries: ``C_neg``, the
    negatives above ``eps``, ``W_neg``, their summed share, and ``W_pos``, one minus the positive's share
    (``"exact"``: their weights, so both divided by :math:`\tau`).

    ``direction``, ``"i2t"`` or ``"t2i"``, says which of the two these rows are; only ``"published"`` needs it.
    ``ValueError`` for an unknown convention or direction, for a loss that ECIR does not define a count for
    (except ``"exact"``), and for masks that the released counter could not take (``"published"``).
    """
    choose(direction, ("i2t", "t2i"), "direction")
    check(scores, positives)
    found = exact.summary(per_query(loss, scores[None], positives[None], convention, eps, direction))
    return {name: float(values) for name, values in found.items()}


def count_both(
    loss: Loss, scores: Tensor, positives: Tensor, *, convention: str = "exact", eps: float = exact.EPS
) -> dict[str, dict[str, float]]:
    """:func:`count` of images as queries (rows of ``scores``) and of captions as queries (columns with a positive)."""
    turned, mask, _ = columns_as_queries(scores, positives)
    return {
        "i2t": count(loss, scores, positives, convention=convention, eps=eps, direction="i2t"),
        "t2i": count(loss, turned, mask, convention=convention, eps=eps, direction="t2i"),
    }


def per_query(
    loss: Loss, scores: Tensor, positives: Tensor, convention: str, eps: float, direction: str
) -> dict[str, Tensor]:
    """What :func:`icrlib.cocos.exact.summary` takes, for K batches of equal shape (K, Q, M) at once: (K, Q) each."""
    choose(convention, CONVENTIONS, "convention")
    if not eps >= 0:
        raise ValueError(f"eps must be zero or more; got {eps!r}")
    if convention == "exact":
        return exact.per_query(loss, scores, positives, eps)
    return ecir.per_query(loss, scores, positives, eps, direction, published=convention == "published")

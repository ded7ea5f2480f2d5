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
    where no query has a gradient, this package 0.
``"exact"``
    Entries of the loss's closed-form weights :math:`\partial\ell_q/\partial s_{qj}` above :math:`\epsilon` in absolute
    value, the positive's own included. For any loss with ``weights``, and the only one to compare losses with.

:func:`count` and :func:`count_both` take one score matrix; :func:`over` and :func:`per_batch` take the encodings of a
whole training set in its batches, which is how the paper's tables were made.
"""

from icrlib.cocos.count import CONVENTIONS, count, count_both
from icrlib.cocos.over_training_set import over, per_batch

__all__ = ["CONVENTIONS", "count", "count_both", "over", "per_batch"]

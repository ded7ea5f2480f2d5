"""Triplet and Triplet-SH: golden numbers, ties, hinges, and pytorch-metric-learning."""

from __future__ import annotations

import pytest
import torch
from pytorch_metric_learning import losses as pml
from pytorch_metric_learning import reducers
from pytorch_metric_learning.distances import BaseDistance

from icrlib.losses import Triplet, TripletSH

from . import slow
from .slow import GM, OWN3, OWN8, OWN_GM, S3, S8


def matrix(rows):
    return torch.tensor(rows, dtype=torch.float64)


@pytest.mark.parametrize(
    ("loss", "value", "parts", "gradient"),
    [
        (Triplet(), 1.29, (0.62, 0.67), [[-1, 2, 0], [0, -3, 2], [0, 2, -2]]),
        (TripletSH(), 1.19, (0.62, 0.57), [[-1, 1, 0], [0, -2, 2], [0, 2, -2]]),
    ],
    ids=["triplet", "triplet_sh"],
)
def test_golden_numbers(loss, value, parts, gradient):
    assert float(loss(S3, OWN3)) == pytest.approx(value, abs=1e-10)
    assert float(loss.per_query(S3, OWN3).sum()) == pytest.approx(parts[0], abs=1e-10)
    assert float(loss.per_query(S3.T, OWN3).sum()) == pytest.approx(parts[1], abs=1e-10)
    torch.testing.assert_close(loss.score_gradient(S3, OWN3), matrix(gradient), atol=1e-12, rtol=0)
    torch.testing.assert_close(slow.gradient(loss, S3, OWN3), matrix(gradient), atol=1e-12, rtol=0)


@pytest.mark.parametrize(("loss", "value"), [(Triplet(), 8.4410749054), (TripletSH(), 2.7776028714)])
def test_golden_numbers_of_the_larger_matrix(loss, value):
    assert float(loss(S8, OWN8)) == pytest.approx(value, abs=1e-9)


def test_ties_go_to_the_first_index():
    scores = matrix([[0.5, 0.4, 0.1, 0.4], [0.4, 0.3, 0.4, 0.4]])
    mask = torch.tensor([[1, 0, 0, 0], [0, 1, 0, 0]]).bool()
    expected = matrix([[-1, 1, 0, 0], [1, -1, 0, 0]])
    assert torch.equal(TripletSH().weights(scores, mask), expected)
    assert torch.equal(slow.jacobian(TripletSH(), scores, mask), expected)
    collapsed = torch.zeros(4, 4, dtype=torch.float64)
    assert torch.equal(slow.jacobian(TripletSH(), collapsed, torch.eye(4).bool())[2], matrix([1, 0, -1, 0]))


@pytest.mark.parametrize("loss", [Triplet(margin=0.25), TripletSH(margin=0.25)], ids=repr)
def test_a_triplet_on_the_hinge_is_not_active(loss):
    """0.5 - 0.25 is exact in binary, so this sits on the hinge; the strict inequality of ECIR Eq. 9 leaves it out."""
    scores, mask = matrix([[0.5, 0.25], [0.25, 0.5]]), torch.eye(2).bool()
    assert float(loss(scores, mask)) == 0
    assert not loss.weights(scores, mask).any() and not slow.gradient(loss, scores, mask).any()


class Given(BaseDistance):
    """A pytorch-metric-learning distance that answers with a matrix of scores we chose."""

    def __init__(self, scores):
        super().__init__(is_inverted=True, normalize_embeddings=False)
        self.scores = scores

    def compute_mat(self, query_emb, ref_emb):
        return self.scores.clone()  # some losses write into it


def both_labels(scores, mask):
    """PML knows labels, not masks: query labels, and each candidate's label, for a mask of one query a candidate."""
    return torch.arange(len(scores)), mask.long().argmax(0)


def pml_triplet(scores, mask, margin=0.2, reducer=None):
    """Triplet loss of pytorch-metric-learning over all (query, positive, negative) triplets of one direction."""
    queries, candidates = both_labels(scores, mask)
    loss = pml.TripletMarginLoss(margin=margin, distance=Given(scores), reducer=reducer or reducers.SumReducer())
    # The embeddings only carry the shapes: the distance answers from the matrix.
    return loss(torch.zeros(len(queries), 1), queries, ref_emb=torch.zeros(len(candidates), 1), ref_labels=candidates)


def test_equals_pytorch_metric_learning():
    """With one positive a query both sum the same triplets; PML looks at one direction."""
    torch.testing.assert_close(Triplet().per_query(S8, OWN8).sum(), pml_triplet(S8, OWN8))
    torch.testing.assert_close(Triplet().per_query(S3, OWN3).sum(), pml_triplet(S3, OWN3))
    # With k positives PML sums what we average.
    torch.testing.assert_close(5 * Triplet().per_query(GM, OWN_GM).sum(), pml_triplet(GM, OWN_GM))

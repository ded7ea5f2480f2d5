"""The sparse NT-Xent: its projection, who gets a weight, and the losses between which it stands."""

from __future__ import annotations

import torch
from hypothesis import given, settings

from icrlib.losses import SparseNTXent, TripletSH
from icrlib.losses.sparse import sparsemax

from . import slow
from .slow import OWN8, S8


@given(scores=slow.st.lists(slow.st.floats(-5, 5), min_size=1, max_size=12))
@settings(max_examples=200)
def test_the_projection_equals_the_slow_twin(scores):
    result = sparsemax(torch.tensor([scores], dtype=torch.float64))
    torch.testing.assert_close(result, torch.tensor([slow.projected(scores)], dtype=torch.float64), atol=1e-12, rtol=0)


def test_large_and_left_out_logits():
    logits = torch.tensor([[1e8, 1e8 - 8, -torch.inf], [-1e8, -torch.inf, -1e8]])
    torch.testing.assert_close(sparsemax(logits), torch.tensor([[1.0, 0, 0], [0.5, 0, 0.5]]))


def test_a_query_is_done_once_it_leads_by_tau():
    scores = torch.tensor([[0.5, 0.31, -0.2], [0.29, 0.5, 0.1], [0.4, 0.5, 0.5]], dtype=torch.float64)
    loss, own = SparseNTXent(tau=0.2), torch.eye(3, dtype=torch.bool)
    values, weights = loss.per_query(scores, own), loss.weights(scores, own)
    assert values[1] == 0 and not weights[1].any(), "leads by 0.21"
    assert values[0] > 0 and weights[0, 1] > 0 == weights[0, 2], "leads by 0.19"
    gone = TripletSH(margin=0.2).weights(scores, own).any(1)
    assert torch.equal(gone, weights.any(1)), "done where Triplet-SH is"


def test_with_one_negative_it_is_a_rounded_hinge():
    lead = torch.linspace(-3, 3, 601, dtype=torch.float64)
    scores = 0.1 * torch.stack([lead, torch.zeros_like(lead)], 1)
    result = SparseNTXent(tau=0.1).per_query(scores, torch.tensor([[True, False]]).expand(601, 2))
    expected = torch.where(lead < -1, -lead, torch.relu(1 - lead) ** 2 / 4)
    torch.testing.assert_close(result, expected, atol=1e-12, rtol=0)


def test_its_limits():
    """τ towards 0: the hardest negative alone, without a margin; large τ: all negatives alike."""
    hard = TripletSH(margin=0.0)
    torch.testing.assert_close(
        1e-6 * SparseNTXent(tau=1e-6).per_query(S8, OWN8), hard.per_query(S8, OWN8), atol=1e-6, rtol=0
    )
    torch.testing.assert_close(1e-6 * SparseNTXent(tau=1e-6).weights(S8, OWN8), hard.weights(S8, OWN8))
    flat = 1e6 * SparseNTXent(tau=1e6).weights(S8, OWN8)
    torch.testing.assert_close(flat, 1 / 8 - OWN8.double(), atol=1e-5, rtol=0)


def test_the_slope_where_one_stands_at_the_threshold():
    """The positive stands at θ: dropped there, it lay above a θ of another rounding, and autograd moved its weight."""
    scores = torch.tensor([[-0.3, -0.299, -0.099, -0.299, -0.299]], dtype=torch.float64)
    mask = torch.tensor([[True, False, False, False, False]])
    loss = SparseNTXent(tau=0.2)
    torch.testing.assert_close(loss.weights(scores, mask), slow.jacobian(loss, scores, mask), atol=1e-10, rtol=0)

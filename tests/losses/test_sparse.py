"""The sparse NT-Xent: its projection, who gets a weight, and the losses between which it stands."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings

from icrlib import cocos
from icrlib.losses import HardNTXent, NTXent, SparseNTXent, TripletSH
from icrlib.losses.sparse import sparsemax

from . import slow
from .slow import GM, OWN8, OWN_GM, S8


@given(scores=slow.st.lists(slow.st.floats(-5, 5), min_size=1, max_size=12))
@settings(max_examples=200)
def test_the_projection_equals_the_slow_twin(scores):
    found = sparsemax(torch.tensor([scores], dtype=torch.float64))
    torch.testing.assert_close(found, torch.tensor([slow.projected(scores)], dtype=torch.float64), atol=1e-12, rtol=0)


def test_no_point_of_the_simplex_is_nearer():
    """The definition itself: random points of the simplex, and all of its corners."""
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(50, 5, generator=generator, dtype=torch.float64)
    nearest = sparsemax(logits)
    assert (nearest >= 0).all()
    torch.testing.assert_close(nearest.sum(1), torch.ones(50, dtype=torch.float64))
    best = (nearest - logits).square().sum(1)
    others = [torch.rand(50, 5, generator=generator).double().log().neg() for _ in range(200)]
    others = [*(p / p.sum(1, keepdim=True) for p in others), *torch.eye(5).double()[:, None].expand(5, 50, 5)]
    assert all((best <= (p - logits).square().sum(1) + 1e-12).all() for p in others)


def test_the_value_is_the_maximum_that_defines_it():
    """Random bids never get more than the weights do, and the weights get the value."""
    scores, loss = S8, SparseNTXent(tau=0.3)
    values, weights = loss.per_query(scores, OWN8), loss.weights(scores, OWN8)
    offers = 1 + (scores - scores.diagonal()[:, None]) / 0.3

    def worth(p):
        return (p * offers).sum(1) - p.sum(1) ** 2 / 2 - (p**2).sum(1) / 2

    torch.testing.assert_close(worth(0.3 * weights.masked_fill(OWN8, 0)), values)
    generator = torch.Generator().manual_seed(1)
    for _ in range(300):
        p = torch.rand(8, 8, generator=generator, dtype=torch.float64).pow(4).masked_fill(OWN8, 0)
        assert (worth(p / p.sum(1, keepdim=True).clamp_min(1)) <= values + 1e-12).all()


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
    found = SparseNTXent(tau=0.1).per_query(scores, torch.tensor([[True, False]]).expand(601, 2))
    expected = torch.where(lead < -1, -lead, torch.relu(1 - lead) ** 2 / 4)
    torch.testing.assert_close(found, expected, atol=1e-12, rtol=0)


def test_weights_fall_with_the_score_and_end_at_zero():
    row = torch.linspace(0.6, 0.0, 13, dtype=torch.float64)[None]
    weights = SparseNTXent(tau=0.2).weights(row, torch.arange(13)[None] == 2)[0]
    pushed = torch.cat([weights[:2], weights[3:]])
    used = int((pushed > 0).sum())
    assert 1 < used < 12 and (pushed[:used].diff() < 0).all() and not pushed[used:].any()
    assert float(pushed.sum()) == pytest.approx(-float(weights[2])) and float(pushed.sum()) <= 5 + 1e-12


def test_at_a_collapse_it_is_ntxent_and_later_it_counts_far_fewer():
    equal = torch.zeros(8, 8, dtype=torch.float64)
    torch.testing.assert_close(SparseNTXent(tau=0.2).weights(equal, OWN8), NTXent(tau=0.2).weights(equal, OWN8))
    counts = {
        type(loss).__name__: cocos.count(loss, GM, OWN_GM, convention="exact")
        for loss in (SparseNTXent(tau=0.2), NTXent(tau=0.2), HardNTXent(tau=0.2))
    }
    few, many, one = (counts[name]["n_eff"] for name in ("SparseNTXent", "NTXent", "HardNTXent"))
    assert one == pytest.approx(1) and one < few < many / 2


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

"""What single losses do at ties, hinges and in their limits, where a collapse sits, and what they share with GOAL."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings

from icrlib import agreement
from icrlib.losses import DCL, IFM, LOSSES, Circle, NTXent, SigLIP, SmoothAP, SparseNTXent, Triplet, TripletSH, by_name
from icrlib.losses.sparse import sparsemax

from . import slow
from .slow import GM, OWN3, OWN8, OWN24, OWN_GM, S3, S8, matrix


def test_ties_go_to_the_first_index():
    scores = matrix([[0.5, 0.4, 0.1, 0.4], [0.4, 0.3, 0.4, 0.4]])
    mask = torch.tensor([[1, 0, 0, 0], [0, 1, 0, 0]]).bool()
    expected = matrix([[-1, 1, 0, 0], [1, -1, 0, 0]])
    assert torch.equal(TripletSH().weights(scores, mask), expected)
    assert torch.equal(slow.jacobian(TripletSH(), scores, mask), expected)
    collapsed = torch.zeros(4, 4, dtype=torch.float64)
    assert torch.equal(slow.jacobian(TripletSH(), collapsed, torch.eye(4).bool())[2], matrix([1, 0, -1, 0]))


@pytest.mark.parametrize("name", ["triplet", "triplet_sh", "goal:con x lin"])
def test_a_triplet_on_the_hinge_is_not_active(name):
    """0.5 - 0.25 is exact in binary, so this sits on the hinge; the strict inequality of ECIR Eq. 9 leaves it out."""
    loss, scores, mask = by_name(name, margin=0.25), matrix([[0.5, 0.25], [0.25, 0.5]]), torch.eye(2).bool()
    assert float(loss(scores, mask)) == 0
    assert not loss.weights(scores, mask).any() and not slow.gradient(loss, scores, mask).any()
    assert by_name(name, margin=0.25 + 2**-40).weights(scores, mask).all()


def test_the_printed_denominator_has_no_lower_bound():
    """ECIR Eq. 4 pulls every positive with the full 1/τ for ever; Eq. 11 and the code let go."""
    apart = matrix([[5.0, -5.0], [-5.0, 5.0]])
    assert float(NTXent(denominator="negatives")(apart, torch.eye(2).bool())) == pytest.approx(-100)
    assert float(NTXent()(apart, torch.eye(2).bool())) == pytest.approx(0, abs=1e-12)
    weights = NTXent(denominator="negatives").weights(S3, OWN3).diagonal()
    torch.testing.assert_close(weights, torch.full((3,), -10.0, dtype=torch.float64))


def test_smoothap_tends_to_average_precision():
    generator = torch.Generator().manual_seed(0)
    scores = torch.stack([torch.randperm(12, generator=generator) for _ in range(6)]).double() / 10
    mask = torch.rand(6, 12, generator=generator) < 0.4
    mask[:, 0], mask[:, 1] = True, False
    for row, own, loss in zip(scores, mask, SmoothAP(tau=1e-3).per_query(scores, mask), strict=True):
        ranked = own[row.argsort(descending=True)].tolist()
        precisions = [sum(ranked[: r + 1]) / (r + 1) for r in range(12) if ranked[r]]
        assert float(loss) == pytest.approx(1 - sum(precisions) / len(precisions), abs=1e-9)


@pytest.mark.parametrize("lead", [5, 15, 17, 40])
def test_a_negative_far_ahead_keeps_its_weight_in_single_precision(lead):
    """1 − σ(x) is 17 % off at x = 15 and 0 from x = 17 on; such a negative is the one that matters."""
    scores, own = matrix([[0.0, 0.01 * lead]]), torch.tensor([[True, False]])
    single, exact = (float(SmoothAP(tau=0.01).weights(s, own)[0, 1]) for s in (scores.float(), scores))
    assert exact > 0 and single == pytest.approx(exact, rel=1e-4)


@pytest.mark.parametrize(
    ("scores", "mask"), [(S3, OWN3), (GM + 1e-3 * torch.arange(40).double(), OWN_GM)], ids=["3 x 3", "8 x 40"]
)
def test_ifm_tends_to_the_triplet_losses_with_margins_of_two_eps_and_of_none(scores, mask):
    tau, hard, clear = 1e-6, TripletSH(margin=0.2), TripletSH(margin=0.0)
    both = (hard.per_query(scores, mask) + clear.per_query(scores, mask)) / 2
    torch.testing.assert_close(tau * IFM(tau, 0.1).per_query(scores, mask), both, rtol=0, atol=1e-4)
    weights = (hard.weights(scores, mask) + clear.weights(scores, mask)) / 2
    torch.testing.assert_close(tau * IFM(tau, 0.1).weights(scores, mask), weights, rtol=0, atol=1e-6)


@given(scores=slow.st.lists(slow.st.floats(-5, 5), min_size=1, max_size=12))
@settings(max_examples=200)
def test_the_projection_equals_the_slow_twin(scores):
    torch.testing.assert_close(sparsemax(matrix([scores])), matrix([slow.projected(scores)]), atol=1e-12, rtol=0)


def test_the_projection_of_large_and_left_out_logits():
    logits = torch.tensor([[1e8, 1e8 - 8, -torch.inf], [-1e8, -torch.inf, -1e8]])
    torch.testing.assert_close(sparsemax(logits), torch.tensor([[1.0, 0, 0], [0.5, 0, 0.5]]))


def test_the_sparse_loss_is_done_with_a_query_that_leads_by_tau():
    scores, loss = matrix([[0.5, 0.31, -0.2], [0.29, 0.5, 0.1], [0.4, 0.5, 0.5]]), SparseNTXent(tau=0.2)
    values, weights = loss.per_query(scores, OWN3), loss.weights(scores, OWN3)
    assert values[1] == 0 and not weights[1].any(), "leads by 0.21"
    assert values[0] > 0 and weights[0, 1] > 0 == weights[0, 2], "leads by 0.19"
    gone = TripletSH(margin=0.2).weights(scores, OWN3).any(1)
    assert torch.equal(gone, weights.any(1)), "done where Triplet-SH is"


def test_the_sparse_loss_of_one_negative_is_a_rounded_hinge():
    lead = torch.linspace(-3, 3, 601, dtype=torch.float64)
    scores = 0.1 * torch.stack([lead, torch.zeros_like(lead)], 1)
    result = SparseNTXent(tau=0.1).per_query(scores, torch.tensor([[True, False]]).expand(601, 2))
    expected = torch.where(lead < -1, -lead, torch.relu(1 - lead) ** 2 / 4)
    torch.testing.assert_close(result, expected, atol=1e-12, rtol=0)


def test_the_limits_of_the_sparse_loss():
    """τ towards 0: the hardest negative alone, without a margin; large τ: all negatives alike."""
    sharp, hard = SparseNTXent(tau=1e-6), TripletSH(margin=0.0)
    torch.testing.assert_close(1e-6 * sharp.per_query(S8, OWN8), hard.per_query(S8, OWN8), atol=1e-6, rtol=0)
    torch.testing.assert_close(1e-6 * sharp.weights(S8, OWN8), hard.weights(S8, OWN8))
    flat = 1e6 * SparseNTXent(tau=1e6).weights(S8, OWN8)
    torch.testing.assert_close(flat, 1 / 8 - OWN8.double(), atol=1e-5, rtol=0)


def test_the_sparse_slope_where_one_stands_at_the_threshold():
    """The positive stands at θ: dropped there, it lay above a θ of another rounding, and autograd moved its weight."""
    scores, mask = matrix([[-0.3, -0.299, -0.099, -0.299, -0.299]]), torch.tensor([[True, *[False] * 4]])
    loss = SparseNTXent(tau=0.2)
    torch.testing.assert_close(loss.weights(scores, mask), slow.jacobian(loss, scores, mask), atol=1e-10, rtol=0)


def test_multi_similarity_without_a_negative_near_enough():
    """The miner keeps nothing of such a row: no loss, no weight, and no NaN on the way through autograd."""
    scores = torch.tensor([[0.9, 0.1, 0.2], [0.3, 0.35, 0.4], [0.1, 0.2, 0.3]], requires_grad=True)
    loss = by_name("multi_similarity")
    values = loss.per_query(scores, OWN3)
    (gradient,) = torch.autograd.grad(values.sum(), scores)
    assert values[0] == 0 and not gradient[0].any() and gradient[1].any()
    torch.testing.assert_close(gradient, loss.weights(scores, OWN3))


def test_a_detached_pace_is_not_the_derivative_of_the_value():
    """As published, the circle loss's gradient is not that of the number it returns."""
    loss = Circle(margin=0.25, gamma=6.0)
    result = agreement.agreement(loss.weights(S8, OWN8), lambda s: loss.per_query(s, OWN8), S8)
    assert result["autograd"] < 1e-12 and result["differences"] > 0.1


@pytest.mark.parametrize(
    ("loss", "name", "factor"), [(TripletSH(), "con", 1), (by_name("ntxent_hard", tau=0.1), "nca", 10)]
)
def test_a_constant_pair_weight_is_the_hardest_negative_of_a_loss(loss, name, factor):
    for scores, mask in ((S3, OWN3), (GM, OWN_GM)):
        expected = factor * by_name(f"goal:{name} x con").weights(scores, mask)
        torch.testing.assert_close(loss.weights(scores, mask), expected)


def test_circle_in_full_is_goals_cir_x_lin_times_two_gamma():
    """With 2m² = 1 (as released: ½), all of its gradient, the hardest negative alone, and no score below -m."""
    for convention, margin in (("paper", 0.5**0.5), ("released", 0.5)):
        loss = Circle(margin=margin, gamma=10.0, detach=False, negatives="hardest")
        objective = by_name("goal:cir x lin", tau=10.0, convention=convention)
        scores = S8.clamp(-0.4, 1)
        ours, goals = loss.weights(scores, OWN8), 20 * objective.weights(scores, OWN8)
        torch.testing.assert_close(ours, goals, rtol=1e-8, atol=1e-9)
    detached = Circle(margin=0.5**0.5, gamma=10.0, negatives="hardest").weights(S8, OWN8)
    assert (detached - 20 * by_name("goal:cir x lin").weights(S8, OWN8)).abs().max() > 1


def test_binomial_deviance_is_goals_con_x_sig_inside_the_margin():
    scaled = by_name("binomial_deviance", scaled=True, negatives="hardest").weights(S8, OWN8)
    torch.testing.assert_close(scaled, by_name("goal:con x sig", convention="released").weights(S8, OWN8))
    inside = by_name("goal:con x sig").weights(S8, OWN8)
    active = inside.abs().sum(1) > 0
    assert 0 < int(active.sum()) < 8
    torch.testing.assert_close(scaled[active], inside[active])
    unscaled = by_name("binomial_deviance", negatives="hardest").weights(S8, OWN8)
    ratios = (unscaled / scaled)[scaled != 0]
    assert {round(float(r), 9) for r in ratios} == {2.0, 10.0}  # two constants, so no common one


@pytest.mark.parametrize("mask", [OWN8, OWN_GM, OWN24], ids=["8 x 8", "8 x 40", "2 x 4"])
@pytest.mark.parametrize(
    "loss",
    [
        *(LOSSES[name]() for name in LOSSES),
        *(SigLIP(*at, queries=queries) for queries in ("mean", "sum") for at in ((10, -10), (10, -1), (1, -3))),
    ],
    ids=repr,
)
def test_a_collapse_sits_where_equal_scores_cost_least(loss, mask):
    levels = torch.linspace(-1, 1, 401, dtype=torch.float64).tolist()
    costs = [float(loss(torch.full(mask.shape, level, dtype=torch.float64), mask)) for level in levels]
    assert loss.collapsed(mask) <= min(costs) + 1e-12
    assert loss.collapsed(mask) == pytest.approx(min(costs), rel=1e-3, abs=1e-12)


@pytest.mark.parametrize("size", [2, 8, 128])
def test_the_loss_of_a_collapsed_model_of_pairs(size):
    """2Bα, 2B(B-1)α, ln B and others; SmoothAP: at equal scores every comparison is a half."""
    for loss, expected in (
        (TripletSH(), 2 * size * 0.2),
        (Triplet(), 2 * size * (size - 1) * 0.2),
        (NTXent(), math.log(size)),
        (NTXent(tau=0.01), math.log(size)),
        (DCL(tau=0.3), math.log(size - 1)),
        (IFM(tau=0.5, eps=0.3), (math.log(size) + math.log1p((size - 1) * math.exp(2 * 0.3 / 0.5))) / 2),
        (SparseNTXent(tau=1.5), (1 - 1 / size) / 2),
        (SmoothAP(), 1 - 2 / (size + 1)),
    ):
        assert loss.collapsed(torch.eye(size, dtype=torch.bool)) == pytest.approx(expected, rel=1e-12), loss
    captions = torch.eye(size, dtype=torch.bool).repeat_interleave(5, dim=1)
    short = 1 - (6 / (5 * size + 1) + 2 / (size + 1)) / 2
    assert SmoothAP().collapsed(captions) == pytest.approx(short, abs=1e-12)

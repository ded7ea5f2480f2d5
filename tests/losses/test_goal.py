"""GOAL's fifteen objectives: golden numbers in both conventions, a slow twin, and a surrogate that obeys autograd."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings

from icrlib.losses import GradientObjective, by_name, canonical, goal, objectives

from . import slow
from .slow import GM, OWN3, OWN_GM, S3

GOLDEN = json.loads((Path(__file__).parent / "golden_goal.json").read_text())
NAMES = list(GOLDEN["score_gradient"]["paper"])
S, OWN = torch.tensor(GOLDEN["S"], dtype=torch.float64), torch.eye(3, dtype=torch.bool)
CONVENTIONS = {
    "paper": {},
    "released_tau10": {"convention": "released"},
    "released_tau1": {"convention": "released", "tau": 1.0},
}


def made(name, **options):
    return by_name(f"goal:{name}", **options)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("golden", CONVENTIONS)
def test_golden_weights_of_both_directions_and_their_sum(golden, name):
    objective = made(name, **CONVENTIONS[golden])
    for side, scores in (("rows", S), ("cols", S.T)):
        weights = objective.weights(scores, OWN)
        for row, (plus, minus) in enumerate(GOLDEN[side][golden][name]):
            assert float(-weights[row, row]) == pytest.approx(plus, abs=1e-12)
            negatives = weights[row][~OWN[row]]
            assert float(negatives.sum()) == pytest.approx(minus, rel=1e-10, abs=1e-12)
            assert int((negatives != 0).sum()) == (minus != 0)
    expected = slow.matrix(GOLDEN["score_gradient"][golden][name])
    torch.testing.assert_close(objective.score_gradient(S, OWN), expected, rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(slow.gradient(objective, S, OWN), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_several_positives_golden(name):
    multi = GOLDEN["multi"]
    scores = torch.tensor(multi["S"], dtype=torch.float64)
    mask = torch.tensor(multi["mask"], dtype=torch.bool)
    for side, s, m in (("image_to_text", scores, mask), ("text_to_image", scores.T, mask.T)):
        expected = torch.zeros_like(s)
        for anchor, positive, negative, plus, minus in multi[side][name]:
            expected[anchor, positive] -= plus / int(m[anchor].sum())
            expected[anchor, negative] += minus / int(m[anchor].sum())
        torch.testing.assert_close(made(name).weights(s, m), expected, rtol=1e-10, atol=1e-12)


def twin(name, scores, mask, o):
    """The paper's convention in plain Python, row by row and positive by positive."""
    t, _, p = name.partition(" x ")
    out = [[0.0] * len(scores[0]) for _ in scores]
    for row, (s, own) in enumerate(zip(scores, mask, strict=True)):
        positives, negatives = slow.split_row(s, own)
        n = max(negatives, key=lambda j: (s[j], -j))
        for i in positives:
            sp, sn = s[i], s[n]
            weight = {
                "con": float(o.margin + sn - sp > 0),
                "nca": 1 / (1 + math.exp(o.tau * (sp - sn))),
                "cir": 1 / (1 + math.exp(o.tau * (sp * (2 - sp) - sn**2))),
            }[t]
            near = [s[k] for k in positives if k != i and s[k] < sn + o.eps]
            close = [s[k] for k in negatives if k != n and s[k] > min(s[k] for k in positives) - o.eps]
            nu = [
                sum(sp - r for r in near) / len(near) if near else 0,
                sum(sn - r for r in close) / len(close) if close else 0,
            ]
            mu = [
                sum(math.exp(o.alpha * (sp - r)) for r in near) / len(near) if near else 1,
                sum(math.exp(-o.beta * (sn - r)) for r in close) / len(close) if close else 1,
            ]
            if p == "con":
                plus, minus = 1, 1
            elif p.startswith("lin"):
                a, b = nu if p == "lin-ms" else (0, 0)
                plus, minus = (1 - a) * (1 - sp), (1 + b) * sn
            else:
                a, b = mu if p == "sig-ms" else (1, 1)
                plus, minus = 1 / (a + math.exp(o.alpha * (sp - o.lam))), 1 / (b + math.exp(-o.beta * (sn - o.lam)))
            out[row][i] -= weight * plus / len(positives)
            out[row][n] += weight * minus / len(positives)
    return torch.tensor(out, dtype=torch.float64)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("options", [{}, {"margin": 0.05, "tau": 3, "alpha": 1.5, "beta": 4, "lam": 0.2, "eps": 0.3}])
@given(data=slow.st.data())
@settings(max_examples=12)
def test_weights_equal_the_slow_twin(name, options, data):
    scores, mask = data.draw(slow.problems(ties=data.draw(slow.st.booleans())))
    objective = made(name, **options)
    expected = twin(name, scores.tolist(), mask.tolist(), objective)
    torch.testing.assert_close(objective.weights(scores, mask), expected, rtol=1e-10, atol=1e-12)
    the_surrogates_gradient_is_the_weights(objective, scores, mask)


def the_surrogates_gradient_is_the_weights(objective, scores, mask):
    assert (objective.weights(scores, mask) - slow.jacobian(objective, scores, mask)).abs().max() < 1e-10
    assert (objective.score_gradient(scores, mask) - slow.gradient(objective, scores, mask)).abs().max() < 1e-10


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [2, 6])
def test_the_released_surrogates_gradient_is_the_weights(name, size):
    generator = torch.Generator().manual_seed(size)
    for _ in range(5):
        scores = torch.rand(size, size, generator=generator, dtype=torch.float64) * 1.6 - 0.8
        mask = torch.eye(size, dtype=torch.bool)[torch.randperm(size, generator=generator)]
        the_surrogates_gradient_is_the_weights(made(name, convention="released"), scores, mask)


@pytest.mark.parametrize("name", NAMES)
def test_the_incoming_gradient_is_honoured(name):
    """Scaled, accumulated, negated: unlike the release, whose gradient is the same whatever comes in."""
    objective, expected = made(name), made(name).score_gradient(GM, OWN_GM)
    for factor in (0.5, -1.0, 65536.0):
        scores = GM.clone().requires_grad_()
        (objective(scores, OWN_GM) * factor).backward()
        torch.testing.assert_close(scores.grad, expected * factor)
        objective(scores, OWN_GM).backward()
        torch.testing.assert_close(scores.grad, expected * (factor + 1))


def test_gap_is_the_sum_of_hardest_minus_positive():
    expected = sum(float(s[i, [j for j in range(3) if j != i]].max() - s[i, i]) for s in (S, S.T) for i in range(3))
    assert made("con x con").gap(S, OWN) == pytest.approx(expected)
    assert math.isnan(made("con x con").collapsed(OWN))


def test_names():
    assert set(objectives()) == {f"goal:{name}" for name in NAMES}
    assert canonical("goal:cir x sig-ms") == by_name("goal:cir x sig-ms").name == "goal:cir x sig-ms"
    assert by_name("goal:nca x lin", tau=5).tau == 5


def test_a_new_triplet_weight_is_one_line(monkeypatch):
    monkeypatch.setitem(goal.TRIPLET_WEIGHTS, "xmax", lambda o, p, n: torch.maximum(n - p, torch.zeros_like(p)))
    objective = by_name("goal:xmax x con")
    assert (objective.weights(S, OWN) - slow.jacobian(objective, S, OWN)).abs().max() < 1e-12


def test_as_released_a_row_has_one_positive():
    with pytest.raises(ValueError, match="row 1 has 2"):
        made("cir x lin", convention="released").weights(S3, OWN3 | (S3 == 0.3))


def test_the_release_drops_exact_ties_from_the_mean():
    """Its mean counts what is not 0: a negative that ties with the mined one is neither added nor counted."""
    scores = torch.full((4, 4), 0.1, dtype=torch.float64) + 0.3 * torch.eye(4, dtype=torch.float64)
    scores[0] = torch.tensor([0.4, 0.5, 0.5, 0.35])
    own = torch.eye(4, dtype=torch.bool)
    weights = made("con x lin-ms", convention="released").weights(scores, own)
    assert float(weights[0, 1]) == pytest.approx((1 + 0.15) * 0.5)  # not (1 + 0.15 / 2) * 0.5


def test_the_bounds_of_the_released_relative_sets_are_inside():
    """Ties at both bounds, with numbers that are exact in binary: the release writes <= and >=.

    Query 0 has its hardest negative at .25; with eps = .25 the other query's positive, .5, lies on the bound of the
    relative positives, and the negative at 0 on that of the relative negatives, the lowest positive .25 minus eps.
    """
    scores = torch.tensor([[0.25, 0.25, 0.0], [-0.5, 0.5, -0.5], [-0.5, -0.5, 0.75]], dtype=torch.float64)
    eye = torch.eye(3, dtype=torch.bool)
    for pair in ("lin-ms", "sig-ms"):
        objective = GradientObjective("con", pair, eps=0.25, convention="released")
        alpha, beta, lam = objective.alpha, objective.beta, objective.lam
        if pair == "lin-ms":
            plus, minus = 0.25 - 0.5, 0.25 - 0.0  # the mean gap over the relative scores
            expected = (1 - plus) * (1 - 0.25), (1 + minus) * 0.25
        else:
            mu_plus, mu_minus = math.exp(alpha * (0.25 - 0.5)), math.exp(-beta * (0.25 - 0.0))
            expected = 1 / (mu_plus + math.exp(alpha * (0.25 - lam))), 1 / (mu_minus + math.exp(-beta * (0.25 - lam)))
        row = objective.weights(scores, eye)[0]
        assert float(-row[0]) == pytest.approx(expected[0], rel=1e-12)
        assert float(row[1]) == pytest.approx(expected[1], rel=1e-12)

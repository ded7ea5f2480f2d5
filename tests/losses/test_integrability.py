"""Integrability: golden loop values, fields whose answer is known, and the counts that the book reports."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from icrlib.losses import NTXent, SmoothAP, Triplet, TripletSH, goal, integrability, objectives
from icrlib.losses.integrability import WHERE, asymmetry, line_integral, loop_integral, matrix, plane

GOLDEN = json.loads((Path(__file__).parent / "golden_loops.json").read_text())
PAPER, RELEASED = objectives(), objectives(convention="released")
POTENTIALS = {"con x con", "nca x con", "cir x lin"}


def square(centre, half):
    (x, y), h = centre, half
    return torch.tensor([[x - h, y - h], [x + h, y - h], [x + h, y + h], [x - h, y + h]], dtype=torch.float64)


def relative(objective):
    return tuple(GOLDEN["relative"].get(objective.pair_weight, (None, None)))


@pytest.mark.parametrize("convention", ["paper", "released"])
@pytest.mark.parametrize("name", list(PAPER))
def test_golden_loops(convention, name):
    objective = objectives(convention=convention)[name]
    expected = GOLDEN["values"][convention][name.removeprefix("goal:")]
    for (x, y, half), value in zip(GOLDEN["loops"].values(), expected, strict=True):
        result = loop_integral(plane(objective, relative(objective)), square((x, y), half))
        assert result == pytest.approx(value, abs=2e-8)
        if name == "goal:con x lin":  # exact numbers, and the other way round they have the other sign
            back = loop_integral(plane(objective), square((x, y), half).flip(0))
            assert (result, back) == pytest.approx((value, -value), abs=1e-9)


@pytest.mark.parametrize(
    ("convention", "where", "expected"),
    [
        ("paper", "plane", POTENTIALS),
        ("released", "plane", POTENTIALS | {"con x lin", "con x sig", "con x lin-ms", "con x sig-ms"}),
        ("paper", "one direction", POTENTIALS),
        ("released", "both directions", POTENTIALS | {"con x lin", "con x sig"}),
    ],
)
def test_which_objectives_are_gradients(convention, where, expected):
    few = {"loops": 24, "points": 32} if where == "plane" else {"loops": 3, "points": 4}
    result = {
        name
        for name, o in objectives(convention=convention).items()
        if integrability(o, where, relative=relative(o), **few).conservative
    }
    assert result == {f"goal:{name}" for name in expected}


def test_a_hinge_times_a_weight_has_no_curl_and_no_potential():
    report = integrability(PAPER["goal:con x lin"])
    assert report.asymmetry == 0 and report.loop > 0.1 and not report.conservative


@pytest.mark.parametrize("loss", [Triplet(), TripletSH(), NTXent(), SmoothAP(tau=0.1)], ids=repr)
@pytest.mark.parametrize("where", WHERE)
def test_losses_are_conservative(loss, where):
    assert integrability(loss, where, loops=4, points=6, size=3).conservative


def test_changing_the_hardest_negative_does_no_harm_by_itself():
    """Loops over two negatives across s1 = s2: nothing for lin, something once relative terms follow the scores."""
    corners = torch.cat([torch.full((4, 1), 0.5, dtype=torch.float64), square((0.55, 0.5), 0.1)], 1)
    own = torch.tensor([[True, False, False]])
    result = {p: loop_integral(matrix(PAPER[f"goal:con x {p}"], own, both=False), corners) for p in goal.PAIR_WEIGHTS}
    assert all(abs(result[p]) < 1e-8 for p in ("con", "lin", "sig"))
    assert abs(result["lin-ms"]) == pytest.approx(7.0e-3, abs=1e-4)
    assert abs(result["sig-ms"]) == pytest.approx(5.6e-2, abs=6e-4)


def test_fields_with_known_answers():
    def turn(points):
        return torch.stack([-points[:, 1], points[:, 0]], 1)

    def step(points):  # the gradient of max(x + y - 0.7, 0)
        return (points.sum(1, keepdim=True) > 0.7).double().expand(-1, 2)

    corners = square((0.3, 0.4), 0.25)
    assert loop_integral(turn, corners) == pytest.approx(2 * 0.5**2, abs=1e-12)  # twice the area
    assert asymmetry(turn, torch.rand(5, 2, dtype=torch.float64), scaled=False) == pytest.approx(2, abs=1e-8)
    assert abs(loop_integral(step, corners)) < 1e-8
    assert line_integral(step, corners[0], corners[2]) == pytest.approx(0.55 + 0.65 - 0.7, abs=1e-8)
    ends = torch.tensor([[0.0], [2.0]], dtype=torch.float64)
    assert line_integral(lambda p: 3 * p**2, *ends) == pytest.approx(8)


@pytest.mark.parametrize("where", [0.001, 0.047, 0.3333, 0.5, 0.953, 0.999])
def test_a_jump_is_found_wherever_it_is(where):
    """Near the end of a panel too, where inner nodes alone would miss it."""
    jump = lambda points: (points > where / 8).double()  # noqa: E731
    total = line_integral(jump, torch.zeros(1).double(), torch.ones(1).double())
    assert total == pytest.approx(1 - where / 8, abs=1e-8)


def test_the_matrix_field_is_the_score_gradient():
    generator, own = torch.Generator().manual_seed(2), torch.eye(4, dtype=torch.bool)
    points = torch.rand(3, 16, generator=generator, dtype=torch.float64)
    for objective in (PAPER["goal:cir x sig-ms"], RELEASED["goal:nca x lin-ms"]):
        both, one = matrix(objective, own)(points), matrix(objective, own, both=False)(points)
        for k, scores in enumerate(points.reshape(3, 4, 4)):
            torch.testing.assert_close(both[k].reshape(4, 4), objective.score_gradient(scores, own))
            torch.testing.assert_close(one[k].reshape(4, 4), objective.weights(scores, own))

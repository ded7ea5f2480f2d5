"""The multiplier against plain Python, and against facts of the released run: order, first step, wind-up."""

from __future__ import annotations

import pytest
import torch

from icrlib import LagrangeMultiplier


def replay(values, eta, rule, init=1.0, lr=5e-3, momentum=0.9, dampening=0.9, low=0.0, high=100.0):
    """RF §6.5 in floats: the λ after each step."""
    x, velocity, path = init, None, []
    for value in values:
        slope = value / eta - 1
        velocity = slope if velocity is None else momentum * velocity + (1 - dampening) * slope
        x += lr * velocity
        if rule == "projected":
            x = min(max(x, low), high)
        path.append(min(max(x, low), high))
    return path


@pytest.mark.parametrize("rule", ["published", "projected"])
def test_against_floats(rule):
    generator = torch.Generator().manual_seed(3)
    values = (0.45 * torch.rand(4000, generator=generator)).tolist()
    multiplier = LagrangeMultiplier(0.2, rule=rule, lr=0.05)
    path = []
    for value in values:
        multiplier.step(value)
        path.append(float(multiplier.value))
    expected = replay(values, 0.2, rule, lr=0.05)
    assert path == pytest.approx(expected, abs=1e-12)
    assert min(expected) == 0.0 or max(expected) > 1  # it moved


def test_the_rules_part_where_the_constraint_was_met_for_long():
    """Met for 2,000 steps, then violated: projected rises at once, published has to climb back first (wind-up)."""
    both = {rule: LagrangeMultiplier(0.2, rule=rule) for rule in ("published", "projected")}
    for value in [0.1] * 2000 + [0.3] * 300:
        for multiplier in both.values():
            multiplier.step(value)
    assert float(both["published"].notes()["lambda"]) == 0.0 and float(both["published"].raw) < -2
    assert float(both["projected"].value) > 0.5


def test_the_penalty_uses_the_multiplier_before_its_step_and_holds_it():
    multiplier, value = LagrangeMultiplier(0.5, init=2.0), torch.tensor(0.8, requires_grad=True)
    penalty = multiplier.penalty(value)
    penalty.backward()
    assert float(penalty) == pytest.approx(2 * (0.8 / 0.5 - 1)) and float(value.grad) == pytest.approx(2 / 0.5)
    assert multiplier.raw.grad is None

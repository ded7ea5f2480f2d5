"""The toy of information/constraint in a real browser: its numbers against a slow twin on icrlib.LagrangeMultiplier.

The twin steps the library's own multiplier and takes the slopes of the two losses by autograd.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import torch

import icrlib
import page_checks as checks
from icrlib import toy

NAMES = ("theta", "reconstruction", "raw", "lambda")
SLIDERS = ("eta", "lr", "momentum")
SHORT = 1_500  # steps that are compared, where not all are


@cache
def twin(eta, lr, momentum, rule, steps):
    """The same run by the library's multiplier: {name: (steps,)}."""
    multiplier = icrlib.LagrangeMultiplier(eta, lr=lr, momentum=momentum, dampening=momentum, rule=rule)
    theta = torch.tensor(toy.PROBLEM["start"], dtype=torch.float64, requires_grad=True)
    found = np.empty((steps, 4))
    for step in range(steps):
        contrastive = toy.PROBLEM["a"] * theta**2 / 2
        value = toy.PROBLEM["floor"] + toy.PROBLEM["b"] * (theta - 1) ** 2
        (slope,) = torch.autograd.grad(contrastive + multiplier.penalty(value), theta)
        value = value.detach()
        found[step, :2] = float(theta.detach()), float(value)
        multiplier.step(value)
        found[step, 2:] = float(multiplier.raw), float(multiplier.value)
        with torch.no_grad():
            theta -= toy.PROBLEM["descent"] * slope
    return dict(zip(NAMES, found.T, strict=True))


def run_of(visit):
    """(state, {name: values}, summary) as the page computed them."""
    state, summary, *values = visit.page.evaluate(
        """names => { const w = document.querySelector('.wind-up').windUp;
        return [w.state, w.summary, ...names.map(name => [...w.result[name]])]; }""",
        NAMES,
    )
    return state, dict(zip(NAMES, map(np.array, values), strict=True)), summary


def off_by(visit, steps=SHORT):
    """The largest difference between the page's run and the twin's, over all four quantities."""
    state, result, _ = run_of(visit)
    other = twin(*(state[name] for name in (*SLIDERS, "rule")), steps)
    return max(float(np.abs(result[name][:steps] - other[name]).max()) for name in NAMES)


def move(visit, name, index):
    """Put a slider to a place, as a finger does."""
    slider = visit.page.locator(f'[data-control="{name}"]').first
    slider.evaluate("(s, v) => { s.value = v; s.dispatchEvent(new Event('input', {bubbles: true})); }", str(index))


def test_numbers_of_all_steps_are_the_librarys(opened):
    visit = opened(toy.wind_up())
    steps = toy.PROBLEM["steps"]
    assert off_by(visit, steps) < 1e-6
    _, result, summary = run_of(visit)
    other = twin(0.3, 0.005, 0.9, "published", steps)
    zero = other["lambda"] <= 0
    assert summary["zero"] == pytest.approx(zero.mean(), abs=1e-9)
    assert summary["asleep"] == pytest.approx((zero & (other["reconstruction"] > 0.3)).mean(), abs=1e-9)
    assert summary["low"] == pytest.approx(other["raw"].min(), abs=1e-6)
    text = visit.page.locator('[data-say="summary"]').inner_text()
    assert f"λ is 0 in {100 * zero.mean():.0f} % of the steps" in text and f"−{-summary['low']:.2f}" in text
    move(visit, "step", 1000)
    text = visit.page.locator('[data-say="now"]').inner_text().replace("−", "-")
    values = {"θ": "theta", "L_rec": "reconstruction", "x": "raw", "λ": "lambda"}
    assert "Step 1,001" in text
    assert all(f"{sign} = {result[name][1000]:.3f}" in text for sign, name in values.items())


@pytest.mark.parametrize("seed", range(3))
def test_numbers_at_random_places_are_the_librarys(opened, seed):
    rng = np.random.default_rng(seed)
    visit = opened(toy.wind_up())
    visit.page.locator(f"input[value={rng.choice(list(toy.RULES))}]").check()
    for name in SLIDERS:
        move(visit, name, rng.integers(len(toy.CHOICES[name])))
    assert off_by(visit) < 1e-6


def test_keys_move_every_slider_and_the_address_keeps_what_was_chosen(opened):
    visit = opened(toy.wind_up())
    before = run_of(visit)[0]
    for name in SLIDERS:
        slider = visit.page.locator(f'[data-control="{name}"]')
        slider.focus()
        slider.press("ArrowLeft")
    visit.page.get_by_label("projected", exact=False).check()
    state = run_of(visit)[0]
    for name in SLIDERS:
        assert state[name] == toy.CHOICES[name][toy.CHOICES[name].index(before[name]) - 1]
        assert visit.page.locator(f'[data-say="{name}"]').inner_text() == f"{state[name]}"
    assert state["rule"] == "projected" and off_by(visit) < 1e-6
    visit.page.reload()
    assert run_of(visit)[0] == state


def test_letters_keep_their_size_on_a_phone(opened):
    visit = opened(toy.wind_up())
    assert checks.fits_phone(visit) == []
    sizes = visit.page.evaluate("""() => [...document.querySelectorAll('.wind-up svg')].map(s =>
      [s.clientWidth, +s.getAttribute('viewBox').split(' ')[2]])""")
    assert all(abs(width / drawn - 1) < 0.1 for width, drawn in sizes)
    assert visit.page.locator("svg polyline").count() == 3

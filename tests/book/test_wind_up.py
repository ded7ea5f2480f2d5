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
from icrlib.widgets import score_table

NAMES = ("theta", "reconstruction", "raw", "lambda")
SLIDERS = ("eta", "lr", "momentum")
SHORT = 1_500  # steps that are compared, where not all are


def con(theta):
    return toy.PROBLEM["a"] * theta**2 / 2


def rec(theta):
    return toy.PROBLEM["floor"] + toy.PROBLEM["b"] * (theta - 1) ** 2


@cache
def twin(eta, lr, momentum, rule, steps):
    """The same run by the library's multiplier: {name: (steps,)}."""
    multiplier = icrlib.LagrangeMultiplier(eta, lr=lr, momentum=momentum, dampening=momentum, rule=rule)
    theta = torch.tensor(toy.PROBLEM["start"], dtype=torch.float64, requires_grad=True)
    found = np.empty((steps, 4))
    for step in range(steps):
        value = rec(theta)
        (slope,) = torch.autograd.grad(con(theta) + multiplier.penalty(value), theta)
        value = value.detach()
        found[step, :2] = float(theta.detach()), float(value)
        multiplier.step(value)
        found[step, 2:] = float(multiplier.raw), float(multiplier.value)
        with torch.no_grad():
            theta -= toy.PROBLEM["descent"] * slope
    return dict(zip(NAMES, found.T, strict=True))


def run_of(visit):
    """(state, {name: values}, summary) as the page computed them."""
    found = visit.page.evaluate("""() => { const w = document.querySelector('.wind-up').windUp, r = {};
      for (const k in w.result) r[k] = Array.from(w.result[k]);
      return {state: w.state, result: r, summary: w.summary}; }""")
    return found["state"], {name: np.array(values) for name, values in found["result"].items()}, found["summary"]


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
    assert checks.quiet(visit) == [] and checks.offline(visit) == []


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


def test_play_moves_the_cursor_and_does_not_where_motion_is_reduced(opened):
    visit = opened(toy.wind_up())
    visit.page.emulate_media(reduced_motion="reduce")
    step, button = visit.page.locator('[data-control="step"]'), visit.page.get_by_role("button")
    move(visit, "step", 0)
    button.click()
    assert step.input_value() == str(toy.PROBLEM["steps"]) and button.inner_text() == "Play"
    visit.page.emulate_media(reduced_motion="no-preference")
    time = visit.clock()
    button.click()
    time.run_for(300)
    assert button.inner_text() == "Stop"
    button.click()
    stopped = int(step.input_value())
    assert 0 < stopped < toy.PROBLEM["steps"] and button.inner_text() == "Play"
    time.run_for(1000)
    assert int(step.input_value()) == stopped


def test_phone_print_and_screen_reader(opened):
    visit = opened(toy.wind_up())
    assert checks.fits_phone(visit) == []
    sizes = visit.page.evaluate("""() => [...document.querySelectorAll('.wind-up svg')].map(s =>
      [s.clientWidth, +s.getAttribute('viewBox').split(' ')[2]])""")
    assert all(abs(width / drawn - 1) < 0.1 for width, drawn in sizes)  # letters keep their size
    for control in visit.page.locator(".wind-up input").all():
        name = control.evaluate("c => c.labels[0] && c.labels[0].textContent.trim()")
        assert name and control.bounding_box()["height"] > 10
    labels = [svg.get_attribute("aria-label") for svg in visit.page.locator(".wind-up svg").all()]
    assert "λ is 0 in" in labels[0] and "0.3" in labels[1]
    visit.page.emulate_media(media="print")
    assert not visit.page.get_by_role("button").is_visible()
    assert not visit.page.locator("[data-control=eta]").is_visible()
    assert visit.page.locator("svg polyline").count() == 3 and visit.page.locator('[data-say="summary"]').is_visible()


def test_same_input_gives_the_same_small_text():
    assert toy.wind_up().data == toy.wind_up().data
    script = score_table.static(toy.SCRIPT)
    assert "</" not in script and "http" not in script.replace("http://www.w3.org/2000/svg", "")
    assert len(script) < 40_000

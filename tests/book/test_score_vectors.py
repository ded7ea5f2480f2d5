"""Points on a circle that losses move, in a real browser: beside the same descent by the library and autograd."""

from __future__ import annotations

import math

import pytest
import torch

from icrlib.losses import DCL, IFM, SigLIP
from score_tables import ANGLES, FOUR, drag, of_table, on_circle


def walked(loss, angles, steps):
    """The same descent through the library's loss and autograd: angles (2, n) in radians, and the loss there."""
    at, positives = torch.tensor(angles, dtype=torch.float64).deg2rad(), torch.eye(len(angles[0]), dtype=torch.bool)
    rate = None
    for step in range(steps + 1):
        at = at.requires_grad_()
        value = loss((at[0][:, None] - at[1]).cos(), positives)
        (slope,) = torch.autograd.grad(value, at)
        most = float(slope.abs().max())
        rate = rate if rate is not None else math.radians(4) / most if most > 1e-9 else 0.0
        at = (at - rate * slope).detach() if step < steps else at.detach()
    return at, float(value.detach())


def off_the_way(visit, losses, angles, steps):
    """The largest difference of angles and values from those of the descent."""
    worst = 0.0
    places = of_table(visit, "runs.map(r => [[r.at.pictures, r.at.captions], r.value])")
    for loss, (found, value) in zip(losses.values(), places, strict=True):
        at, wanted = walked(loss, angles, steps)
        worst = max(worst, float((torch.tensor(found, dtype=torch.float64) - at).abs().max()), abs(value - wanted))
    return worst


def test_points_go_where_autograd_sends_them(opened):
    losses = FOUR | {"dcl": DCL(), "siglip": SigLIP(), "ifm": IFM()}
    visit = opened(on_circle(losses))
    assert off_the_way(visit, losses, ANGLES, 0) < 1e-9
    for _ in range(12):
        visit.page.get_by_role("button", name="One step").click()
    assert off_the_way(visit, losses, ANGLES, 12) < 1e-6
    summary = visit.page.locator('[data-say="summary"]').inner_text()
    assert summary.startswith("After 12 steps. Triplet: loss ")


def test_all_steps_at_once_lead_to_solved_queries_and_start_again_back(opened):
    visit = opened(on_circle())
    visit.page.emulate_media(reduced_motion="reduce")
    visit.page.get_by_role("button", name="Play").click()
    assert off_the_way(visit, FOUR, ANGLES, 150) < 1e-6
    texts = visit.page.locator(".circle > span").all_inner_texts()
    assert [text.split("; ")[1] for text in texts] == ["8 of 8 queries solved"] * 3 + ["3 of 8 queries solved"]
    visit.page.get_by_role("button", name="Start again").click()
    assert off_the_way(visit, FOUR, ANGLES, 0) < 1e-9


def test_a_point_is_turned_by_mouse_and_keys_in_all_circles_at_once(opened):
    visit = opened(on_circle())
    point = visit.page.locator('[data-point="captions.1"]').nth(2)
    point.focus()
    for _ in range(5):
        visit.page.keyboard.press("ArrowLeft")
    turned = (ANGLES[0], [100.0, 35.0, 200.0, 215.0])
    assert off_the_way(visit, FOUR, turned, 0) < 1e-9 and point.get_attribute("aria-valuenow") == "35"
    svg, last = visit.page.locator(".circle svg").first.bounding_box(), '[data-point="pictures.3"]'
    drag(visit, visit.page.locator(last).first, svg["x"] + svg["width"] / 2, svg["y"] + 5)  # straight up: 90 degrees
    found = [math.degrees(angle) for angle in of_table(visit, "runs.map(r => r.at.pictures[3])")]
    assert found == pytest.approx([90.0] * 4, abs=1.0)

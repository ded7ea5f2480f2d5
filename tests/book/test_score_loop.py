"""The walk in the plane of two scores, in a real browser: what it gathers beside the same walk by the library."""

from __future__ import annotations

import pytest
import torch

from icrlib.losses import GradientObjective
from icrlib.widgets.loop import PAIR, TRIPLET
from score_tables import CON_LIN, SQUARE, drag, loop, of_table


def gathered(objective, square, steps=250):
    """The same sums by the library's weights: (4 · steps + 1) heights."""
    x0, y0, x1, y1 = square
    corners = torch.tensor([[x0, y0], [x1, y0], [x1, y1], [x0, y1], [x0, y0]], dtype=torch.float64)
    mask, heights, total = torch.tensor([[True, False]]), [0.0], 0.0
    for a, b in zip(corners[:-1], corners[1:], strict=True):
        step = (b - a) / steps
        for k in range(steps):
            total += float((objective.weights((a + (k + 0.5) * step)[None], mask)[0] * step).sum())
            heights.append(total)
    return torch.tensor(heights, dtype=torch.float64)


def off_by(visit, objective, square=SQUARE):
    found = torch.tensor(of_table(visit, "heights()"), dtype=torch.float64)
    return float((found - gathered(objective, square)).abs().max())


def pick(visit, triplet, pair):
    for k, name in enumerate((triplet, pair)):
        visit.page.locator("fieldset").nth(k).get_by_role("radio", name=name).check()


@pytest.mark.parametrize("triplet", TRIPLET)
def test_the_walk_gathers_what_the_library_says(opened, triplet):
    visit = opened(loop())
    for pair in PAIR:
        pick(visit, triplet, pair)
        assert off_by(visit, GradientObjective(triplet, pair)) < 1e-9, pair


def test_it_says_what_is_left_over_and_laps_add_up(opened):
    visit = opened(loop())
    summary = visit.page.locator('[data-say="summary"]')
    gain = f"{float(gathered(CON_LIN, SQUARE)[-1]):+.3f}"
    assert f"con × lin, once around: {gain} (right 0.000, up 0.000, left +" in summary.inner_text()
    again = visit.page.get_by_role("button", name="Once more around")
    again.click()
    again.click()
    assert f"after 3 times around {3 * float(gain):+.3f}"[:-1] in summary.inner_text()
    for _ in range(3):
        again.click()
    assert again.is_disabled()  # six times are enough to see it
    pick(visit, "cir", "lin")
    assert "nothing is left over" in summary.inner_text()
    visit.page.get_by_role("button", name="Start again").click()
    assert f"once around: {gain}" in summary.inner_text() and not again.is_disabled()


def test_the_rectangle_moves_by_mouse_and_keys_and_stays_in_the_plane(opened):
    visit = opened(loop())
    square = visit.page.locator('[data-handle="square"]')
    box = square.bounding_box()
    drag(visit, square, box["x"] + box["width"] * 3, box["y"] - box["height"] * 3)
    assert of_table(visit, "state.square") == pytest.approx([0.6, 0.6, 1, 1])
    corner = visit.page.locator('[data-handle="0"]')
    corner.focus()
    for key in 5 * ["ArrowLeft"] + 10 * ["ArrowDown"]:
        visit.page.keyboard.press(key)
    moved = [0.5, 0.4, 1, 1]
    assert of_table(visit, "state.square") == pytest.approx(moved) and off_by(visit, CON_LIN, moved) < 1e-9
    other = visit.page.locator('[data-handle="2"]').bounding_box()
    drag(visit, corner, other["x"] + 60, other["y"] - 60)  # past the corner across: it stays a rectangle
    assert of_table(visit, "state.square") == pytest.approx([0.96, 0.96, 1, 1])


def test_a_view_can_be_linked(opened):
    visit = opened(loop())
    pick(visit, "nca", "sig")
    visit.page.locator('[data-control="tau"]').press("ArrowRight")
    visit.page.get_by_role("button", name="Once more around").click()
    visit.page.locator('[data-handle="square"]').press("ArrowUp")
    before = visit.page.locator('[data-say="summary"]').inner_text()
    visit.page.reload()
    assert visit.page.locator('[data-say="summary"]').inner_text() == before and "2 times around" in before
    assert off_by(visit, GradientObjective("nca", "sig", tau=20.0), [0.3, 0.12, 0.7, 0.52]) < 1e-9
    visit.page.goto(visit.page.url.replace("30.12.70.52", "70.12.30.52"))
    visit.page.reload()
    assert of_table(visit, "state.square") == list(SQUARE)  # the wrong way round: not taken

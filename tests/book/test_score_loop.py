"""The walk in the plane of two scores, in a real browser: what it gathers beside the same walk by the library."""

from __future__ import annotations

import pytest
import torch

import page_checks as checks
from icrlib.losses import GradientObjective
from icrlib.widgets import loop_explorer
from icrlib.widgets.loop import PAIR, SQUARE, TRIPLET
from score_tables import drag

CON_LIN = GradientObjective("con", "lin")


def loop(objective=CON_LIN):
    return loop_explorer(objective, about="a walk")


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


def found(visit):
    return torch.tensor(
        visit.page.evaluate("() => document.querySelector('.score-table').scoreTable.heights()"), dtype=torch.float64
    )


def square_of(visit):
    return visit.page.evaluate("() => document.querySelector('.score-table').scoreTable.state.square")


def pick(visit, triplet, pair):
    for k, name in enumerate((triplet, pair)):
        visit.page.locator("fieldset").nth(k).get_by_role("radio", name=name).check()


@pytest.mark.parametrize("triplet", TRIPLET)
def test_the_walk_gathers_what_the_library_says(opened, triplet):
    visit = opened(loop())
    for pair in PAIR:
        pick(visit, triplet, pair)
        wanted = gathered(GradientObjective(triplet, pair), SQUARE)
        assert (found(visit) - wanted).abs().max() < 1e-9, pair
    assert checks.quiet(visit) == []


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
    assert square_of(visit) == pytest.approx([0.6, 0.6, 1, 1])
    corner = visit.page.locator('[data-handle="0"]')
    corner.focus()
    for key, times in (("ArrowLeft", 5), ("ArrowDown", 10)):
        for _ in range(times):
            visit.page.keyboard.press(key)
    moved = [0.5, 0.4, 1, 1]
    assert square_of(visit) == pytest.approx(moved)
    assert (found(visit) - gathered(CON_LIN, moved)).abs().max() < 1e-9
    other = visit.page.locator('[data-handle="2"]').bounding_box()
    drag(visit, corner, other["x"] + 60, other["y"] - 60)  # past the corner across: it stays a rectangle
    assert square_of(visit) == pytest.approx([0.96, 0.96, 1, 1])


def test_a_view_can_be_linked(opened):
    visit = opened(loop())
    pick(visit, "nca", "sig")
    visit.page.locator('[data-control="tau"]').press("ArrowRight")
    visit.page.get_by_role("button", name="Once more around").click()
    visit.page.locator('[data-handle="square"]').press("ArrowUp")
    before = visit.page.locator('[data-say="summary"]').inner_text()
    visit.page.reload()
    assert visit.page.locator('[data-say="summary"]').inner_text() == before and "2 times around" in before
    moved = [0.3, 0.12, 0.7, 0.52]
    assert (found(visit) - gathered(GradientObjective("nca", "sig", tau=20.0), moved)).abs().max() < 1e-9
    bad = visit.page.url.replace("30.12.70.52", "70.12.30.52")
    visit.page.goto(bad)
    visit.page.reload()
    assert square_of(visit) == list(SQUARE)  # the wrong way round: not taken


def test_walking_is_shown_and_can_be_stopped(opened):
    visit = opened(loop())
    progress = "() => document.querySelector('.score-table').scoreTable.shown()"
    visit.page.emulate_media(reduced_motion="reduce")
    walk = visit.page.get_by_role("button", name="Walk", exact=True)
    walk.click()
    assert walk.inner_text() == "Walk" and visit.page.evaluate(progress) == float("inf")
    visit.page.emulate_media(reduced_motion="no-preference")
    time = visit.clock()
    walk.click()
    time.run_for(300)
    assert 0 < visit.page.evaluate(progress) < 1000
    visit.page.get_by_role("button", name="Stop").click()
    assert visit.page.evaluate(progress) == float("inf")
    time.resume()
    assert checks.quiet(visit) == [] and checks.fits_phone(visit) == []


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"objective": GradientObjective("con", "sig-ms")}, "sig-ms is sig"),
        ({"objective": GradientObjective("con", "lin", margin=0.25)}, "margin m of the objective is 0.25"),
        ({"objective": GradientObjective("con", "lin", convention="released")}, "as printed"),
    ],
)
def test_what_cannot_be_walked_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        loop(**given)

"""What holds for every explorable thing of the pages, in a real browser, and what none of them takes."""

from __future__ import annotations

import math
import re
from functools import partial

import numpy as np
import pytest
import torch

import page_checks as checks
from icrlib import toy
from icrlib.losses import GradientObjective
from score_tables import example, loop, on_circle, one_row

PICTURES = np.random.default_rng(0).integers(0, 255, (4, 64, 64, 3), np.uint8)
TOLD = {"pictures": PICTURES, "captions": ["a small red ring above a large blue box"] * 4, "invitation": "</b>"}
MAKERS = {"table": partial(example, **TOLD), "list": one_row, "circle": on_circle, "loop": loop, "wind-up": toy.wind_up}
EACH = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


@EACH
def test_phone_print_and_screen_reader(opened, make):
    visit = opened(make())
    assert checks.fits_phone(visit) == checks.images(visit) == []
    assert all(svg.get_attribute("aria-label") for svg in visit.page.locator("svg[role=img]").all())
    for control in visit.page.locator("input").all():
        assert control.evaluate("c => c.labels[0] && c.labels[0].textContent.trim()")
    moved = visit.page.locator("input[type=range], button:not(.cell)")
    assert any(one.is_visible() for one in moved.all())
    visit.page.emulate_media(media="print")
    assert not any(one.is_visible() for one in moved.all())
    assert visit.page.locator("svg, table, .list").last.is_visible()
    assert visit.page.locator('[data-say="summary"]').is_visible()
    assert checks.quiet(visit) == []


@EACH
def test_the_text_is_small_and_the_same_each_time_and_complete(make):
    text = make().data
    assert text == make().data and "has not run here" in text  # what a page without scripts says
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
    for script in re.findall("<script.*?>(.*?)</script>", text, re.DOTALL):
        assert "</" not in script and len(script) < 40_000


@pytest.mark.parametrize(
    ("make", "name", "progress", "end"),
    [
        (on_circle, "Play", "document.querySelector('.score-table').scoreTable.steps()", 150),
        (loop, "Walk", "document.querySelector('.score-table').scoreTable.shown()", math.inf),  # all of the way
        (toy.wind_up, "Play", "+document.querySelector('[data-control=step]').value", toy.PROBLEM["steps"]),
    ],
)
def test_what_plays_can_be_stopped_and_does_not_move_where_motion_is_reduced(opened, make, name, progress, end):
    visit = opened(make())
    visit.page.emulate_media(reduced_motion="reduce")
    button = visit.page.get_by_role("button", name=name, exact=True)
    button.click()
    assert visit.page.evaluate(progress) == end and button.is_visible()
    visit.page.reload()
    visit.page.emulate_media(reduced_motion="no-preference")
    time = visit.page.clock
    time.install(time=0)
    time.pause_at(1000)  # from now on it passes only where that is said
    button.click()
    time.run_for(300)
    assert 0 < visit.page.evaluate(progress) < end
    visit.page.get_by_role("button", name="Stop").click()
    stopped = visit.page.evaluate(progress)
    time.run_for(1000)
    assert visit.page.evaluate(progress) == stopped and button.is_visible()


@pytest.mark.parametrize(
    ("make", "wrong", "message"),
    [
        (example, {"scores": torch.zeros(4, 3)}, r"one shape .* \(4, 3\) and \(4, 4\)"),
        (example, {"scores": torch.full((4, 4), 1.5)}, "cosines, from -1 to 1"),
        (example, {"scores": torch.full((4, 4), torch.nan)}, "cosines, from -1 to 1"),
        (example, {"positives": torch.zeros(4, 4, dtype=torch.bool)}, "needs a match"),
        (example, {"positives": torch.ones(4, 4, dtype=torch.bool)}, "needs a match"),
        (example, {"losses": {}}, "one loss at least"),
        (example, {"loss": "hinge"}, "hinge"),
        (example, {"together": True}, "for one query"),
        (example, {"controls": {"ntxent": {"tau": [0.5, 1.0]}}}, "tau of ntxent is 0.1, which is none"),
        (example, {"controls": {"triplet": {"tau": [0.5]}}}, "tau"),
        (example, {"losses": {"goal": GradientObjective("nca", "lin", convention="released")}}, "no formula"),
        (example, {"tour": [{"text": "x", "loss": "y"}]}, "loss of a step"),
        (loop, {"objective": GradientObjective("con", "sig-ms")}, "sig-ms is sig"),
        (loop, {"objective": GradientObjective("con", "lin", margin=0.25)}, "margin m of the objective is 0.25"),
    ],
)
def test_what_does_not_fit_is_named(make, wrong, message):
    with pytest.raises(ValueError, match=message):
        make(**wrong)

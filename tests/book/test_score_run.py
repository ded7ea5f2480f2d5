"""A recorded run in the explorable score table, in a real browser: its moments, its lines, its colours."""

from __future__ import annotations

import pytest
import torch

import page_checks as checks
from icrlib.losses import NTXent, Triplet
from icrlib.widgets import explorer
from score_tables import FOUR, cell


def a_run(count=6, pairs=9):
    """Scores of a run in which matches rise and the rest falls, with the mean of the matches as a line."""
    noise = torch.rand(pairs, pairs, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    positives = torch.eye(pairs, dtype=torch.bool)
    moments = {100 * k: (0.5 * noise + 0.4 * k / count * positives).mul(100).round() / 100 for k in range(count)}
    lines = {"match": [float(s[positives].mean()) for s in moments.values()]}
    return moments, positives, lines


def scrubbed(start=0, **more):
    moments, positives, lines = a_run()
    given = {"moments": moments, "lines": lines, "captions": [f"caption no. {k}" for k in range(9)]} | more
    return explorer(moments[start], positives, {"ntxent": NTXent(), "triplet": Triplet()}, about="a run", **given)


def weights_at(visit, update, loss):
    moments, positives, _ = a_run()
    scores, weights = visit.page.evaluate("""() => { const t = document.querySelector('.score-table').scoreTable;
      return [t.state.scores, t.result[0].weights]; }""")
    return torch.allclose(torch.tensor(scores, dtype=torch.float64), moments[update]) and torch.allclose(
        torch.tensor(weights, dtype=torch.float64), loss.weights(moments[update], positives), atol=1e-6
    )


def test_a_slider_goes_through_the_moments_of_a_run(opened):
    visit = opened(scrubbed())
    slider = visit.page.locator('[data-part="moment"]')
    assert weights_at(visit, 0, NTXent()) and slider.evaluate("s => s.labels[0].textContent") == "update 0"
    slider.press("ArrowRight")
    slider.press("ArrowRight")
    assert weights_at(visit, 200, NTXent()) and slider.get_attribute("aria-valuetext") == "update 200"
    visit.page.get_by_role("radio", name="Triplet").check()
    assert weights_at(visit, 200, Triplet())
    drawn = visit.page.locator('[data-part="lines"]')
    assert drawn.locator("polyline").count() == 1 and f"match {a_run()[2]['match'][2]:.2f}" in drawn.text_content()
    cell(visit, 3, 4).click()
    summary = visit.page.locator('[data-say="summary"]').inner_text()
    assert "Picture 4 with caption 5 (“caption no. 4”): score" in summary
    visit.page.reload()
    assert weights_at(visit, 200, Triplet()) and slider.input_value() == "2"
    visit.page.get_by_role("button", name="Start again").click()
    assert weights_at(visit, 0, NTXent()) and checks.quiet(visit) == [] and checks.fits_phone(visit) == []


def test_play_goes_to_the_last_moment_and_stops(opened):
    visit = opened(scrubbed(start=300))
    play = visit.page.get_by_role("button", name="Play")
    assert weights_at(visit, 300, NTXent())
    visit.page.emulate_media(reduced_motion="reduce")
    play.click()
    assert weights_at(visit, 400, NTXent()) and play.inner_text() == "Play"  # one moment a press
    visit.page.emulate_media(reduced_motion="no-preference")
    time = visit.clock()
    play.click()
    time.run_for(1200)
    assert weights_at(visit, 500, NTXent()) and play.inner_text() == "Play"


def test_colours_are_those_of_weights_or_of_scores(opened):
    visit = opened(scrubbed())
    colour = "c => c.style.background"
    assert "202, 0, 32" in cell(visit, 0, 1).evaluate(colour) and "5, 113, 176" in cell(visit, 0, 0).evaluate(colour)
    visit.page.get_by_role("button", name="Colour the scores").click()
    assert "128, 128, 128" in cell(visit, 0, 1).evaluate(colour)
    visit.page.get_by_role("button", name="Colour the weights").click()
    assert "202, 0, 32" in cell(visit, 0, 1).evaluate(colour)


def test_a_run_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="one of the moments"):
        explorer(torch.zeros(9, 9), torch.eye(9, dtype=torch.bool), FOUR, about="x", moments=a_run()[0])
    with pytest.raises(ValueError, match="'match' has 2 numbers for 6"):
        scrubbed(lines={"match": [0.0, 1.0]})
    with pytest.raises(ValueError, match="cosines"):
        scrubbed(moments=a_run()[0] | {600: torch.full((9, 9), 2.0)})


@pytest.mark.parametrize("width", [360, 390, 1280])
def test_names_of_the_lines_do_not_cover_each_other(opened, width):
    names = ("match less the others", "own picture less twin", "a third")
    visit = opened(scrubbed(lines={name: [0.0] * 6 for name in names}))
    visit.page.set_viewport_size({"width": width, "height": 900})
    visit.page.reload()
    boxes = [name.bounding_box() for name in visit.page.locator('[data-part="lines"] .name').all()]
    assert len(boxes) == 3 and all(b["x"] + b["width"] <= width for b in boxes)
    for k, a in enumerate(boxes):
        assert not any(
            a["x"] < b["x"] + b["width"]
            and b["x"] < a["x"] + a["width"]
            and a["y"] < b["y"] + b["height"]
            and b["y"] < a["y"] + a["height"]
            for b in boxes[:k]
        ), width

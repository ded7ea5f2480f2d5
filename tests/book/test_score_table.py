"""The explorable score table in a real browser: every way to move it. What it refuses: test_explorables."""

from __future__ import annotations

import pytest
import torch
from IPython.display import HTML

import page_checks as checks
from icrlib import plots
from icrlib.losses import NTXent, SmoothAP, Triplet, TripletSH
from icrlib.widgets import score_table
from score_tables import FOUR, OWN, ROW, drag, example, of_table, one_row

SCORES, POSITIVES = plots.example()


def cell(visit, q, j):
    return visit.page.locator(f'button[data-cell="{q},{j}"]').first


def loss_of(visit, index=0):
    """(name, options) of the loss that a table shows."""
    return of_table(visit, "state.losses.map(l => [l.name, l.options])", index)[of_table(visit, "state.loss", index)]


def agrees(visit, *losses, positives=POSITIVES):
    """Whether what stands there are the library's weights at the scores that stand there."""
    scores = torch.tensor(of_table(visit, "state.scores"), dtype=torch.float64)
    weights = torch.tensor(of_table(visit, "result.map(r => r.weights)"), dtype=torch.float64)
    return torch.allclose(weights, torch.stack([loss.weights(scores, positives) for loss in losses]), atol=1e-6)


def test_keys_choose_a_cell_and_move_its_score(opened):
    visit = opened(example())
    cell(visit, 0, 0).focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
        visit.page.keyboard.press(key)
    assert of_table(visit, "state.selected") == [2, 1]
    label = "picture 3 with caption 2: score 0.62, weight +1.0"
    assert cell(visit, 2, 1).get_attribute("aria-label").startswith(label)
    assert "the match" in cell(visit, 2, 2).get_attribute("aria-label")
    for key in ("+", "+", "-", "PageDown"):
        visit.page.keyboard.press(key)
    assert of_table(visit, "state.scores[2][1]") == pytest.approx(0.62 + 0.01 - 0.1) and agrees(visit, Triplet())
    assert "0.53" in cell(visit, 2, 1).get_attribute("aria-label")
    assert visit.page.evaluate("() => document.activeElement.dataset.cell") == "2,1"
    assert visit.page.locator('button.cell[tabindex="0"]').count() == 1  # one stop for the whole table


def test_mouse_and_finger_drag_a_score_sideways(opened):
    visit = opened(example())
    box = cell(visit, 2, 3).bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    drag(visit, cell(visit, 2, 3), x + 45, y)
    scores = of_table(visit, "state.scores")
    assert of_table(visit, "state.selected") == [2, 3] and scores[2][3] == pytest.approx(0.65)
    assert agrees(visit, Triplet())
    visit.page.mouse.move(x + 400, y)
    assert of_table(visit, "state.scores") == scores  # let go
    assert cell(visit, 0, 0).evaluate("c => getComputedStyle(c).touchAction") == "pan-y"  # a page still scrolls


def test_the_slider_below_moves_the_chosen_cell_as_far_as_a_cosine_goes(opened):
    visit = opened(example())
    cell(visit, 1, 2).click()
    slider = visit.page.locator('[data-part="score"]')
    assert slider.input_value() == "0.5" and "picture 2 with caption 3" in visit.page.locator(".one label").inner_text()
    for key, end in (("End", 1.0), ("Home", -1.0)):
        slider.press(key)
        assert of_table(visit, "state.scores[1][2]") == end and agrees(visit, Triplet())


def test_what_is_chosen_and_moved_stays_in_the_address_and_start_again_forgets_it(opened):
    visit = opened(example(controls={"ntxent": {"tau": [0.01, 0.1, 1.0]}}))
    for name, loss in (("SmoothAP", SmoothAP()), ("Triplet-SH", TripletSH()), ("NT-Xent", NTXent())):
        slider = visit.page.locator('[data-control="ntxent.tau"]')
        assert not slider.is_visible()
        visit.page.get_by_role("radio", name=name, exact=True).check()
        assert agrees(visit, loss)
    slider.press("ArrowLeft")
    assert "temperature τ of NT-Xent: 0.01" in visit.page.locator(".controls").inner_text()
    cell(visit, 3, 0).press("PageUp")
    visit.page.reload()
    assert of_table(visit, "state.scores[3][0]") == 0.2 and agrees(visit, NTXent(0.01))
    name, options = loss_of(visit)
    assert name == "ntxent" and options["tau"] == 0.01
    visit.page.get_by_role("button", name="Start again").click()
    assert loss_of(visit) == ["triplet", {"margin": 0.2}]
    page, own = visit.page.url.split("#")
    for strange in ("scores-000000~2~1~0.0.50", f"{own}~9.9.9~a.b.c~~"):
        visit.page.goto(f"{page}#{strange}")
        visit.page.reload()
    assert checks.quiet(visit) == [] and of_table(visit, "state.scores") == pytest.approx(SCORES.numpy())


def test_a_tour_leads_through_states_and_back(opened):
    tour = [
        {"text": "Here is NT-Xent.", "loss": "ntxent"},
        {"text": "Now the match rises.", "set": [(2, 2, 0.9)], "selected": (2, 2)},
        {"text": "And Triplet?", "loss": "triplet"},
    ]
    visit = opened(example(tour=tour, invitation="Three steps."))
    step, following = visit.page.locator(".tour p"), visit.page.get_by_role("button", name="Next")
    assert step.inner_text() == "Three steps."
    visit.page.get_by_role("button", name="Show me").click()
    assert step.inner_text() == "1 of 3. Here is NT-Xent." and loss_of(visit)[0] == "ntxent"
    cell(visit, 0, 0).press("PageUp")  # what a reader moved is put back by the next step
    following.click()
    assert of_table(visit, "state.selected") == [2, 2] and of_table(visit, "state.scores[2][2]") == 0.9
    assert of_table(visit, "state.scores[0][0]") == 0.6
    following.click()
    assert loss_of(visit)[0] == "triplet" and of_table(visit, "state.scores[2][2]") == 0.9
    assert following.is_disabled()
    visit.page.get_by_role("button", name="Back").click()
    assert loss_of(visit)[0] == "ntxent" and step.inner_text().startswith("2 of 3")


def test_a_list_has_every_loss_side_by_side_and_the_best_first(opened):
    visit = opened(one_row())
    order = visit.page.evaluate("""() => [...document.querySelectorAll('.item:not(.heads):not(.sum)')]
      .sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top).map(e => e.innerText)""")
    assert [text.split("caption ")[1][0] for text in order] == ["5", "1", "2", "3", "4"]
    assert agrees(visit, *FOUR.values(), positives=OWN)
    begin = "Caption 2 at 0.50: weight by Triplet +1.0 (pushed down), Triplet-SH 0 (left alone), NT-Xent"
    assert visit.page.locator('[data-say="summary"]').inner_text().startswith(begin)
    slider, place = visit.page.locator('input[data-cell="0,3"]'), "e => +e.closest('.item').style.order"
    slider.evaluate("s => { s.value = 0.9; s.dispatchEvent(new Event('input', {bubbles: true})); }")
    assert slider.evaluate(place) == 5  # it takes its place when it is let go
    slider.evaluate("s => s.dispatchEvent(new Event('change', {bubbles: true}))")
    assert slider.evaluate(place) == 1
    assert "NT-Xent: weight" in slider.get_attribute("aria-valuetext")


def test_the_curve_is_the_weight_at_every_score(opened):
    visit = opened(one_row())
    points = visit.page.evaluate("""() => [...document.querySelectorAll('[data-part="curve"] polyline')].map(line =>
      line.getAttribute('points').split(' ').map(p => p.split(',').map(Number)))""")
    middle, top = 22 + (190 - 34 - 22) / 2, (190 - 34 - 22) / 2
    for loss, line in zip(FOUR.values(), points, strict=True):
        for k in range(0, 401, 25):
            s = ROW.clone()
            s[0, 1] = -1 + 2 * k / 400
            w = loss.weights(s, OWN)[0, 1]
            share = torch.log1p(w.abs() / 0.01) / torch.log1p(torch.tensor(1e4))
            assert line[k][1] == pytest.approx(float(middle - top * share * w.sign()), abs=0.2)
    x = [p[0] for p in points[0]]
    assert x == sorted(x) and visit.page.locator('[data-part="curve"] circle').count() == 4


@pytest.mark.parametrize("order", [1, -1])
def test_two_on_a_page_move_alone_and_scripts_may_come_twice_and_in_any_order(opened, order):
    """As on the book's pages, which load all scripts of their folder beside those in the outputs."""
    names = sorted(score_table.static_folder().glob("score-table*.js"))[::order]
    head = HTML("".join(f"<script>{name.read_text(encoding='utf-8')}</script>" for name in names))
    visit = opened(head, example(), example(loss="ntxent"))
    assert loss_of(visit, 0)[0] == "triplet" and loss_of(visit, 1)[0] == "ntxent"
    cell(visit, 0, 0).press("PageUp")
    assert [of_table(visit, "state.scores[0][0]", index) for index in (0, 1)] == [0.7, 0.6]
    assert visit.page.locator(".score-table table").count() == 2 and checks.quiet(visit) == []

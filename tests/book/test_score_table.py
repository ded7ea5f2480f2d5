"""The explorable score table in a real browser: every way to move it, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import browser
import page_checks as checks
from icrlib import plots, toy
from icrlib.losses import GradientObjective, NTXent, SmoothAP, Triplet, TripletSH
from icrlib.widgets import explorer, score_table
from score_tables import FOUR, cell, example


def state(visit, index=0):
    """(selected, scores, name of the loss, its options, weights) of a table."""
    return visit.page.evaluate(
        """k => { const t = document.querySelectorAll('.score-table')[k].scoreTable;
      return [t.state.selected, t.state.scores, t.state.losses[t.state.loss].name, t.state.losses[t.state.loss].options,
              t.result[0].weights]; }""",
        index,
    )


def agrees(visit, loss, index=0):
    """Whether what stands in the cells is the library's weight at the scores that stand there."""
    _, scores, _, _, weights = state(visit, index)
    positives = plots.example()[1]
    return torch.allclose(
        torch.tensor(weights, dtype=torch.float64),
        loss.weights(torch.tensor(scores, dtype=torch.float64), positives),
        atol=1e-6,
    )


def test_keys_choose_a_cell_and_move_its_score(opened):
    visit = opened(example())
    cell(visit, 0, 0).focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
        visit.page.keyboard.press(key)
    assert state(visit)[0] == [2, 1]
    for key in ("+", "+", "-", "PageDown"):
        visit.page.keyboard.press(key)
    assert state(visit)[1][2][1] == pytest.approx(0.62 + 0.01 - 0.1) and agrees(visit, Triplet())
    assert "0.53" in cell(visit, 2, 1).get_attribute("aria-label")
    assert [visit.page.evaluate("() => document.activeElement.dataset.cell")] == ["2,1"]
    tabbed = visit.page.locator('button.cell[tabindex="0"]')
    assert tabbed.count() == 1  # one stop for the whole table


def test_mouse_and_finger_drag_a_score_sideways(opened):
    visit = opened(example())
    box = cell(visit, 2, 3).bounding_box()
    visit.page.mouse.move(box["x"] + 20, box["y"] + 20)
    visit.page.mouse.down()
    visit.page.mouse.move(box["x"] + 20 + 45, box["y"] + 20, steps=5)
    visit.page.mouse.up()
    selected, scores, *_ = state(visit)
    assert selected == [2, 3] and scores[2][3] == pytest.approx(0.65) and agrees(visit, Triplet())
    visit.page.mouse.move(box["x"] + 400, box["y"] + 20)
    assert state(visit)[1] == scores  # let go
    assert cell(visit, 0, 0).evaluate("c => getComputedStyle(c).touchAction") == "pan-y"  # a page still scrolls


def test_the_slider_below_moves_the_chosen_cell_as_far_as_a_cosine_goes(opened):
    visit = opened(example())
    cell(visit, 1, 2).click()
    slider = visit.page.locator('[data-part="score"]')
    assert slider.input_value() == "0.5" and "picture 2 with caption 3" in visit.page.locator(".one label").inner_text()
    slider.press("End")
    assert state(visit)[1][1][2] == 1.0 and agrees(visit, Triplet())
    slider.press("Home")
    assert state(visit)[1][1][2] == -1.0


def test_a_loss_and_its_temperature_are_chosen(opened):
    visit = opened(example(controls={"ntxent": {"tau": [0.01, 0.1, 1.0]}}))
    slider = visit.page.locator('[data-control="ntxent.tau"]')
    assert not slider.is_visible()
    visit.page.get_by_role("radio", name="NT-Xent").check()
    assert slider.is_visible() and agrees(visit, NTXent())
    slider.press("ArrowLeft")
    labels = visit.page.locator(".controls").inner_text()
    assert agrees(visit, NTXent(0.01)) and "temperature τ of NT-Xent: 0.01" in labels
    for name, loss in (("SmoothAP", SmoothAP()), ("Triplet-SH", TripletSH())):
        visit.page.get_by_role("radio", name=name, exact=True).check()
        assert agrees(visit, loss)


def test_the_address_keeps_what_was_moved_and_start_again_forgets_it(opened):
    visit = opened(example(controls={"ntxent": {"tau": [0.01, 0.1, 1.0]}}))
    visit.page.get_by_role("radio", name="NT-Xent").check()
    visit.page.locator('[data-control="ntxent.tau"]').press("End")
    cell(visit, 3, 0).press("PageUp")
    moved = state(visit)
    visit.page.reload()
    assert state(visit)[1:] == moved[1:] and moved[1][3][0] == 0.2 and moved[3]["tau"] == 1.0
    visit.page.get_by_role("button", name="Start again").click()
    assert state(visit)[1][3][0] == 0.1 and state(visit)[2:4] == ["triplet", {"margin": 0.2}]
    for strange in ("#scores-000000~2~1~0.0.50", f"{visit.page.url.split('#')[1]}~9.9.9~a.b.c~~"):
        visit.page.goto(visit.page.url.split("#")[0] + "#" + strange.removeprefix("#"))
        visit.page.reload()
    assert checks.quiet(visit) == [] and state(visit)[1] == [
        [0.6, 0.45, 0.5, 0.1],
        [0.3, 0.55, 0.5, 0.2],
        [0.05, 0.62, 0.4, 0.35],
        [0.1, 0.3, 0.2, 0.7],
    ]


def test_a_tour_leads_through_states_and_back(opened):
    tour = [
        {"text": "Here is NT-Xent.", "loss": "ntxent"},
        {"text": "Now the match rises.", "set": [(2, 2, 0.9)], "selected": (2, 2)},
        {"text": "And Triplet?", "loss": "triplet"},
    ]
    visit = opened(example(tour=tour, invitation="Three steps."))
    step = visit.page.locator(".tour p")
    assert step.inner_text() == "Three steps."
    visit.page.get_by_role("button", name="Show me").click()
    assert step.inner_text() == "1 of 3. Here is NT-Xent." and state(visit)[2] == "ntxent"
    cell(visit, 0, 0).press("PageUp")  # what a reader moved is put back by the next step
    visit.page.get_by_role("button", name="Next").click()
    assert state(visit)[0] == [2, 2] and state(visit)[1][2][2] == 0.9 and state(visit)[1][0][0] == 0.6
    visit.page.get_by_role("button", name="Next").click()
    assert state(visit)[2] == "triplet" and state(visit)[1][2][2] == 0.9
    assert visit.page.get_by_role("button", name="Next").is_disabled()
    visit.page.get_by_role("button", name="Back").click()
    assert state(visit)[2] == "ntxent" and step.inner_text().startswith("2 of 3")


# One query.


def one_row(**more):
    scores = torch.tensor([[0.6, 0.5, 0.45, 0.3, 0.7]])
    return explorer(
        scores, torch.tensor([[True, False, False, False, False]]), FOUR, about="one query", together=True, **more
    )


def test_a_list_has_every_loss_side_by_side_and_the_best_first(opened):
    visit = opened(one_row(curve=True, selected=(0, 1)))
    texts = [item.inner_text() for item in visit.page.locator(".item:not(.heads):not(.sum)").all()]
    order = visit.page.evaluate("""() => [...document.querySelectorAll('.item:not(.heads):not(.sum)')]
      .sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top).map(e => e.innerText)""")
    assert len(texts) == 5 and [text.split("caption ")[1][0] for text in order] == ["5", "1", "2", "3", "4"]
    scores, positives = (
        torch.tensor([[0.6, 0.5, 0.45, 0.3, 0.7]], dtype=torch.float64),
        torch.eye(5, dtype=torch.bool)[:1],
    )
    results = visit.page.evaluate("() => document.querySelector('.score-table').scoreTable.result.map(r => r.weights)")
    for loss, found in zip(FOUR.values(), results, strict=True):
        assert torch.allclose(torch.tensor(found, dtype=torch.float64), loss.weights(scores, positives), atol=1e-6)
    summary = visit.page.locator('[data-say="summary"]').inner_text()
    begin = "Caption 2 at 0.50: weight by Triplet +1.0 (pushed down), Triplet-SH 0 (left alone), NT-Xent"
    assert summary.startswith(begin)
    curves = visit.page.locator('[data-part="curve"] polyline')
    assert curves.count() == 4 and visit.page.locator('[data-part="curve"] circle').count() == 4


def test_the_curve_is_the_weight_at_every_score(opened):
    visit = opened(one_row(curve=True, selected=(0, 1)))
    points = visit.page.evaluate("""() => [...document.querySelectorAll('[data-part="curve"] polyline')].map(line =>
      line.getAttribute('points').split(' ').map(p => p.split(',').map(Number)))""")
    middle, top = 22 + (190 - 34 - 22) / 2, (190 - 34 - 22) / 2
    x = [p[0] for p in points[0]]
    for loss, line in zip(FOUR.values(), points, strict=True):
        for k in range(0, 401, 25):
            s = torch.tensor([[0.6, -1 + 2 * k / 400, 0.45, 0.3, 0.7]], dtype=torch.float64)
            w = float(loss.weights(s, torch.eye(5, dtype=torch.bool)[:1])[0, 1])
            share = torch.log1p(torch.tensor(abs(w) / 0.01)) / torch.log1p(torch.tensor(1e4))
            assert line[k][1] == pytest.approx(middle - top * float(share) * (1 if w > 0 else -1), abs=0.2)
    assert x == sorted(x)


def test_a_line_of_the_list_takes_its_place_when_it_is_let_go(opened):
    visit = opened(one_row())
    slider = visit.page.locator('input[data-cell="0,3"]')
    slider.evaluate("s => { s.value = 0.9; s.dispatchEvent(new Event('input', {bubbles: true})); }")
    place = "e => +e.closest('.item').style.order"
    assert slider.evaluate(place) == 5
    slider.evaluate("s => s.dispatchEvent(new Event('change', {bubbles: true}))")
    assert slider.evaluate(place) == 1
    assert "NT-Xent: weight" in slider.get_attribute("aria-valuetext")


# Where it stands.


def test_two_on_a_page_move_alone_and_a_script_that_comes_twice_changes_nothing(opened):
    visit = opened(example(), example(loss="ntxent"))
    visit.page.evaluate(
        """s => { const e = document.createElement('script'); e.textContent = s;
                        document.body.append(e); }""",
        score_table.script("table"),
    )
    cell(visit, 0, 0).press("PageUp")
    assert state(visit, 0)[1][0][0] == 0.7 and state(visit, 1)[1][0][0] == 0.6 and state(visit, 1)[2] == "ntxent"
    assert visit.page.locator(".score-table table").count() == 2 and checks.quiet(visit) == checks.offline(visit) == []


def test_phone_print_and_screen_reader(opened):
    pictures = np.random.default_rng(0).integers(0, 255, (4, 64, 64, 3), np.uint8)
    captions = ["a small red ring above a large blue box"] * 4
    visit = opened(example(pictures=pictures, captions=captions), one_row(curve=True))
    assert checks.fits_phone(visit) == []
    for control in visit.page.locator(".score-table input").all():
        assert control.evaluate("c => c.labels[0] && c.labels[0].textContent.trim()")
    assert cell(visit, 2, 1).get_attribute("aria-label").startswith("picture 3 with caption 2: score 0.62, weight +1.0")
    assert "the match" in cell(visit, 2, 2).get_attribute("aria-label")
    assert [head.inner_text().strip() for head in visit.page.locator("tbody th").all()] == [
        f"picture {k}" for k in range(1, 5)
    ]
    assert visit.page.locator("tbody img").count() == 4 and checks.images(visit) == []
    visit.page.emulate_media(media="print")
    assert not visit.page.get_by_role("button", name="Start again").first.is_visible()
    assert cell(visit, 0, 0).is_visible() and not visit.page.locator('[data-part="score"]').is_visible()


@pytest.mark.parametrize("make", [example, toy.wind_up])
def test_without_scripts_the_page_says_so(chrome, tmp_path, make):
    path = tmp_path / "still.html"
    path.write_text(f'<!doctype html><meta charset="utf-8">{make().data}')
    context = browser.context(chrome, java_script_enabled=False)
    page = context.new_page()
    page.goto(path.as_uri())
    assert "has not run here" in page.locator('[data-say="summary"]').inner_text()
    context.close()


def test_same_input_gives_the_same_small_text():
    assert example().data == example().data != example(loss="ntxent").data
    assert len(score_table.script("table")) < 40_000 and "</" not in score_table.script("table")
    assert "http" not in score_table.script("table").replace("http://www.w3.org/2000/svg", "")
    assert "<\\/b>" in example(invitation="</b>").data.split('json">')[1]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"scores": torch.zeros(4, 3)}, r"one shape .* \(4, 3\) and \(4, 4\)"),
        ({"scores": torch.full((4, 4), 1.5)}, "cosines, from -1 to 1"),
        ({"scores": torch.full((4, 4), torch.nan)}, "cosines, from -1 to 1"),
        ({"positives": torch.zeros(4, 4, dtype=torch.bool)}, "needs a match"),
        ({"positives": torch.ones(4, 4, dtype=torch.bool)}, "needs a match"),
        ({"losses": {}}, "one loss at least"),
        ({"loss": "hinge"}, "hinge"),
        ({"columns": ["a"]}, "1 columns for scores of 4 rows"),
        ({"captions": ["a"]}, "1 captions"),
        ({"together": True}, "for one query"),
        ({"controls": {"ntxent": {"tau": [0.5, 1.0]}}}, "tau of ntxent is 0.1, which is none"),
        ({"controls": {"triplet": {"tau": [0.5]}}}, "tau"),
        ({"losses": {"goal": GradientObjective("nca", "lin", convention="released")}}, "no formula"),
        ({"tour": [{"text": "x", "loss": "y"}]}, "loss of a step"),
    ],
)
def test_what_does_not_fit_is_named(wrong, message):
    scores, positives = plots.example()
    given = {"scores": scores, "positives": positives, "losses": FOUR, "about": "x"} | wrong
    with pytest.raises(ValueError, match=message):
        explorer(**given)


@pytest.mark.parametrize("order", [1, -1])
def test_a_page_may_load_the_scripts_in_any_order(chrome, tmp_path, order):
    """As the book's pages do, which load all scripts of their folder, whether there is a table or not."""
    names = sorted((score_table.static_folder()).glob("score-table*.js"))[::order]
    head = "".join(f"<script>{name.read_text(encoding='utf-8')}</script>" for name in names)
    bare = example().data.split("<script>")[0] + "</div>"
    for body in (bare, ""):
        path = tmp_path / "page.html"
        path.write_text(f'<!doctype html><html lang="en"><meta charset="utf-8"><title>t</title>{head}<body>{body}')
        visit = checks.Visit(chrome, path)
        assert visit.page.locator(".cell").count() == (16 if body else 0) and checks.quiet(visit) == []
        visit.context.close()

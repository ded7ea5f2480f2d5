"""The part of shortcuts/constraint that reads our own runs: without them, with some, with all; on made-up records."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import chapter_cells
from icrlib import LagrangeMultiplier
from ltd_runs import run_of
from record_files import answer_with

SCRIPT = Path(__file__).parents[2] / "book" / "shortcuts" / "constraint.py"
SEEDS = range(5)


@pytest.fixture
def page(monkeypatch):
    """A function: {study: records} -> (names, what the cells showed as text), of the section on our own runs alone."""
    sources = chapter_cells.sources(SCRIPT)
    start = next(k for k, text in enumerate(sources) if text.startswith("MAKE ="))
    end = next(k for k, text in enumerate(sources) if text.startswith("push = ("))
    setup = [text for text in sources if "chapter.start(smoke)" in text or text.startswith("def log_with_zero")]

    def run(studies):
        answer_with(monkeypatch, studies, others=lambda study: [])
        names, shown = chapter_cells.execute((*setup, *sources[start:end]), {"smoke": False, "first_ends": FIGURE_2})
        return names, "\n".join(shown)

    return run


FIGURE_2 = {"baseline": 323.0, "lag_0.05": 310.0, "lag_0.1": 320.0, "lag_0.2": 333.0, "lag_0.3": 330.0}


def made(objective="lagrange", seeds=SEEDS, rsum=(300.0, 302, 299, 305, 301), **more):
    runs = [run_of(objective, seed=s, rsum=rsum[s], **more) for s in seeds]
    for run in runs:
        run["config"]["loss"] = "ntxent"
    return runs


def test_without_runs_the_page_says_how_to_make_them(page):
    names, shown = page({})
    assert shown.count("not run yet") == 3 and "make records STUDY=ltd`" in shown and "STUDY=ltd_eta`" in shown
    assert "still open here" in shown and not names["TABLE"] and "nan" not in shown


def test_both_rules_are_compared_draw_by_draw(page):
    ahead = [4.0, 1.0, 2.0, 3.0, 5.0]
    published = made()
    projected = made(rule="projected", rsum=[r["test"]["rsum"] + a for r, a in zip(published, ahead, strict=True)])
    names, shown = page({"ltd": [*published, *reversed(projected), *made("con"), *made("dual")]})
    half = stats.t.ppf(0.975, 4) * np.std(ahead, ddof=1) / 5**0.5
    (line,) = names["TABLE"]
    assert line["projected less published: rsum"] == f"3.0 [{3 - half:.1f}, {3 + half:.1f}]"
    assert line["published: rsum"].startswith("301.4 [") and line["draws"] == 5 and line["η"] == "0.2"
    assert line["projected less published: swap"] == "0.0 [0.0, 0.0]"
    assert "above zero in 1 (projected retrieves better), below zero in 0, and contains zero in 0" in shown
    assert "no verdict" in shown and "STUDY=ltd`" not in shown


def test_a_difference_that_may_be_none_and_one_the_other_way(page):
    runs = [
        *made(),
        *made(rule="projected", rsum=(298.0, 304, 300, 303, 302)),
        *made(eta=0.1, target="form"),
        *made(eta=0.1, target="form", rule="projected", rsum=(290.0, 292, 289, 295, 291.5)),
    ]
    names, shown = page({"ltd": runs})
    assert [line["target"] for line in names["TABLE"]] == ["form", "sbert"] and names["TARGET"] == "sbert"
    assert "Of 2 pairs" in shown and "above zero in 0" in shown and "below zero in 1, and contains zero in 1" in shown


def test_figure_2_has_a_curve_for_each_bound_and_is_no_running_maximum(page):
    runs = [*made(eta=0.05), *made(eta=0.3), *made("dual"), *made("con"), *made(eta=0.3, rule="projected")]
    for run in runs:
        run["history"][3]["val"]["rsum"] -= 50
    names, shown = page({"ltd_eta": runs})
    count = [len(ax.lines) for ax in names["axes"].flat]
    assert count == [4, 2, 3 + 2, 4]  # dotted bounds beside the reconstructions
    rising = np.diff(names["axes"][0, 0].lines[0].get_ydata())
    assert (rising < 0).any()
    assert [(line["run"], line["draws"]) for line in names["BY_BOUND"]] == [
        ("baseline", 5),
        ("dual", 5),
        ("η = 0.05", 5),
        ("η = 0.3", 5),
    ]
    assert "Target: sbert" in shown and "STUDY=ltd_eta`" not in shown


def test_the_table_of_bounds_says_when_lambda_is_zero_and_what_it_is_worth(page):
    """Against a twin: λ first zero, how often, and rsum less the baseline by draw; baseline and dual from `ltd`."""
    ahead = np.array([7.0, 9.0, 8.0, 12.0, 4.0])
    losses = [*[0.2] * 3, *[0.01] * 290, *[0.5] * 7]  # λ falls to zero, then the bound is broken
    alone, tight, wide = made("con"), made(eta=0.05), made(eta=0.1, losses=losses, rows=300)
    for run, more in zip(wide, ahead, strict=True):
        run["test"]["rsum"] += more
    names, shown = page({"ltd": [*alone, *made("dual"), *made(eta=0.1)], "ltd_eta": [*tight, *wide]})
    lines = {line["run"]: line for line in names["BY_BOUND"]}
    assert list(lines) == ["baseline", "dual", "η = 0.05", "η = 0.1"] and "less the baseline" not in lines["baseline"]
    half = stats.t.ppf(0.975, 4) * np.std(ahead, ddof=1) / 5**0.5
    assert lines["η = 0.1"]["less the baseline"] == f"8.0 [{8 - half:.1f}, {8 + half:.1f}]"
    log = [dict(zip(wide[0]["log_columns"], row, strict=True)) for row in wide[0]["log"]]
    zero = [row for row in log if row["lambda"] <= 0]
    assert lines["η = 0.1"]["λ first zero at update"] == (f"{zero[0]['update']:,.0f}" if zero else "never")
    often, bad = len(zero) / len(log), sum(row["reconstruction"] > 0.1 for row in zero) / len(log)
    assert lines["η = 0.1"]["λ zero, and bound broken"] == f"{100 * often:.0f} %, {100 * bad:.0f} %" and often > bad
    assert "The order of Figure 2 comes out again." in shown
    assert "The best rsum belongs to η = 0.1: it is 8.0 [" in shown and "Validation had picked the same" in shown


def test_the_order_of_the_bounds_is_held_against_figure_2(page):
    """Of the bounds that both have, the best first."""
    runs = {eta: made(eta=eta) for eta in (0.05, 0.1, 0.2, 0.7)}
    for run, more in ((run, {0.05: 9, 0.1: 4, 0.2: 6, 0.7: 1}[eta]) for eta, of in runs.items() for run in of):
        run["test"]["rsum"] += more
    _, shown = page({"ltd": made("con"), "ltd_eta": [run for of in runs.values() for run in of]})
    assert "Figure 2, 0.2, 0.1, 0.05 from the best down, does not come out again: here it is 0.05, 0.2, 0.1." in shown


def test_few_draws_are_shown_with_their_number_and_decide_nothing(page):
    names, shown = page({"ltd": [*made(seeds=[0]), *made(rule="projected", seeds=[0, 1])]})
    (line,) = names["TABLE"]
    assert line["draws"] == 1 and "(one draw)" in line["projected less published: rsum"]
    assert "above zero in 0" in shown and "contains zero in 1" in shown


def test_one_rule_alone_is_no_comparison(page):
    names, shown = page({"ltd": made()})
    assert not names["TABLE"] and "make records STUDY=ltd`" in shown
    assert [(line["run"], line["draws"]) for line in names["BY_BOUND"]] == [("η = 0.2", 5)]


def test_triplet_runs_stay_out(page):
    runs = made()
    for run in runs:
        run["config"]["loss"] = "triplet_sh"
    names, shown = page({"ltd": runs, "ltd_eta": runs})
    assert not names["OURS"] and shown.count("not run yet") == 3


def longer(rule, losses, chosen):
    (run,) = made(rule=rule, seeds=[0], losses=losses, rows=len(losses))
    run["chosen"] = {"update": chosen}
    return run


@pytest.mark.parametrize(("chosen", "says"), [(500, "the rule made no difference here"), (9000, "Test rsum: 300.0")])
def test_a_longer_training_shows_where_the_rules_part_and_what_follows(page, chosen, says):
    """A reconstruction that falls, stays low and rises: what the multipliers do over it, once more by hand."""
    fallen = [0.9] * 5 + [0.05] * 400  # λ is zero from the 300th on, and x runs on to -0.4
    free, held = fallen + [0.6] * 80, fallen + [0.3] * 80
    names, shown = page({"ltd_rules": [longer("published", free, chosen), longer("projected", held, chosen)]})
    assert names["PARTED"] == {("sbert", 0.2): 20 * 406} and "the two part at update 8,120" in shown and says in shown
    for rule, rec in (("published", free), ("projected", held)):
        weighing, values = LagrangeMultiplier(0.2, rule=rule), []
        for one in rec:
            weighing.step(one)
            values.append(float(weighing.value))
        zero = np.array(values[405:]) <= 1e-9
        back = int(((~zero[1:]) & zero[:-1]).sum())
        assert back == 1 and (zero.mean() > 0.3) == (rule == "published")
        assert f"with the {rule} rule λ is zero in {100 * zero.mean():.0f} % of the logged updates" in shown
        assert f"comes back {back} time" in shown and f"five logged batches is {max(rec[405:]):.3f}" in shown
    assert [len(ax.lines) for ax in names["pair"]] == [3, 2]


def test_a_longer_training_in_which_nothing_parts_says_so(page):
    losses = [0.9] * 30
    _, shown = page({"ltd_rules": [longer(rule, losses, 500) for rule in ("published", "projected")]})
    assert "The same run by both rules: η = 0.2 (sbert)." in shown and "part at update" not in shown

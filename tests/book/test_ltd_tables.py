"""Our rows in shortcuts/tables, which are read from records: without any, with some, with all; made-up records."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from icrlib.evidence import ltd_rows
from ltd_studies import everything, gains, made_up, tables
from record_files import put


def section():
    """The cells about our rows, with what they show as text, and the tables."""
    return tables(("OURS = ", 3))


def shown(names, place):
    """The lines of one of our tables, {row: {column: text}}; each stands in the page, too."""
    page = names["own_table"](place).data
    assert all(f">{name}<" in page for name in map(ltd_rows.TITLES.get, names["OURS"][place]))
    lines = (names["own_line"](row, group) for row, group in names["OURS"][place].items())
    return {line["", "row"]: {" ".join(key).strip(): text for key, text in line.items()} for line in lines}


def test_without_runs_the_commands_are_named(book):
    names, (rows, waits) = section()
    assert rows == "None of these rows has its runs yet; the commands stand below."
    assert waits.count("\n- ") == 3 and "`make records STUDY=ltd_triplet`" in waits
    assert "photos (Flickr8k)**: baseline, LTD dual, LTD constrained, fixed targets, tuned targets" in waits


def test_a_row_counts_with_all_of_its_draws(book):
    for seed in range(5):
        put(book, "ltd", made_up("con", "con", seed, rsum=400.0 + seed), "con")
    for seed in range(4):
        put(book, "ltd", made_up("sbert", "dual", seed), "sbert-dual")
    names, (rows, waits) = section()
    found = shown(names, "scenes")
    assert list(found) == ["baseline"] and found["baseline"]["rsum"] == "402.0 ± 1.4" and found["baseline"]["n"] == "5"
    assert "**scenes, InfoNCE**: LTD dual, LTD constrained" in waits


def test_all_rows_with_the_released_softmax_and_the_oracle(book):
    everything(book)
    names, (rows, waits) = section()
    found = shown(names, "scenes")
    assert list(found) == [
        "baseline",
        "LTD dual",
        "LTD constrained",
        "LTD constrained, projected rule",
        "ITD dual",
        "ITD constrained",
        "ITD dual, softmax as released",
        "ITD constrained, softmax as released",
        "logical form dual",
        "logical form constrained",
    ]
    more = gains("time", "published")
    assert found["ITD constrained, softmax as released"]["rsum"].startswith(f"{418 + more.mean():.1f} ±")
    assert found["logical form dual"]["twins swap %"].startswith(f"{60 + gains('form', 'dual').mean() / 10:.1f} ±")
    assert "scenes, InfoNCE" not in waits and "**scenes, Triplet-SH**: baseline, LTD constrained. `make" in waits


def temperatures():
    """What the cells about the baseline's temperature show, behind those about our rows."""
    names, told = tables(("def over_baseline", "clear = "))
    return names, told[-1]


ROWS_TUNED = [("sbert", "dual"), ("sbert", "published"), ("form", "dual"), ("form", "published")]


def test_a_lead_is_held_against_a_baseline_of_another_temperature(book):
    """Paired differences by a twin: of the two baselines, and of each row to the better one."""
    everything(book)
    wobble = [0.0, 2.0, -1.0, 1.5, 0.5]
    for seed in range(5):
        base = 400.0 + 9 * seed + 100 + wobble[seed]
        put(book, "ltd_tuned", made_up("con", "con", seed, rsum=base), "con")
        for k, (kind, way) in enumerate(ROWS_TUNED):
            put(
                book,
                "ltd_tuned",
                made_up(kind, way, seed, rsum=base + (20 if k == 3 else 0) + (-1) ** seed),
                f"{kind}-{way}",
            )
    names, said = temperatures()
    half = stats.t.ppf(0.975, 4) * np.std(wobble, ddof=1) / 5**0.5
    mean = 100 + np.mean(wobble)
    assert f"*alone* has {mean:+.1f} [{mean - half:+.1f}, {mean + half:+.1f}] rsum more (n = 5)" in said
    assert "the temperature alone is worth more than the best" in said
    assert "Beside the better baseline *logical form constrained* keeps +20.2 [" in said and "(of 4 rows that" in said
    found = {row: one.mean for row, one in names["at_warm"].items()}
    assert found == pytest.approx({"dual": 0.2, "lag": 0.2, "form_dual": 0.2, "form_lag": 20.2})


def test_fewer_than_three_draws_of_the_other_temperature_say_nothing_and_more_say_how_many(book):
    everything(book)
    for seed in range(2):
        put(book, "ltd_tuned", made_up("con", "con", seed, rsum=500.0 + 9 * seed), "con")
    assert temperatures()[1] == "Those runs are not complete yet: `make records STUDY=ltd_tuned`."
    put(book, "ltd_tuned", made_up("con", "con", 2, rsum=518.0), "con")
    said = temperatures()[1]
    assert "*alone* has +100.0 [+100.0, +100.0] rsum more (n = 3)" in said
    assert "No row beside it has three draws yet. (22 of 25 runs are missing: `make records STUDY=ltd_tuned`.)" in said


def test_the_figure_shows_every_row_at_its_own_height_and_both_temperatures(book, monkeypatch):
    import matplotlib.pyplot as plt

    everything(book)
    for seed in range(3):
        put(book, "ltd_tuned", made_up("con", "con", seed, rsum=500.0 + seed), "con")
        put(book, "ltd_tuned", made_up("form", "published", seed, rsum=507.0 + seed), "form-published")
    names, _ = temperatures()
    drawn = []
    monkeypatch.setattr(plt, "show", lambda: drawn.append(plt.gcf()))
    names["leads"]()
    left, right = drawn[0].axes
    labels = [tick.get_text() for tick in left.get_yticklabels()]
    points = [list(zip(*line.get_data(), strict=True)) for line in left.lines if line.get_marker() == "o"]
    for (x, y), row in zip(points[0], names["AHEAD"], strict=True):
        assert labels[round(y)] == ltd_rows.TITLES[row] and x == pytest.approx(names["AHEAD"][row][0].mean)
    ((x, y),) = points[1]
    assert labels[round(y)] == "logical form constrained" and x == pytest.approx(7.0)
    assert len([line for line in right.lines if line.get_marker() == "o"]) == 1

"""The results of shortcuts/decoding, which are read from records: with none, with some, with all; made-up records."""

from __future__ import annotations

import numpy as np
import pytest

import chapter_cells
from chapter_cells import taken
from ltd_studies import DECODING, ETA, REAL, ROWS, decoding_imports, everything, gains, made_up
from record_files import put

T4 = 2.7764451  # Student's t at 97.5 %, four degrees of freedom


def section():
    """The cells from the table of targets to the words about the stronger baseline, and what they show."""
    cells = [*decoding_imports(), *taken(DECODING, "KINDS = ", "both = ")]
    names, shown = chapter_cells.execute(cells, {"smoke": False})
    return names | {"shown": shown}


def test_without_runs_the_page_says_which_commands_make_them(book):
    found = section()
    assert found["complete"] == {} and found["result"] == "" and found["kinds"] == []
    assert found["missing"] == (
        "None of these runs exists yet. This makes them: `make records STUDY=ltd_tuning`, `make records "
        "STUDY=ltd_eta_tuning`, `make records STUDY=ltd`, in this order."
    )
    said = " ".join(found["shown"])
    assert "`make records STUDY=ltd_tuned`" in said and "So no result is stated here." in said
    assert "The search for the bounds has not been run yet" in said and "So nothing is said of it here." in said


def test_a_search_that_is_there_is_not_asked_for_again(book):
    put(book, "ltd_tuning", made_up("con", "con", 0), "lr")
    put(book, "ltd_eta_tuning", made_up("sbert", "dual", 0, val=411.2), "dual")
    for eta, val in ((0.2, 420.4), (0.05, 399.0)):
        put(book, "ltd_eta_tuning", made_up("sbert", "published", 0, val=val, eta=eta), f"eta{eta}")
    found = section()
    assert found["missing"].endswith("This makes them: `make records STUDY=ltd`, in this order.")
    assert found["bounds"].to_dict("records") == [
        {"target": "sentence encoder", "validation rsum": "β = 1: 411; η = 0.05: 399; η = 0.2: 420"}
    ]


def test_the_tables_show_means_paired_intervals_and_moments(book):
    everything(book)
    found = section()
    table = found["results"](found["complete"])
    assert len(table) == 12 and found["missing"] == ""
    lines = {
        (found["KINDS"][kind], found["WAYS"][way] + (f", η = {ETA[kind]:g}" if way != "dual" else "")): (kind, way)
        for kind, way in ROWS
    }
    alone, *rows = table.to_dict("records")
    assert (alone["rsum"], alone["less alone"], alone["reads from update"]) == ("418.0", "–", "1,500 (5 of 5)")
    for line in rows:
        more = gains(*lines[line["target"], line["beside the loss"]])
        half = T4 * more.std(ddof=1) / 5**0.5
        assert line["rsum"] == f"{418.0 + more.mean():.1f}" and line["draws"] == 5 and line["attribute %"] == "92.0"
        assert line["less alone"] == f"{more.mean():+.1f} [{more.mean() - half:+.1f}, {more.mean() + half:+.1f}]"
        tenth = more / 10
        assert line["less alone "].startswith(f"{tenth.mean():+.1f} [") and line["swap %"] == f"{60 + tenth.mean():.1f}"
        reads = {"logical form": "1,000 (5 of 5)", "words, softmax over time": "– (0 of 5)"}
        assert line["reads from update"] == reads.get(line["target"], "1,500 (5 of 5)")


def test_the_decoders_are_told_at_the_chosen_evaluation(book):
    everything(book)
    found = section()
    table = found["decoders"](found["complete"]).set_index(["target", "beside the loss"])
    update = REAL[0]["history"][-2]["update"]
    for kind, way in ROWS:
        line = table.loc[found["KINDS"][kind], found["WAYS"][way]]
        assert line["reconstruction"] == f"{0.52 - update / 10000:.2f}" and line["seconds"] == "52"
        assert line["a constant"] == {"sbert": "0.36", "form": "0.68"}.get(kind, "–")
        held = ("–", "–") if way == "dual" else (f"{update / 1000:.2f}", f"{ETA[kind]:g}")
        assert (line["λ"], line["bound"]) == held
    assert table.loc["none", "loss alone"]["reconstruction"] == "–"


def test_the_words_follow_the_intervals(book):
    everything(book)
    result = section()["result"]
    rsum = result.partition("In swap accuracy")[0]
    above, below = rsum.split("above the loss alone for ")[1].split(", and below it for ")
    sure = {row: gains(*row).mean() - T4 * gains(*row).std(ddof=1) / 5**0.5 > 0 for row in ROWS}
    known = {"sbert": "sentence encoder", "words": "words", "form": "logical form", "time": "words, softmax over time"}
    ways = {"dual": "sum, β = 1", "published": "bound, as published", "projected": "bound, projected"}
    for kind, way in ROWS:
        who = f"{known[kind]} ({ways[way]})"
        mean = gains(kind, way).mean()
        assert (f"; {who} {mean:+.1f}" in f"; {above}") == sure[kind, way]
        lower = mean + T4 * gains(kind, way).std(ddof=1) / 5**0.5 < 0
        assert (f"; {who} {mean:+.1f}" in f"; {below}") == lower
    assert "logical form (sum, β = 1) −500" in result and "softmax over time" not in result.split("begins, less")[1]


def test_rules_that_made_the_same_runs_are_one_row(book):
    everything(book)
    for seed in range(5):
        more = gains("form", "published")[seed]
        record = made_up("form", "projected", seed, rsum=400.0 + 9 * seed + more, swap=60.0 + more / 10, begins=1000)
        put(book, "ltd", record, "form-projected")
    found = section()
    rows = found["apart"](found["complete"], "test.rsum")
    assert "logical form (bound, both rules)" in rows and len(rows) == len(ROWS) - 1
    assert not any(row.startswith("logical form (bound, p") for row in rows)
    assert "These are 20 comparisons" in " ".join(found["shown"]) and "(*Both rules*:" in " ".join(found["shown"])


def test_rows_without_runs_are_named_and_draws_are_shared(book):
    everything(book, rows=ROWS[:2])
    (book / "studies/ltd/scenes/ltd/ntxent/sbert-dual-seed1.json").unlink()
    found = section()
    table = found["results"](found["complete"])
    assert table["draws"].tolist() == [5, 4, 5] and "sentence encoder, sum, β = 1 4 of 5" in found["missing"]
    assert "logical form, bound, projected 0 of 5" in found["missing"] and "bound, as published" not in " ".join(
        part for part in found["missing"].split("; ") if part.startswith("sentence")
    )
    more = np.delete(gains("sbert", "dual"), 1)
    assert float(table["less alone"][1].split()[0]) == pytest.approx(more.mean(), abs=0.051)


def test_the_stronger_baseline_is_shown_where_it_is_trained(book):
    everything(book)
    everything(book, "ltd_tuned", [("sbert", "dual"), ("sbert", "published"), ("form", "dual"), ("form", "published")])
    found = section()
    assert len(found["warmer"]) == 5 and found["shown"][-1].startswith(
        "The loss alone has an rsum of 418.0 here and 418.0 above. In rsum the whole interval"
    )
    assert "STUDY=ltd_tuned" not in " ".join(found["shown"])

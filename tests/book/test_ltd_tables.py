"""Our rows in shortcuts/tables, which are read from records: without any, with some, with all; made-up records."""

from __future__ import annotations

from pathlib import Path

import pytest

import chapter_cells
from icrlib.paper import ltd_evidence
from icrlib.records import files
from ltd_studies import everything, gains, made_up, put

SCRIPT = Path(__file__).parents[2] / "book" / "shortcuts" / "tables.py"


@pytest.fixture
def book(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "root", lambda: tmp_path)
    return tmp_path


def section():
    """The cells about our rows, with what they show as text, and the tables."""
    source = chapter_cells.sources(SCRIPT)
    head = next(cell for cell in source if cell.startswith("import matplotlib")).split("smoke = chapter")[0]
    sides = 'SIDES = {"i2t": "image to text", "t2i": "text to image"}'
    first = next(k for k, cell in enumerate(source) if cell.startswith("OURS = "))
    return chapter_cells.execute([head, sides, *source[first : first + 3]], {"smoke": False})


def shown(names, place):
    """The lines of one of our tables, {row: {column: text}}; each stands in the page, too."""
    page = names["own_table"](place).data
    assert all(f">{name}<" in page for name in map(ltd_evidence.TITLES.get, names["OURS"][place]))
    lines = (names["own_line"](row, group) for row, group in names["OURS"][place].items())
    return {line["", "row"]: {" ".join(key).strip(): text for key, text in line.items()} for line in lines}


def test_without_runs_the_commands_are_named(book):
    names, (tables, waits) = section()
    assert tables == "None of these rows has its runs yet; the commands stand below."
    assert waits.count("\n- ") == 3 and "`make records STUDY=ltd_triplet`" in waits
    assert "photos (Flickr8k)**: baseline, LTD dual, LTD constrained, fixed targets, tuned targets" in waits


def test_a_row_counts_with_all_of_its_draws(book):
    for seed in range(5):
        put(book, "ltd", made_up("con", "con", seed, rsum=400.0 + seed), "con")
    for seed in range(4):
        put(book, "ltd", made_up("sbert", "dual", seed), "sbert-dual")
    names, (tables, waits) = section()
    found = shown(names, "scenes")
    assert list(found) == ["baseline"] and found["baseline"]["rsum"] == "402.0 ± 1.4" and found["baseline"]["n"] == "5"
    assert "**scenes, InfoNCE**: LTD dual, LTD constrained" in waits


def test_all_rows_with_the_released_softmax_and_the_oracle(book):
    everything(book)
    names, (tables, waits) = section()
    found = shown(names, "scenes")
    assert list(found) == [
        "baseline", "LTD dual", "LTD constrained", "LTD constrained, projected rule", "ITD dual", "ITD constrained",
        "ITD dual, softmax as released", "ITD constrained, softmax as released", "logical form dual",
        "logical form constrained"]  # fmt: skip
    more = gains("time", "published")
    assert found["ITD constrained, softmax as released"]["rsum"].startswith(f"{418 + more.mean():.1f} ±")
    assert found["logical form dual"]["twins swap %"].startswith(f"{60 + gains('form', 'dual').mean() / 10:.1f} ±")
    assert "scenes, InfoNCE" not in waits and "scenes, Triplet-SH" in waits

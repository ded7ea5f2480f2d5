"""GOAL's tables as data against the printed lines; and the grid."""

from __future__ import annotations

import itertools
from pathlib import Path

import pandas as pd
import pytest

from icrlib import paper
from icrlib.losses import objectives

# The lines of Tables 3 to 6, and 2 (marked T2), as the paper's page has them.
PRINTED = Path(__file__).with_name("goal_printed.txt").read_text(encoding="utf-8").splitlines()
SETTINGS = {
    "VSE++ (ResNet152)": "r152",
    "VSE++ (ResNet152, fine-tuned)": "r152_ft",
    "VSE++ (ViT-base-patch16)": "vit",
    "VSE++ (ViT-base-patch16, fine-tuned)": "vit_ft",
    "VSE ∞ (BUTD)": "butd",
    "VSE ∞ (WSL)": "wsl",
}


def page_cells() -> dict:
    """(setting, direction, T, P) -> (mean, deviation), read from the printed lines."""
    actual, setting = {}, None
    for line in PRINTED:
        setting = SETTINGS.get(line, setting)
        if line.startswith("P^{"):
            head, *cells = line.split(" | ")
            places = itertools.product(("i2t", "t2i"), ("con", "nca", "cir"))
            for (side, t), text in zip(places, cells, strict=True):
                actual[setting, side, t, head[3:-1]] = tuple(float(part) for part in text.split(" ± "))
    return actual


def same(a, b) -> bool:
    return (pd.isna(a) and pd.isna(b)) or a == b


def test_every_cell_is_the_printed_one():
    page, cells = page_cells(), paper.goal.cells()
    assert len(page) == len(cells) == 180
    assert {(r.setting, r.direction, r.T, r.P): (r.mean, r.std) for r in cells.itertuples()} == page
    assert (cells["objective"] == cells["T"] + " x " + cells["P"]).all()
    assert {f"goal:{objective}" for objective in cells["objective"]} == set(objectives())


def test_tables_2_and_6_are_the_printed_lines():
    lines = [line.removeprefix("T2 ").split(" | ") for line in PRINTED if line.startswith("T2 ")]
    for (name, *cells), (_, row) in zip(lines, paper.table("goal/2").iterrows(), strict=True):
        assert name.replace(" ", "") == row["method"].replace(" ", "")
        for side, text in zip(("i2t", "t2i"), cells, strict=True):
            mean, _, std = text.partition(" ± ")
            assert row[f"{side}_r1"] == float(mean) and same(row[f"{side}_r1_std"], float(std) if std else None)
    lines = [line.split(" | ") for line in PRINTED if not line.startswith("T2 ") and line.count(" | ") == 14]
    names = [f"{d}_{s}_r{k}" for d in ("coco", "f30k") for s in ("i2t", "t2i") for k in (1, 5, 10)]
    for (name, trained, size, *cells), (_, row) in zip(lines, paper.table("goal/6").iterrows(), strict=True):
        reference = "" if pd.isna(row["reference"]) else row["reference"]
        assert name.replace(" ", "") == (row["method"] + reference).replace(" ", "")
        assert row["pretraining"] == (trained == r"\checkmark")
        assert same(row["data_size"], None if size == "-" else size)
        for metric, text in zip(names, cells, strict=True):
            assert same(row[metric], None if text == "-" else float(text)) and pd.isna(row[f"{metric}_std"])
    assert paper.table("goal/6")["coco_i2t_r1_std"].dtype == float


def test_grid_has_the_papers_form():
    plain = paper.grid(paper.table("goal/3"), style="plain")
    for line, (_, row) in zip([ln for ln in PRINTED if ln.startswith("P^{")][:10], plain.iterrows(), strict=True):
        assert line.split(" | ")[1:] == [cell.replace("± .", "± 0.") for cell in row]
    assert paper.layout(paper.table("goal/3"), style="plain").equals(plain)
    assert paper.layout(paper.table("goal/1"), style="plain").loc["lin", ("loss", "cir")] == "Circle loss"
    page = paper.grid(paper.table("goal/4")).data
    assert page == paper.grid(paper.table("goal/4")).data and page.count("<table") == page.count("<caption>") == 4
    assert max(len(row.split("</td>")) for row in page.split("</tr>")) <= 5  # P and three cells: a phone has room


def test_grid_of_own_results_with_missing_cells():
    rows = [("con", "con", 427.04, 1.8, 3), ("cir", "sig-ms", 254.1, None, 1)]
    actual = pd.DataFrame(rows, columns=["T", "P", "rsum", "rsum_std", "n"])
    plain = paper.grid(actual, style="plain")
    assert plain.loc["con", ("rsum", "con")] == "427.0 ± 1.8" and plain.loc["sig-ms", ("rsum", "cir")] == "254.1"
    assert (plain == "–").sum().sum() == 13 and plain.shape == (5, 3)
    assert paper.grid(actual).data.count("–") == 13
    with pytest.raises(ValueError, match="con x con"):
        paper.grid(pd.concat([actual, actual]))

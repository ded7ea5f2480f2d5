"""Published tables: whole, consistent as far as the papers are, and rendered as printed."""

from __future__ import annotations

import math

from icrlib import paper
from icrlib.paper.cells import cell


def test_arithmetic_of_table_1_holds_but_for_one_cell():
    """rsum is the sum of six recalls, average recall the mean of three, within what rounding allows."""
    off = set()
    for row, values in paper.table("ecir/1").iterrows():
        total = sum(values[f"{side}_r{k}"] for side in ("i2t", "t2i") for k in (1, 5, 10))
        assert abs(total - values["rsum"]) <= 0.35, row
        for side in ("i2t", "t2i"):
            mean = sum(values[f"{side}_r{k}"] for k in (1, 5, 10)) / 3
            if abs(mean - values[f"{side}_average_recall"]) > 0.1:
                off.add((row, f"{side}_average_recall"))
    assert off == {("2.7", "t2i_average_recall")}
    listed = paper.inconsistencies()
    assert off <= {(r["row"], r["metric"]) for _, r in listed.iterrows() if r["table"] == "1"}


def test_arithmetic_of_table_2_shows_conditional_means():
    """C_q (B - C_0) = C_B: the printed C_q averages over queries with a gradient only (B = 127.979)."""
    for row, values in paper.table("ecir/2").iterrows():
        for side in ("i2t", "t2i"):
            if math.isnan(values[f"{side}_C_q"]):
                continue
            product = values[f"{side}_C_q"] * (127.979 - values[f"{side}_C_0"])
            assert abs(product / values[f"{side}_C_B"] - 1) < 0.006, (row, side)


def test_layout_prints_as_the_paper_does():
    assert cell(46.0, 0.6) == "46.0 ± .6" and cell(0.41, 0.0, 2) == "0.41 ± .00" and cell(50.0, None) == "50.0"
    assert cell(None, None) == cell(float("nan"), 1.0) == "–"
    plain = paper.layout(paper.table("ecir/1"), style="plain")
    assert plain.loc["1.8", ("image to text", "R@1")] == "63.1 ± 1.0"
    assert plain.loc["1.8", ("", "rsum")] == "444.0 ± 2.1"
    page = paper.layout(paper.table("ecir/1")).data
    assert "444.0 ± 2.1" in page and page == paper.layout(paper.table("ecir/1")).data  # same input, same ids


def test_rows_as_they_were_run():
    """The released job files: the schedule differs by loss, by method and by data."""
    wanted = {"1.1": (30, 15), "1.4": (150, 75), "1.5": (30, 10), "1.8": (150, 50), "2.5": (30, 15), "2.8": (150, 75)}
    for row, expected in wanted.items():
        assert tuple(paper.experiment(f"ecir/{row}")[name] for name in ("epochs", "lr_update")) == expected, row
    assert paper.experiment("ecir/1.3")["tau"] == 0.1 and paper.experiment("ecir/2.6")["embed_dim"] == 2048
    names = {"triplet": "Triplet loss", "triplet_sh": "Triplet loss SH", "ntxent": "NT-Xent", "smoothap": "SmoothAP"}
    data = {"flickr30k": "Flickr30k", "coco": "MS-COCO"}
    for row, line in paper.table("ecir/1").iterrows():
        settings = paper.experiment(f"ecir/{row}")
        assert (names[settings["loss"]], data[settings["dataset"]]) == (line["loss"], line["dataset"])
        assert settings["method"] == line["method"].lower()

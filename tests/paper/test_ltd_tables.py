"""LTD's tables as data against the printed lines; its words against its own numbers; and its rows as experiments."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from icrlib import paper
from icrlib.experiments import published
from icrlib.paper import ltd
from icrlib.paper.experiments import ltd as runs
from icrlib.training.settings import SETTINGS, checked

# The lines of Tables 1 to 3 as the paper's page has them: row, method, loss or targets, numbers.
PRINTED = Path(__file__).with_name("ltd_printed.txt").read_text(encoding="utf-8").splitlines()
NAMES = [f"{side}_{cut}" for side in ("i2t", "t2i") for cut in ("r1", "r5", "r10", "r_precision")]
CUTS = ("r1", "r5", "r10")


def page_rows() -> dict[str, list[str]]:
    """Row -> the cells behind it, as text."""
    return {line.split(" | ")[0]: line.split(" | ")[1:] for line in PRINTED}


def by_hand(row: str) -> list[float]:
    """The six recalls of a row, read from the printed line."""
    numbers = [text for text in page_rows()[row] if re.fullmatch(r"[\d.]+|-", text)]
    return [float(x) for x in (numbers[:3] + numbers[4:7] if len(numbers) == 8 else numbers)]


def test_every_cell_is_the_printed_one_and_dashes_are_kept():
    page, first = page_rows(), paper.table("ltd/1")
    assert list(first.index) == [name for name in page if len(page[name]) == 10] and len(first) == 15
    for row, line in first.iterrows():
        method, loss, *numbers = page[row]
        assert line["method"] == method and line["loss"].replace(" ", "") == loss.replace(" ", "")
        for name, text in zip(NAMES, numbers, strict=True):
            assert pd.isna(line[name]) if text == "-" else line[name] == float(text), (row, name)
            assert pd.isna(line[f"{name}_std"])
    second = paper.table("ltd/2")
    assert list(second.index) == [name for name in page if name[0] in "34"] and len(second) == 10
    for row, line in second.iterrows():
        kind, *numbers = page[row]
        assert kind == (line["loss"] if row.startswith("3") else line["targets"])
        assert pd.isna(line["targets" if row.startswith("3") else "loss"])
        assert [line[f"{side}_{cut}"] for side in ("i2t", "t2i") for cut in CUTS] == [float(x) for x in numbers]
    third = paper.table("ltd/3")
    assert third.loc["ours", ltd.RECALLS].tolist() == by_hand("Ours")
    assert third.loc["vse++", ltd.RECALLS].tolist() == by_hand("VSE++ [12] †")


def test_sums_and_cited_rows():
    for name, row in ltd.rows().iterrows():
        assert row["rsum"] == pytest.approx(sum(by_hand(name)))
    cited = paper.inconsistencies("ltd")
    cited = cited[cited["why"].str.contains("no row of this number")]
    assert not set(cited["printed"]) & set(ltd.rows().index) and set(cited["follows"]) <= set(ltd.rows().index)


PAIRS = {
    1: [("1.5", "1.1"), ("2.5.1", "2.1.1"), ("2.5.2", "2.1.2")],
    2: [("1.5", "1.4"), ("2.5.1", "2.4.1"), ("2.5.2", "2.4.2")],
    11: [("2.5.2", "2.1.2")],
    14: [("1.5", "1.1"), ("2.5.1", "2.1.1"), ("2.5.2", "2.1.2")],
    18: [("1.2", "1.3"), ("2.2.1", "2.3.1"), ("2.2.2", "2.3.2")],
    20: [("1.1", "1.3"), ("2.1.1", "2.3.1"), ("2.1.2", "2.3.2")],
    28: [("3.1.3", "1.5"), ("3.2.3", "2.5.1")],
    30: [("3.1.3", "3.1.1"), ("3.2.3", "3.2.1")],
    31: [("1.1", "4.1.1"), ("2.1.1", "4.2.1")],
    33: [("1.1", "4.1.2"), ("2.1.1", "4.2.2")],
    35: [("1.5", "1.1"), ("2.5.1", "2.1.1"), ("3.1.3", "3.1.1"), ("3.2.3", "3.2.1")],
}


@pytest.mark.parametrize("number", PAIRS)
def test_counts_are_those_of_the_printed_lines(number):
    ahead = [a > b for first, second in PAIRS[number] for a, b in zip(by_hand(first), by_hand(second), strict=True)]
    assert ltd.COUNTS[number]()[:2] == (sum(ahead), len(ahead))


def test_other_counts_by_hand():
    words = paper.against_own_tables("ltd")["verdict"].to_dict()
    off = {number: word.removeprefix("does not: ") for number, word in words.items() if word.startswith("does not")}
    assert off == {
        15: "4 of 6",
        17: "9 of 18",
        19: "9 of 18",
        20: "16 of 18",
        21: "2 of 3",
        22: "2,385 of 3,905",
        23: "2 of 3",
        26: "1 of 5",
        34: "1 of 2",
    }
    assert {words[number] for number in set(ltd.CURVES) - set(off)} == {"agrees with its curves"}
    flickr, coco = (
        [100 * (a / b - 1) for a, b in zip(by_hand(x), by_hand(y), strict=True)]
        for x, y in (("1.5", "1.1"), ("2.5.1", "2.1.1"))
    )
    assert sum(a > b for a, b in zip(flickr, coco, strict=True)) == 4
    assert ltd.COUNTS[13]()[2].count(" of +") == 3 and ltd.COUNTS[16]() == (4, 4, "R-precision +0.01 to +0.03")
    assert ltd.COUNTS[29]() == (2, 2, "-177.1 rsum on Flickr30k, +22.5 rsum on MS-COCO")
    assert ltd.COUNTS[37]()[:2] == (6, 6)


def test_recorded_curves_say_what_the_reference_facts_say():
    result = ltd.recorded()
    assert list(result.index) == ["baseline", "dual", "lag_0.05", "lag_0.1", "lag_0.2", "lag_0.3"]
    assert ltd.contrastive_and_rsum() == pytest.approx(-0.957, abs=5e-4) and (result["falls"] == 0).all()
    assert result.loc["lag_0.2", ["zero_pairs_above", "zero_pairs"]].tolist() == [453, 1296]
    assert result.loc["lag_0.3", ["zero_pairs_above", "zero_pairs"]].tolist() == [1067, 2609]
    assert result["first_zero"].dropna().tolist() == [13_778, 5_026] and result.loc["lag_0.05", "lambda_end"] == 100
    assert result.loc["dual", "reconstruction"] == 0.1727 and result["rsum"].idxmax() == "lag_0.2"


def test_every_row_is_an_experiment_in_the_librarys_settings():
    """All but what the release did and no setting does: the head of a tuned target has its own rate."""
    names = [name for name in paper.experiments() if name.startswith("ltd/")]
    assert len(names) == 15 + 10 and set(names) == set(runs.rows())
    for name in names:
        settings = paper.experiment(name)
        assert "caption_lr" in settings or published(name)["loss"] == settings["loss"]
        for key in set(settings) & set(SETTINGS) - {"auxiliary"}:
            checked(key, settings[key])
        bound, kind = settings.get("objective"), settings.get("auxiliary")
        assert ("eta" in settings) == ("multiplier" in settings) == (bound == "lagrange")
        assert ("beta" in settings) == (bound == "dual") and (kind is None) == (bound in (None, "con"))
        assert ("softmax" in settings) == (kind == "tokens")


def test_settings_are_those_of_the_released_job_files():
    """The table of the reference facts (row -> settings), written out."""
    wanted = {
        "1.1": ("con", None, None, "ntxent", "swa"),
        "1.2": ("dual", "tokens", None, "ntxent", "swa"),
        "1.3": ("lagrange", "tokens", 6.0, "ntxent", "swa"),
        "1.4": ("dual", "latent", None, "ntxent", "swa"),
        "1.5": ("lagrange", "latent", 0.2, "ntxent", "swa"),
        "3.1.1": ("con", None, None, "triplet_sh", "none"),
        "3.1.2": ("dual", "latent", None, "triplet_sh", "none"),
        "3.1.3": ("lagrange", "latent", 0.2, "triplet_sh", "none"),
        "4.1.1": (None, None, None, "alignment", "swa"),
        "4.1.2": (None, None, None, "ntxent", "swa"),
    }
    for row, expected in wanted.items():
        on_flickr = paper.experiment(f"ltd/{row}")
        assert tuple(on_flickr.get(key) for key in ("objective", "auxiliary", "eta", "loss", "average")) == expected
        assert on_flickr["dataset"] == "flickr30k"
        twins = [f"2.{row[2]}.1", f"2.{row[2]}.2"] if row[0] == "1" else [f"{row[0]}.2.{row[-1]}"]
        for other in twins:
            on_coco = paper.experiment(f"ltd/{other}")
            same = set(on_flickr) - {"dataset", "evaluation"}
            assert {k: on_coco[k] for k in same} == {k: on_flickr[k] for k in same}
            assert on_coco["dataset"] == "coco"
            assert ("CxC" in on_coco["evaluation"]) == (other in set(ltd.ROWS["CxC"].values()))
    shared = paper.experiment("ltd/1.5")
    assert (shared["lr"], shared["restart_lr"], shared["epochs"], shared["finetune_epochs"]) == (2e-4, 2e-5, 60, 30)
    assert (shared["optimiser"], shared["schedule"], shared["grad_clip"]) == ("adamp", "cosine_epoch", 2.0)
    assert (shared["drop_words"], shared["delete_words"], shared["erase"]) == (0.1, 0.1, 0.2)
    assert shared["tau"] == 0.05 and shared["embed_dim"] == 1024 and shared["precision"] == "float16"
    assert paper.experiment("ltd/1.3")["softmax"] == "time" and paper.experiment("ltd/4.2.2")["embed_dim"] == 384
    assert paper.experiment("ltd/3.2.3")["head_norm"] and "head_norm" not in shared

"""The claims ledger, which is read from records: before VSRN's runs are there, with some of them, with all; made up."""

from __future__ import annotations

import copy
import re
from pathlib import Path

import pytest

import chapter_cells
from icrlib import records
from record_files import keep, put

SCRIPT = Path(__file__).parents[2] / "book" / "reference" / "claims.py"
LOSSES = ("triplet", "triplet_sh", "ntxent", "smoothap")
STUDIES = (
    "ecir",
    "tuning",
    "tuned",
    "photo_runs",
    "photo_tuning",
    "goal",
    "goal_tuning",
    "half",
    "half_tuning",
    "twice",
)
REAL = {loss: records.find(study="ecir", method="vse++", loss=loss) for loss in LOSSES}


@pytest.fixture
def book(book):
    """A folder of records with the studies that the ledger reads today, and nothing of VSRN."""
    keep(book, *STUDIES)
    return book


def vsrn(book, losses=LOSSES, seeds=10):
    """Runs of VSRN: VSE++'s of the same loss and draw under another name, each 20 rsum higher; and their search."""
    for loss in losses:
        for record in map(copy.deepcopy, REAL[loss][:seeds]):
            record["config"] |= {"method": "vsrn", "data_options": record["config"]["data_options"] | {"regions": True}}
            record["test"]["rsum"] += 20
            put(book, "vsrn", record)
        for worse in (0, 1):  # the rate that the runs have, and another one
            tried = copy.deepcopy(record)
            tried["config"] |= {"seed": 100, "data_seed": 100, "lr": record["config"]["lr"] * 10**worse}
            tried["chosen"]["val_rsum"] = 300.0 - worse
            put(book, "vsrn_tuning", tried, str(worse))


def page():
    """The chapter's names and what its cells show."""
    return chapter_cells.run(SCRIPT)


def line(table, start):
    """The cells of the row whose first cell begins so."""
    for row in re.findall(r"<tr>(.*?)</tr>", table, re.S):
        cells = [re.sub("<[^>]*>", "", cell).strip() for cell in re.findall(r"<td.*?>(.*?)</td>", row, re.S)]
        if cells and cells[0].startswith(start):
            return cells
    raise AssertionError(f"no row {start}")


def test_without_runs_of_vsrn_the_ledger_says_so_and_how_to_get_them(book):
    names, shown = page()
    assert "VSRN" not in line(shown_as(shown, "claims-ecir"), "E3")[2]
    assert names["counts"]["scenes", "vsrn"] == {
        "as claimed": 0,
        "the opposite": 0,
        "equivalent": 0,
        "undecided": 0,
        "not run yet": 15,
    }
    (waits,) = [row for row in names["waits"] if row["what"] == "scenes, VSRN"]
    command = re.sub("<[^>]*>", "", waits.pop("command"))
    assert command == "make records STUDY=vsrn_tuning, then make records STUDY=vsrn"
    assert waits == {"what": "scenes, VSRN", "rows": "all four", "runs there": "none of 10"}
    assert names["elsewhere"][3]["not clipped"] is None and names["elsewhere"][3]["6,000 updates"]  # no such study here
    assert names["parts_of"](("scenes", "vsrn")) == [] and names["within"] is None
    assert "make records STUDY=beyond_tuning" in names["sparse_text"]


def test_runs_of_vsrn_fill_in_by_themselves(book):
    """They are VSE++'s, so that they have VSE++'s words, where the claims are the same."""
    vsrn(book)
    names, shown = page()
    said = shown_as(shown, "claims-ecir")
    for number in ("E1", "E3", "E7", "E20", "E22"):
        one, other = re.match(r"VSE\+\+: (.*)VSRN: (.*?)(?:bag of words.*)?$", line(said, number)[2]).groups()
        assert one == other
    assert "VSRN: " in line(said, "E14")[2] and "VSE++" not in line(said, "E14")[2]
    assert not any(row["what"] == "scenes, VSRN" for row in names["waits"])
    parts = names["parts_of"](("scenes", "vsrn"))
    assert all(part["records"].startswith("studies/vsrn/scenes/vsrn/") for part in parts) and len(parts) > 10
    assert names["counts"]["scenes", "vsrn"]["not run yet"] == 0 and ("scenes", "vsrn") in names["models"]


def test_one_loss_with_few_negatives_is_described_when_it_was_run(book):
    for record in map(copy.deepcopy, REAL["ntxent"][:5]):
        options = {"tau": 0.2, "queries": "mean", "directions": "mean"}
        record["config"] |= {"method": "vse++", "loss": "ntxent_sparse", "loss_options": options}
        record["test"]["rsum"] += 4 + record["config"]["seed"] / 10
        put(book, "beyond", record)
    names, _ = page()
    assert names["within"].n == 5 and names["within"].difference.mean == pytest.approx(4.2)
    said = names["sparse_text"]
    assert said.startswith("Sparse less full, VSE++ on scenes: +4.2 [") and "no verdict" in said


def shown_as(shown, name):
    """What a cell showed as the table of this name."""
    (found,) = [text for text in shown if f'<table id="T_icr-{name}"' in text]
    return found


LATENT = {"auxiliary": "latent", "auxiliary_options": {"target": "sbert"}}
LTD_ROWS = {
    "con": {"objective": "con"},
    "dual": {"objective": "dual", **LATENT},
    "lag": {"objective": "lagrange", "eta": 0.2, **LATENT},
}


def ltd(book, rows=LTD_ROWS, seeds=5):
    """Runs of LTD's rows: VSE++'s with NT-Xent under another name, those of constrained LTD 12 rsum higher."""
    for row in rows:
        for record in map(copy.deepcopy, REAL["ntxent"][:seeds]):
            extra = 12 + record["config"]["seed"] if row == "lag" else 0.1 * record["config"]["seed"] * (row == "dual")
            record["config"] |= {"method": "ltd", "multiplier": "published", "beta": 1.0, "eta": None} | LTD_ROWS[row]
            record["test"]["rsum"] += extra
            place = list(LTD_ROWS).index(row)
            record["log"] = [[*line[:-1], line[-1] + place] for line in record["log"]]  # not the same runs
            put(book, "ltd", record, row)


def test_without_runs_of_ltd_its_claims_wait_and_name_the_command(book):
    names, shown = page()
    said = shown_as(shown, "claims-ltd")
    assert line(said, "L2")[2:4] == ["–", "–"]
    waits = {row["what"]: re.sub("<[^>]*>", "", row["command"]) for row in names["ltd_waits"]}
    assert waits == {
        "scenes, InfoNCE": "make records STUDY=ltd",
        "scenes, Triplet-SH": "make records STUDY=ltd, then make records STUDY=ltd_triplet",
        "scenes, several η": "make records STUDY=ltd_eta",
        "photos (Flickr8k)": "make records STUDY=photo_ltd FEATURES=folder",
        "stamps (L4)": "make records STUDY=ltd_stamps",
    }
    assert {15, 17} <= set(names["disagreeing"])
    assert line(said, "L10")[4].startswith("not measurable as published: no row was run twice")
    assert "+12.0 on MS-COCO" in line(said, "L13")[4] and line(said, "L36")[2] == "–"


def test_runs_of_ltd_fill_in_and_have_no_word(book):
    ltd(book)
    names, shown = page()
    said = shown_as(shown, "claims-ltd")
    scenes = line(said, "L2")[2]
    assert re.fullmatch(r"LTD constrained − LTD dual, rsum: \+13\.8 \[\+\d.*\] rsum, n = 5", scenes), scenes
    assert line(said, "L17")[2] == "–" and line(said, "L1")[2].count("n = 5") == 2  # rsum and swap accuracy
    (waits,) = [row for row in names["ltd_waits"] if row["what"] == "scenes, InfoNCE"]
    assert waits["rows"] == "LTD constrained, projected rule, ITD dual, ITD constrained"
    assert waits["runs there"] == "none of 5"
    assert not {word for word in ("reproduced", "contradicted") if word in scenes}


def test_the_words_of_the_page_are_those_of_the_ledger(book):
    """Each part of the CSV file is a verdict, with its number and word; nothing is counted twice in the summary."""
    names, shown = page()
    for place, found in names["EVIDENCE"].items():
        parts = {part["difference"]: part for part in names["parts_of"](place)}
        assert len(parts) == len(found.verdicts)
        for part, verdict in found.verdicts.items():
            row = parts[found.place.describe(part)]
            assert (row["mean"], row["verdict"]) == (verdict.difference and verdict.difference.mean, verdict.word)
    assert len(names["every_part"]) == sum(len(found.verdicts) for found in names["EVIDENCE"].values())
    assert sum(len(ids) for ids in names["TESTS"].values()) == sum(map(bool, names["claims"]["tests"]))
    assert any("E31" in text for text in shown) and any("G21" in text for text in shown)

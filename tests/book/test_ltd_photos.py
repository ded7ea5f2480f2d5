"""The rows with sentence vectors on photos, in shortcuts/tables: real runs on photos under other names."""

from __future__ import annotations

import base64
import copy
import json
from pathlib import Path

import numpy as np
import pytest

from icrlib import records
from icrlib.evidence import photo_intervals
from ltd_studies import tables
from record_files import keep, put

REAL = {
    system: sorted(
        (r for r in records.find(study="photo_runs") if (r["config"]["method"], r["config"]["loss"]) == system),
        key=lambda r: r["config"]["seed"],
    )
    for system in (("bow", "ntxent"), ("bow", "triplet"), ("vse++", "ntxent"))
}


@pytest.fixture
def book(book):
    """A folder of records with the models' own runs on photos, and none of LTD's."""
    keep(book, "photo_runs", "photo_tuning")
    return book


def runs(root, study, row, like, **settings):
    """The runs ``like``, with all that came out of them, as runs of a row."""
    method, loss = {"con": ("ltd", "ntxent"), "fixed": ("sentence", "alignment"), "tuned": ("sentence", "ntxent")}[row]
    for record in copy.deepcopy(like):
        about = {"method": method, "loss": loss, "objective": "con", "loss_options": {"tau": 0.05}}
        record["config"] |= about | settings
        put(root, study, record, row)


def section():
    return tables(("def less_row", 1), ("def photo_rows", 3))


def test_without_runs_nothing_is_claimed(book):
    names, said = section()
    assert names["WORDLESS"] == {} and said == ["These rows have no runs yet.", ""]


def test_a_row_that_lies_between_two_encoders_turns_the_sign(book):
    """Tuned vectors as good as a bag of words with Triplet: behind the same with NT-Xent, ahead of a weak baseline."""
    runs(book, "photo_ltd", "tuned", REAL["bow", "triplet"])
    runs(book, "photo_ltd", "con", REAL["vse++", "ntxent"])
    for record in records.find(study="photo_ltd", method="ltd"):  # every rank is half as good
        spoil(record)
    names, (table, said) = section()
    assert "baseline" in table and "tuned targets" not in names["SCRATCH"]
    behind, ahead, _ = names["sides"]("tuned")
    assert ahead == ["baseline"] and "a bag of words with NT-Xent" in behind
    assert "**Tuned targets** are behind" in said and "ahead of *baseline*" in said
    assert "for tuned targets the sign of the paper's sentence, that they do not reach" in said
    assert names["TURNS"] == ["tuned"]
    found = names["AGAINST"]["tuned", "a bag of words with NT-Xent"]
    twin = photo_intervals.estimate(REAL["bow", "triplet"], REAL["bow", "ntxent"])
    assert (found.mean, found.low, found.high) == pytest.approx((twin.mean, *twin.interval(0.95)))


def spoil(record):
    """Double all ranks of a record, and let its numbers follow."""
    test = record["test"]
    for side in ("i2t", "t2i"):
        ranks = np.frombuffer(base64.b64decode(test["ranks"][side]), dtype="<u2") * 2
        test["ranks"][side] = base64.b64encode(ranks.astype("<u2").tobytes()).decode()
        for k in (1, 5, 10):
            test[side][f"r{k}"] = 100 * float((ranks <= k).mean())
    test["rsum"] = sum(test[side][f"r{k}"] for side in ("i2t", "t2i") for k in (1, 5, 10))
    Path(record["path"]).write_text(json.dumps(record))


def test_behind_all_the_sign_is_the_same(book):
    runs(book, "photo_ltd", "fixed", REAL["bow", "triplet"])
    for record in records.find(study="photo_ltd", method="sentence"):
        spoil(record)
    runs(book, "photo_ltd", "con", REAL["vse++", "ntxent"])
    names, (_, said) = section()
    assert names["TURNS"] == [] and said.endswith("The sign is the same beside all of them.")
    assert "ahead of" not in said


def test_other_settings_are_rows_of_their_own_and_say_which(book):
    runs(book, "photo_ltd", "tuned", REAL["bow", "triplet"])
    runs(book, "photo_ltd", "con", REAL["bow", "triplet"])
    runs(book, "photo_ltd_more", "con", REAL["vse++", "ntxent"], loss_options={"tau": 0.1})
    runs(book, "photo_ltd_more", "tuned", REAL["vse++", "ntxent"], loss_options={"tau": 0.1}, updates=1200)
    names, (table, _) = section()
    new = ["baseline, temperature 0.1, 3,600 updates", "tuned targets, temperature 0.1, 1,200 updates"]
    assert set(new) <= set(names["ON_PHOTOS"]) and new[0] in names["SCRATCH"] and new[1] not in names["SCRATCH"]
    assert all(name in table for name in new)
    better = names["AGAINST"]["tuned", "a bag of words with NT-Xent"]  # validation prefers VSE++'s run to Triplet's
    twin = photo_intervals.estimate(REAL["vse++", "ntxent"], REAL["bow", "ntxent"])
    prefers = [np.mean([r["chosen"]["val_rsum"] for r in REAL[s]]) for s in (("vse++", "ntxent"), ("bow", "triplet"))]
    assert prefers[0] > prefers[1] and better.mean == pytest.approx(twin.mean)

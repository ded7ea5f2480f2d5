"""The results of lessons/beyond, which are read from records: with none, with some, with all; on made-up records."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pytest

import chapter_cells
import icrlib
from chapter_cells import taken
from icrlib import records
from record_files import put

SCRIPT = Path(__file__).parents[2] / "book" / "lessons" / "beyond.py"
LOSSES = ("ntxent", "ifm", "siglip", "dcl", "ntxent_sparse")
OWN = {
    "ntxent": {"tau": 0.1, "denominator": "all"},
    "ifm": {"tau": 0.1, "eps": 0.1},
    "siglip": {"scale": 10.0, "bias": -10.0},
    "dcl": {"tau": 0.1, "denominator": "negatives"},
    "ntxent_sparse": {"tau": 0.2},
}
REAL = {
    name: sorted(records.find(study="ecir", method="vse++", loss=name), key=lambda r: r["config"]["seed"])[:5]
    for name in ("ntxent", "triplet_sh")
}


@pytest.fixture
def book(book):
    """A folder of records that has five draws of NT-Xent and Triplet-SH, and nothing of the two studies."""
    for record in (record for group in REAL.values() for record in group):
        put(book, "ecir", record)
    return book


def made_up(loss, seed, rsum, *, val=0.0, **settings):
    """A real record of that draw with another loss and another result written into it."""
    record = copy.deepcopy(next(r for r in REAL["ntxent"] if r["config"]["seed"] == seed))
    record["config"] |= {"loss": loss, "loss_options": {"queries": "mean", "directions": "mean"} | OWN[loss]} | settings
    if settings.get("learn_tau"):
        for entry in record["history"]:
            entry["tau"] = 0.04 + 0.001 * seed
    record["test"]["rsum"], record["test"]["twins"]["swap"], record["wall_seconds"] = rsum, 70.0 + seed, 50.0 + seed
    record["chosen"]["val_rsum"] = val
    return record


def section():
    """What the cells from the rows of the tables to the sentence about the result define."""
    imports = taken(SCRIPT, "import matplotlib", until="smoke = chapter")
    return chapter_cells.execute(
        [*imports, *taken(SCRIPT, "ROWS = ", "result = told")], {"icrlib": icrlib, "smoke": False}
    )[0]


def test_without_runs_the_page_says_which_commands_make_them(book):
    found = section()
    assert found["table"] == [] and found["result"] == ""
    assert found["result_missing"] == (
        "None of the five losses has runs on the five draws yet. This makes them: `make records STUDY=beyond_tuning`, "
        "the search, and then `make records STUDY=beyond`."
    )


def test_with_the_search_alone_it_shows_the_search_and_asks_for_the_rest(book):
    for loss in LOSSES:
        for k, lr in enumerate((0.001, 0.003, 0.01)):
            record = made_up(loss, 0, 1.0, val=400.0 + 10 * k + LOSSES.index(loss), lr=lr)
            put(book, "beyond_tuning", record, f"lr{lr}")
    put(book, "beyond_tuning", made_up("ifm", 0, 1.0, val=470.0, lr=0.003, learn_tau=True), "more")
    found = section()
    assert found["result_missing"].endswith("This makes them: `make records STUDY=beyond`.") and found["table"] == []
    shown = found["search_table"](found["searched"]).set_index("loss")
    assert shown.loc["IFM", ["0.001", "0.003", "0.01"]].tolist() == ["401.0", "470.0", "421.0"]
    assert shown.loc["IFM", "best"] == "rate 0.003, τ 0.1, ε 0.1 (learned from there)"
    assert shown.loc["IFM", "runs"] == "4" and shown.loc["SigLIP", "best"] == "rate 0.01, t 10, b −10 (fixed)"


def everything(book, losses=LOSSES, seeds=range(5)):
    """Each loss a known amount above NT-Xent, and a little more on later draws: the twin of the table's interval."""
    ahead = {}
    for number, loss in enumerate(losses):
        ahead[loss] = np.array([10.0 * (number - 1) + 0.7 * seed - 0.2 * seed**2 for seed in seeds])
        for seed, more in zip(seeds, ahead[loss], strict=True):
            base = next(r["test"]["rsum"] for r in REAL["ntxent"] if r["config"]["seed"] == seed)
            learned = {"learn_tau": True} if loss in ("ntxent", "siglip") else {}
            put(book, "beyond", made_up(loss, seed, base + more, lr=0.01, **learned))
    return ahead


def test_the_table_shows_means_and_paired_intervals(book):
    ahead = everything(book)
    found = section()
    table = {line["loss"]: line for line in found["table"]}
    assert list(table)[:2] == ["NT-Xent, τ fixed", "Triplet-SH"] and len(table) == 7 and found["result_missing"] == ""
    base = np.array([r["test"]["rsum"] for r in REAL["ntxent"]])
    for loss, more in ahead.items():
        line = table[found["ROWS"][loss]]
        half = 2.7764451 * more.std(ddof=1) / 5**0.5  # Student's t for four degrees of freedom
        assert line["less NT-Xent"] == f"{more.mean():+.1f} [{more.mean() - half:+.1f}, {more.mean() + half:+.1f}]"
        assert line["rsum"] == f"{(base + more).mean():.1f}" and line["draws"] == "5"
        assert line["swap twins"] == "72.0 %" and line["seconds"] == "52"
    assert table["NT-Xent, τ fixed"]["less NT-Xent"] == "–"
    assert table["NT-Xent, learned τ"]["settings"] == "rate 0.01, τ 0.1 (learned from there)"
    assert table["DCL"]["settings"] == "rate 0.01, τ 0.1"
    result = found["result"]
    above = result.split("above zero for ")[1].split(", and below")[0]
    below = result.split("below zero for ")[1].split(". With")[0]
    low = base - np.array([r["test"]["rsum"] for r in REAL["triplet_sh"]])  # real runs, so their side is computed
    reach = 2.7764451 * low.std(ddof=1) / 5**0.5
    real = {"above": low.mean() + reach < 0, "below": low.mean() - reach > 0}
    assert above == ("Triplet-SH; " if real["above"] else "") + "SigLIP; DCL; NT-Xent, sparse"  # not IFM
    assert below == ("Triplet-SH; " if real["below"] else "") + "NT-Xent, learned τ"
    assert "Learned scalars ended at: NT-Xent, learned τ: τ 0.042; SigLIP: τ 0.042." in result


def test_losses_without_runs_are_named_and_draws_are_shared(book):
    everything(book, LOSSES[:2], range(5))
    (book / "studies/beyond/scenes/vse++/ifm/-seed4.json").unlink()
    found = section()
    assert {line["draws"] for line in found["table"]} == {"4"} and len(found["table"]) == 4
    assert found["result_missing"].startswith("SigLIP; DCL; NT-Xent, sparse: no runs on the five draws yet.")

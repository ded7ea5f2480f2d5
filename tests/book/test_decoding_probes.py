"""What the vectors keep, in shortcuts/decoding; made-up probes of made-up runs, the twin by hand."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats

import chapter_cells
from chapter_cells import taken
from icrlib.records import probed
from ltd_studies import DECODING, decoding_imports, made_up
from record_files import put

LEADS = {"relation": [12.0, 15.0, 14.0], "whose colour": [-3.0, -6.0, -4.0], "who is left": [-1.0, 2.0, 0.5]}
FACTS = [*LEADS, "who is above", "shape of the first", "colour of the first", "size of the first"]


@pytest.fixture
def book(book, monkeypatch):
    monkeypatch.setattr(probed, "root", lambda: book)
    return book


def section():
    helpers = [*taken(DECODING, "KINDS = ", 2), *taken(DECODING, "more = {", until="Markdown(")]
    cells = [*decoding_imports(), *helpers, *taken(DECODING, "FACTS = ", 6)]
    return chapter_cells.execute(cells, {"smoke": False})


def runs(book, without=()):
    """Three draws of the loss alone and of the sentence encoder's bound, probed but for the draws ``without``."""
    lines = []
    for seed in range(3):
        for kind, way in (("con", "con"), ("sbert", "published")):
            record = made_up(kind, way, seed) | {"identity": f"{kind}{seed}"}
            put(book, "ltd_more", record, kind)
            facts = {
                fact: 50.0 + 3 * seed + (LEADS.get(fact, [0.0] * 3)[seed] if kind == "sbert" else 0.0) for fact in FACTS
            }
            if seed not in without or kind == "con":
                lines.append(
                    {
                        "identity": record["identity"],
                        "data_hash": record["data_hash"],
                        "facts": {"caption": facts},
                        "chance": {"caption": dict.fromkeys(FACTS, 25.0)},
                    }
                )
        lines.append(
            {
                "target": "sbert",
                "data_hash": record["data_hash"],
                "chance": {"caption": {}},
                "facts": {"caption": dict.fromkeys(FACTS, 80.0 + seed)},
            }
        )
    (book / probed.LINES).write_text("\n".join(map(json.dumps, lines)) + "\n")


def test_without_probes_the_command_stands_there(book):
    _, (table, said) = section()
    commands = "`make probes STUDY=ltd_more`; `make probes STUDY=ltd_triplet`"
    assert table == f"These models have not been asked yet: {commands}." and said == ""
    runs(book)
    (book / probed.LINES).unlink()
    assert "`make probes STUDY=ltd_more`" in section()[1][0]


def test_a_row_keeps_what_lies_above_the_loss_alone_on_all_draws(book):
    runs(book)
    names, (table, said) = section()
    for fact, leads in LEADS.items():
        half = stats.t.ppf(0.975, 2) * np.std(leads, ddof=1) / 3**0.5
        found = names["keeps"](names["KEPT"]["ltd_more"][0], ("sbert", "published"), fact)
        assert (found.mean, found.low, found.high) == pytest.approx(
            (np.mean(leads), np.mean(leads) - half, np.mean(leads) + half)
        )
    assert "**bound: sentence encoder**: more of relation (+14 [+10, +17]); less of whose colour (-4 [" in said
    assert "who is left" not in said and said.endswith("Not asked yet: `make probes STUDY=ltd_triplet`.")
    frame = names["probe_table"](*names["KEPT"]["ltd_more"][:3], names["NAMED"], FACTS)
    line = next(line for line in frame.to_dict("records") if line["fact"] == "relation")
    assert line == {
        "fact": "relation",
        "chance": "25",
        "target: sentence encoder": "81",
        "loss alone": "53",
        "bound: sentence encoder": "67",
    }
    assert all(f">{value}<" in table for value in ("81", "67"))


def test_draws_are_paired_and_a_single_one_is_no_row(book):
    runs(book, without=(1,))
    names, _ = section()
    found = names["keeps"](names["KEPT"]["ltd_more"][0], ("sbert", "published"), "relation")
    assert found.n == 2 and found.mean == pytest.approx(13.0)
    runs(book, without=(0, 1))
    names, (_, said) = section()
    assert list(names["KEPT"]["ltd_more"][0]) == [("con", "con")] and said == ""


def test_of_several_bounds_with_the_triplet_loss_validation_chooses(book):
    lines = []
    for seed in range(5):
        for name, way, more in (("con", "con", {}), ("a", "published", {"eta": 0.1}), ("b", "published", {"eta": 0.2})):
            record = made_up(
                "con" if way == "con" else "sbert", way, seed, val=400.0 + (name == "b"), loss="triplet_sh", **more
            ) | {"identity": f"{name}{seed}"}
            put(book, "ltd_triplet", record, name)
            facts = dict.fromkeys(FACTS, 40.0 + seed + {"con": 0, "a": 3, "b": 7}[name])
            lines.append(
                {
                    "identity": record["identity"],
                    "data_hash": record["data_hash"],
                    "facts": {"caption": facts},
                    "chance": {"caption": dict.fromkeys(FACTS, 25.0)},
                }
                | ({"again": 390.0} if name == "b" else {})
            )
    (book / probed.LINES).write_text("\n".join(map(json.dumps, lines)) + "\n")
    names, (table, said) = section()
    assert "Triplet-SH, 1,500 pictures" in table and "NT-Xent, 6,000" not in table
    assert "With Triplet-SH, 1,500 pictures: **bound: sentence encoder**: more of relation (+7 [+7, +7]), whose" in said
    assert "[+7, +7]). (The models of 5 of these runs were gone" in said
    assert "rsum by -10.0 (bound: sentence encoder) and" in said

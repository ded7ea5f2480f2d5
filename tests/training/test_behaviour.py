"""Behaviour: what is meant to do something else makes another run of it, and old records answer another question."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

import icrlib
from icrlib import chapter
from icrlib.cli import main, records
from icrlib.losses.ntxent import NTXent
from icrlib.studies import studies
from icrlib.training import behaviour
from icrlib.training.config import identity, resolve

# Settings that make each part one of the run's.
WITH = {
    "start": {"warmup": 5},
    "auxiliary": {"auxiliary": "tokens", "decoder_words": 4},
    "weighing": {"auxiliary": "tokens", "decoder_words": 4, "objective": "lagrange", "eta": 1.0},
    "augment": {"drop_words": 0.1},
    "average": {"average": "swa", "average_from": 0.2, "average_times": 1, "evaluate_every": 12, "updates": 24},
}
PARTS = ("model", "loss", "criterion", "sampler", "optim", "selection", *WITH)


@pytest.mark.parametrize("part", PARTS)
def test_a_risen_behaviour_makes_another_run(tiny, part, monkeypatch):
    given = WITH.get(part, {})
    before = resolve(tiny, "vse++", "ntxent", given=given)
    assert before.behaviour == {} and not behaviour.any_risen()
    kind = behaviour.parts_of(before.flat())[part]
    monkeypatch.setattr(kind, "behaviour", 2)
    after = resolve(tiny, "vse++", "ntxent", given=given)
    assert after.behaviour == {part: 2} and after.identity() != before.identity() and behaviour.any_risen()
    assert behaviour.outdated(before.flat()) == {part: (1, 2)} and behaviour.outdated(after.flat()) == {}
    other = "triplet" if part == "loss" else "ntxent"
    if part in ("loss", *WITH):  # a run without the part is the one it was
        assert resolve(tiny, "vse++", other, given={}).behaviour == {}


def test_a_behaviour_of_one_enters_no_identity(tiny):
    """A record of before there were behaviours is the same run."""
    config = resolve(tiny, "vse++", "ntxent", given={}).flat()
    assert identity(config) == identity({name: value for name, value in config.items() if name != "behaviour"})


def test_a_caller_s_own_part_may_say_its_behaviour(tiny, monkeypatch):
    class Doubled(NTXent):
        behaviour = 3

    monkeypatch.setitem(icrlib.losses.LOSSES, "doubled", Doubled)
    assert icrlib.train(tiny, loss="doubled", updates=2, progress=False).record["config"]["behaviour"] == {"loss": 3}


def test_records_and_pages_say_what_is_of_an_earlier_behaviour(tiny, tmp_path, monkeypatch, capsys):
    for loss in ("ntxent", "triplet"):
        icrlib.train(tiny, loss=loss, updates=2, record=tmp_path / f"{loss}.json", progress=False)
    for place in (records, chapter):
        monkeypatch.setattr(place, "outlines", lambda **_: icrlib.records.find(tmp_path))
    assert "2  in all, 2 of them of today's behaviour" in CliRunner().invoke(main, ["records"]).output
    chapter.start()
    assert "earlier behaviour" not in capsys.readouterr().out
    monkeypatch.setattr(NTXent, "behaviour", 2)
    said = CliRunner().invoke(main, ["records"]).output
    assert "1 of them of today's" in said and "1  of behaviour 1 of loss 'ntxent' (today 2)" in said
    chapter.start()
    assert "1 records of the book are of an earlier behaviour" in capsys.readouterr().out
    both = [str(tmp_path / f"{loss}.json") for loss in ("ntxent", "triplet")]
    assert "behaviour 1 of loss 'ntxent' (today 2)" in CliRunner().invoke(main, ["compare", *both]).output


def test_a_study_asks_for_new_runs_where_a_behaviour_has_risen(monkeypatch):
    """Beside the old records, which are no longer its own; a loss that has not risen keeps its runs."""
    one = studies["clipping"]
    old = next(run for run in one.runs() if run.loss == "ntxent")
    before = old.path
    assert before.name == "seed0.json" and old.done and one.complete(old.method, "ntxent")
    monkeypatch.setattr(NTXent, "behaviour", 2)
    new = next(run for run in one.runs() if run.loss == "ntxent")
    assert new.path.name == "seed0-loss2.json" and new.path.parent == before.parent and not new.done
    assert {run.loss for run in one.missing()} == {"ntxent"} == {run.loss for run in one.missing(["ntxent", "triplet"])}
    assert one.records(loss="ntxent") == [] and not one.complete(old.method, "ntxent")
    assert one.complete(old.method, "triplet")


def test_a_folder_of_the_earlier_behaviour_is_not_gone_on_with(tiny, tmp_path, monkeypatch):
    icrlib.train(tiny, updates=4, out=tmp_path, progress=False)
    monkeypatch.setattr(NTXent, "behaviour", 2)
    with pytest.raises(ValueError, match="holds another run"):
        icrlib.train(tiny, updates=4, out=tmp_path, progress=False)
    assert json.loads((tmp_path / "record.json").read_text())["config"]["behaviour"] == {}

"""`icr records verify`: a change that moved nothing is noted, one that moved something is not; records stay."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

import icrlib
from icrlib.cli import main, verify
from icrlib.records import files, ledger


@pytest.fixture
def book(tmp_path, monkeypatch):
    """A book of two records on small scenes, each with one source that reads differently now."""
    for module in (files, ledger):
        monkeypatch.setattr(module, "root", lambda: tmp_path / "records")
    data = icrlib.load_dataset("scenes", train=40, val=12, test=12, progress=False)
    for loss in ("ntxent", "triplet"):
        path = tmp_path / "records" / f"{loss}.json"
        icrlib.train(data, "bow", loss, updates=6, embed_dim=8, record=path, progress=False)
        record = json.loads(path.read_text())
        assert files.load(path)["stale"] == []
        record["sources"]["metrics.py"] = "f" * 16
        path.write_text(json.dumps(record))
    return tmp_path / "records"


def icr(*words):
    result = CliRunner().invoke(main, ["records", "verify", *words])
    return result.exit_code, result.output


def test_a_change_that_moved_nothing_is_cleared(book):
    before = {path.name: path.read_bytes() for path in book.glob("*.json")}
    code, said = icr("--dry-run")
    assert code == 1 and "2 of 2 records list a source that differs" in said and "metrics.py: 2 records" in said
    assert not ledger.path().exists()
    code, said = icr()
    assert code == 0 and said.count("bit-identical") == 2 and "noted 1 equivalences" in said, said
    assert all(record["stale"] == [] for record in files.find(study="*"))
    assert {path.name: path.read_bytes() for path in book.glob("*.json")} == before
    (line,) = ledger.read()
    assert line["file"] == "metrics.py" and line["old"] == "f" * 16 and len(line["records"]) == 2
    assert icr()[0] == 0  # and nothing is left to do


def test_a_change_that_moved_something_is_not(book):
    path = book / "triplet.json"
    record = json.loads(path.read_text())
    record["history"][0]["loss"] += 1e-6
    path.write_text(json.dumps(record))
    code, said = icr()
    assert code == 1 and "differs in history" in said and not ledger.path().exists()
    assert all(record["stale"] == ["metrics.py"] for record in files.find(study="*"))


def test_on_another_machine_nothing_can_be_told(book, monkeypatch):
    monkeypatch.setattr(verify.devices, "describe", lambda device: {"name": "other", "capability": "none"})
    code, said = icr()
    assert code == 1 and "2 were made on another machine than other, none, " in said and not ledger.path().exists()
    assert "bit-identity can only be told on the same kind" in said and "0 of them to run again" in said


def test_of_two_machines_records_those_of_this_one_are_run_again(book):
    """Two processors of one capability differ in the last digits; the other's record is cleared by this one's."""
    path = book / "triplet.json"
    record = json.loads(path.read_text())
    record["device"]["name"] = "another processor"
    record["history"][0]["loss"] += 1e-6
    path.write_text(json.dumps(record))
    code, said = icr()
    assert code == 0 and "1 were made on another machine" in said and said.count("bit-identical") == 1, said
    assert all(record["stale"] == [] for record in files.find(study="*"))


def test_photos_need_their_features(book):
    path = book / "ntxent.json"
    record = json.loads(path.read_text())
    record["config"] |= {"dataset": "flickr8k", "data_options": {"min_count": 4}}
    path.write_text(json.dumps(record))
    code, said = icr()
    assert code == 2 and "say where its features are, --dataset flickr8k=FOLDER" in said
    code, said = icr("--dataset", "flickr8k")
    assert code == 2 and "--dataset flickr8k: write NAME=FOLDER" in said


def test_of_several_folders_the_one_with_the_same_photos_is_taken(book, tmp_path, monkeypatch):
    """Some runs were trained on some of the photos: with all of them the run would be another one."""
    trained = {"few": icrlib.load_dataset("scenes", train=40, val=12, test=12, progress=False)}
    trained["all"] = icrlib.load_dataset("scenes", seed=1, train=50, val=12, test=12, progress=False)
    monkeypatch.setattr(verify, "DRAWN", ())
    monkeypatch.setattr(verify, "load_dataset", lambda name, features, **options: trained[features])
    verify._fingerprint.cache_clear()
    assert icr("--dataset", "scenes=all")[1].count("2 were trained on other photos") == 1 and not ledger.path().exists()
    code, said = icr("--dataset", "scenes=all", "--dataset", "scenes=few")
    assert code == 0 and said.count("bit-identical") == 2, said
    verify._fingerprint.cache_clear()


def test_a_run_is_made_again_whatever_the_defaults_are_by_now(tiny):
    """From the resolved settings, spelled out; so its identity is the same under other defaults."""
    runs = [
        ("vse++", "ntxent", given)
        for given in ({}, {"updates": 7}, {"epochs": 2}, {"epochs": 3, "lr_update": 1}, {"tau": 0.2, "drop_words": 0.1})
    ]
    # Names that a setting and an option share: beta is an objective's, too.
    runs += [("vse++", "multi_similarity", {"loss_beta": 3.0}), ("ltd", "multi_similarity", {"objective": "dual"})]
    for method, loss, given in runs:
        config = icrlib.training.config.resolve(tiny, method, loss, given=given).flat()
        other = icrlib.data.Dataset(
            tiny.name,
            tiny.train,
            tiny.val,
            tiny.test,
            tiny.vocabulary,
            tiny.fingerprint,
            {"lr": 0.5, "updates": 9, "embed_dim": 3},
            tiny.options,
        )
        again = icrlib.training.config.resolve(other, method, loss, given=verify.as_given(config))
        assert again.identity() == icrlib.training.config.identity(config), given

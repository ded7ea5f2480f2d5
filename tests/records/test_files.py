"""Records: complete, written once, found again, never from a smoke run; and the book's own are what runs give."""

from __future__ import annotations

import json
import re
import sys

import pytest
import torch

import icrlib
from icrlib import records
from icrlib.experiments import runs
from icrlib.experiments.store import key_of, place_of


def test_a_record_says_what_ran(tiny, tmp_path):
    record = icrlib.train(tiny, updates=4, seed=2, record=tmp_path / "a" / "seed2.json", progress=False).record
    saved = records.load(tmp_path / "a" / "seed2.json")
    assert (
        saved["config"]["seed"] == 2 and saved["config"]["updates"] == 4 and saved["config"]["asked"] == {"updates": 4}
    )
    assert saved["versions"]["torch"] == torch.__version__ and saved["threads"] == 1
    assert saved["data_hash"] == tiny.fingerprint and len(saved["commit"].rstrip("+")) == 12
    assert saved["test"] == record["test"] and saved["wall_seconds"] >= 0 and saved["parameters"] > 0
    assert (tmp_path / "a" / "seed2.json").stat().st_size < 200_000


def test_a_record_is_written_once_and_not_by_a_smoke_run(tiny, tmp_path):
    path = tmp_path / "r.json"
    run = icrlib.train(tiny, smoke=True, record=path, progress=False)
    assert run.record["config"]["updates"] <= 24 and not path.exists()
    path.write_text("{}")
    with pytest.raises(ValueError, match="a record is written once"):
        icrlib.train(tiny, updates=4, record=path, progress=False)
    assert path.read_text() == "{}"


def test_what_is_no_record_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="no record here"):
        records.load(tmp_path / "nothing.json")
    (tmp_path / "cut.json").write_text('{"schema": 2, "config"')
    with pytest.raises(ValueError, match="cut.json: not a record"):
        records.load(tmp_path / "cut.json")


def test_reading_a_record_imports_and_opens_nothing_that_it_names(tiny, tmp_path, monkeypatch):
    """Not its loss, not its teacher, not the sources that records of earlier days list; and these stay readable."""
    icrlib.train(tiny, updates=2, record=tmp_path / "r.json", progress=False)
    old = json.loads((tmp_path / "r.json").read_text())
    (tmp_path / "nasty.py").write_text("raise RuntimeError('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    for name, value in (("loss", "nasty:Loss"), ("method", "nasty:Model"), ("auxiliary", "nasty:Extra")):
        old["config"][name] = value
    old |= {"sources": {"nasty:Loss": "0" * 16, "../../etc/passwd": "0" * 16}, "schema": 1}
    (tmp_path / "old.json").write_text(json.dumps(old))
    assert records.load(tmp_path / "old.json")["config"]["loss"] == "nasty:Loss" and "nasty" not in sys.modules


def test_every_committed_record_is_whole_and_in_its_place():
    paths = records.below()
    assert len(paths) > 2800, "the book's records are missing"
    for path in paths:
        record = records.load(path)
        config = record["config"]
        assert not config["smoke"] and record["history"][-1]["update"] == config["updates"]
        place = records.root() / place_of(config["dataset"], config["method"], config["loss"], key_of(config))
        assert path.parent == place.parent and re.fullmatch(rf"{place.name}(\.repeat-[1-9])?\.json", path.name)
        assert place.with_suffix(".json").is_file(), "a second record without a first"
        # Two evaluations can have the same rsum but for a rounding in its sum, which a record does not keep.
        own = [entry for entry in record["history"] if entry["update"] > config.get("warmup", 0)]
        best = max(entry["val"]["rsum"] for entry in own)
        of_best = [entry["update"] for entry in own if entry["val"]["rsum"] == best]
        assert record["chosen"]["update"] in of_best and record["chosen"]["val_rsum"] == best
        sums = sum(record["test"][side][k] for side in ("i2t", "t2i") for k in ("r1", "r5", "r10"))
        assert record["test"]["rsum"] == pytest.approx(sums, abs=1e-4)


def test_a_committed_record_is_what_its_run_gives_again():
    """The quickest default run of the book, from scratch: bit-identical here, else within the rounding's spread."""
    losses = ["triplet", "triplet_sh", "ntxent", "smoothap"]
    default = runs("scenes", method="bow", loss=losses, seed=range(10), updates=3000)
    record = min(default, key=lambda run: run["wall_seconds"])
    config = record["config"]
    drawn = {name: config["data_options"][name] for name in ("seed", "train", "val", "test")}
    data = icrlib.load_dataset("scenes", **drawn)
    assert data.fingerprint == record["data_hash"], "the dataset is not the one of the records"
    parts = config["method"], config["loss"]
    again = icrlib.train(data, *parts, seed=config["seed"], device="cpu", progress=False).record
    assert again["config"]["updates"] == config["updates"], "the defaults are not those of the record"
    if again["test"] != record["test"]:
        assert again["test"]["rsum"] == pytest.approx(record["test"]["rsum"], abs=4)

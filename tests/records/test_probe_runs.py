"""scripts/probe_runs.py on a study of two tiny runs: models from runs/, models trained again, targets once."""

from __future__ import annotations

import json
import shutil

import pytest
from click.testing import CliRunner

import icrlib
import make_records
import probe_runs
from icrlib import probes, records
from icrlib.data.targets import teacher, vectors
from icrlib.records import probed
from icrlib.studies import Run, Study, studies

DATA = {"seed": 3, "train": 60, "val": 20, "test": 30}
ROWS = {"con": {"objective": "con"}, "form": {"objective": "dual", "target": "form"}}


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder of records of its own, and a study "tiny" whose two runs are trained in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "records").mkdir()
    for module in (records, records.files, probed):
        monkeypatch.setattr(module, "root", lambda: tmp_path / "records")
    short = {"updates": 20, "evaluate_every": 10}
    runs = [Run("tiny", "scenes", "ltd", "ntxent", 3, tag, more | short, DATA) for tag, more in ROWS.items()]
    monkeypatch.setitem(studies._known, "tiny", Study("tiny", lambda: runs))
    return tmp_path, runs


def probe():
    return CliRunner().invoke(probe_runs.main, ["tiny"])


def test_models_and_targets_are_asked_once(place):
    root, runs = place
    assert "no records yet; make records STUDY=tiny" in probe().output
    for run in runs:
        make_records.train(run, None)
    assert probe().exit_code == 0
    found = probed.lines()
    assert [set(line) & {"identity", "target"} for line in found] == [{"identity"}, {"identity"}, {"target"}]
    data = icrlib.load_dataset("scenes", **DATA)
    for run, line in zip(runs, found, strict=False):
        folder = root / "runs" / run.path.relative_to(root / "records").with_suffix("")
        twin = probes.probe(icrlib.load_model(folder), data)
        for row in twin.itertuples():
            assert line["facts"][row.of][row.fact] == pytest.approx(row.accuracy, abs=1e-3)
            assert line["chance"][row.of][row.fact] == pytest.approx(row.chance, abs=1e-3)
    form = {
        name: (None, vectors(getattr(data, name).captions, teacher("form"), progress=False))
        for name in ("train", "val", "test")
    }
    twin = probes.read(form, {name: getattr(data, name) for name in form}, kinds=("caption",))
    assert list(found[2]["facts"]) == ["caption"] and set(twin["of"]) == {"caption"}
    of_form = dict(zip(twin["fact"], twin["accuracy"], strict=True))
    assert found[2]["facts"]["caption"] == pytest.approx(of_form, abs=1e-3)
    shutil.rmtree(root / "runs")
    assert probe().exit_code == 0 and probed.lines() == found and not (root / "runs").exists()


def test_what_another_process_has_made_meanwhile_is_left_as_it_is(place, monkeypatch, capsys):
    """Two commands side by side: the other one ends a run while this one draws its data."""
    _, (run, _) = place
    drawn = icrlib.load_dataset

    def late(*names, **options):
        run.path.parent.mkdir(parents=True)
        run.path.write_text("of the other")
        return drawn(*names, **options)

    monkeypatch.setattr(icrlib, "load_dataset", late)
    make_records.train(run, None)
    assert "another process has made it" in capsys.readouterr().out and run.path.read_text() == "of the other"


def test_what_is_gone_is_trained_again_and_another_model_is_refused(place):
    root, runs = place
    for run in runs:
        make_records.train(run, None)
    assert probe().exit_code == 0
    first = probed.lines()
    shutil.rmtree(root / "runs")
    (root / "records" / probed.LINES).unlink()
    assert probe().exit_code == 0
    rsum = [records.load(run.path)["test"]["rsum"] for run in runs]
    assert [line.get("again") for line in probed.lines()] == [*rsum, None]  # on one machine the same model
    assert [{k: v for k, v in line.items() if k != "again"} for line in probed.lines()] == first
    (root / "records" / probed.LINES).unlink()
    icrlib.train(
        icrlib.load_dataset("scenes", **DATA), "ltd", "ntxent", seed=9, updates=1, evaluate_every=1, progress=False
    ).save(root / "runs/studies/tiny/scenes/ltd/ntxent/con-seed3")
    said = probe()
    assert said.exit_code == 1 and "con-seed3.json: this model has a test rsum of" in said.output
    assert "con-seed3, and it is trained again" in " ".join(said.output.split()) and probed.lines() == []


def test_only_scenes_have_facts(place, monkeypatch):
    root, (run, _) = place
    photo = Run("tiny", "flickr8k", "vse++", "ntxent", 0, "x")
    photo.path.parent.mkdir(parents=True)
    photo.path.write_text("{}")
    monkeypatch.setitem(studies._known, "tiny", Study("tiny", lambda: [photo]))
    assert "is about flickr8k" in probe().output


def test_a_model_of_another_machine_is_asked_with_its_own_rsum(place):
    """Trained again it need not be the record's: then the line says what it has."""
    _, (run, _) = place
    make_records.train(run, None)
    shutil.rmtree("runs")
    record = records.load(run.path)
    noted = record["test"]["rsum"]
    record["test"]["rsum"] += 7.0
    run.path.write_text(json.dumps({k: v for k, v in record.items() if k != "path"}))
    assert probe().exit_code == 0
    found = probed.of_runs([records.load(run.path)])
    assert found["again"] == {record["identity"]: noted} and list(found["runs"]) == [record["identity"]]


def test_of_runs_takes_the_lines_of_the_given_runs_and_of_their_data(place, monkeypatch):
    made = [
        {"identity": "a", "data_hash": "d", "facts": {"caption": {"x": 1.0}, "picture": {"y": 2.0}}},
        {"identity": "b", "data_hash": "e", "facts": {"caption": {"x": 3.0}, "picture": {"y": 4.0}}},
        {"target": "form", "data_hash": "d", "facts": {"caption": {"x": 5.0}}},
        {"target": "form", "data_hash": "e", "facts": {"caption": {"x": 6.0}}},
    ]
    monkeypatch.setattr(probed, "lines", lambda: [line | {"chance": line["facts"]} for line in made])
    found = probed.of_runs([{"identity": "a"}, {"identity": "not probed"}])
    assert found["runs"].to_dict() == {"a": {"x": 1.0}} and found["targets"].to_dict() == {("form", "d"): {"x": 5.0}}
    pictures = probed.of_runs([{"identity": "a"}, {"identity": "b"}], "picture")
    assert pictures["runs"].to_dict() == {"a": {"y": 2.0}, "b": {"y": 4.0}} and pictures["targets"].empty
    assert pictures["chance"].to_dict() == {"d": {"y": 2.0}, "e": {"y": 4.0}}
    assert probed.of_runs([])["runs"].empty

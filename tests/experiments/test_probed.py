"""scripts/probe_runs.py on two tiny runs: models from runs/, models trained again, targets once."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

import icrlib
import probe_runs
from icrlib import probes, records
from icrlib.data.targets import teacher, vectors
from icrlib.experiments import probed, runs
from icrlib.training.saved import save_model

DATA = {"train": 60, "val": 20, "test": 30}
SHORT = {"method": "ltd", "loss": "ntxent", "seed": 3, "updates": 20, "evaluate_every": 10} | DATA


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder of probes of its own, and two runs that were trained beside it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(probed, "root", lambda: tmp_path)
    monkeypatch.setattr("icrlib.experiments.store.trained", lambda: tmp_path / "runs")
    monkeypatch.setattr(records, "root", lambda: tmp_path)
    probed_runs = [*runs("scenes", objective="con", missing="train", **SHORT)]
    probed_runs += runs("scenes", objective="dual", target="form", missing="train", **SHORT)
    return tmp_path, probed_runs


def probe(of):
    return CliRunner().invoke(probe_runs.main, [run["key"] for run in of])


def test_models_and_targets_are_asked_once(place):
    root, of = place
    assert probe(of).exit_code == 0
    lines, data = probed.lines(), icrlib.load_dataset("scenes", seed=3, **DATA)
    assert [set(line) & {"key", "target"} for line in lines] == [{"key"}, {"key"}, {"target"}]
    splits = {name: getattr(data, name) for name in ("train", "val", "test")}
    form = {name: (None, vectors(split.captions, teacher("form"), progress=False)) for name, split in splits.items()}
    twins = [probes.probe(icrlib.load_model(Path(run["path"]).parent), data) for run in of]
    for twin, line in zip([*twins, probes.read(form, splits, kinds=("caption",))], lines, strict=True):
        assert set(line["facts"]) == set(twin["of"])
        for row in twin.itertuples():
            assert line["facts"][row.of][row.fact] == pytest.approx(row.accuracy, abs=1e-3)
            assert line["chance"][row.of][row.fact] == pytest.approx(row.chance, abs=1e-3)
    table = probed.of_runs(of)
    assert list(table["runs"]) == [run["key"] for run in of]
    assert list(table["targets"]) == [("form", of[1]["data_hash"])]
    for run in of:
        (Path(run["path"]).parent / "model.safetensors").unlink()
    assert probe(of).exit_code == 0 and probed.lines() == lines and not (root / "runs/again").exists()


def test_what_is_gone_is_trained_again_and_another_model_is_refused(place):
    _, (run, _) = place
    folder = Path(run["path"]).parent
    other = icrlib.load_dataset("scenes", seed=3, **DATA)
    model = icrlib.train(other, "ltd", "ntxent", seed=9, updates=1, evaluate_every=1, progress=False).model
    save_model(model, "ltd", folder)
    refused = probe([run])
    assert refused.exit_code == 1 and run["key"] in refused.output and probed.lines() == []
    (folder / "model.safetensors").unlink()
    assert probe([run]).exit_code == 0
    assert probed.lines()[0]["again"] == run["test"]["rsum"]  # on one machine the same model

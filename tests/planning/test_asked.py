"""What a run would be, before its data was read: against what resolves once it is."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

import icrlib
from icrlib.cli import main
from icrlib.planning import asked
from icrlib.training.config import identity, resolve

from .made import noted


def icr(*words: str):
    return CliRunner().invoke(main, list(words))


@pytest.fixture
def no_records(monkeypatch):
    """Plans without reading the book's records, which takes a while."""
    monkeypatch.setattr("icrlib.cli.runs.outlines", lambda **which: [])
    monkeypatch.setattr("icrlib.cli.records.outlines", lambda **which: [])


@pytest.mark.parametrize(
    ("name", "method", "source", "given"),
    [
        ("scenes", "vse++", {}, {"epochs": 7, "lr": 0.002}),
        ("scenes", "vsrn", {"regions": True}, {"epochs": 7}),
        ("stamps", "ltd", {"bits": 3}, {"epochs": 7, "tau": 0.2}),
        ("rendered", "ltd", {}, {"updates": 20, "finetune_after": 10}),
    ],
)
def test_drawn_data_are_known_without_drawing_them(name, method, source, given):
    """The twin draws them: all of the configuration agrees but the hash."""
    source = {"train": 30, "val": 8, "test": 8} | source
    drawn = resolve(icrlib.load_dataset(name, seed=3, **source), method, "ntxent", seed=3, given=given).flat()
    config, _ = asked.configuration(name, method, "ntxent", seed=3, source=source, given=given)
    assert config == drawn | {"data_hash": ""}
    known = [{"config": drawn, "identity": identity(drawn)}]
    assert asked.finished(config, known) is known[0]
    other, _ = asked.configuration(name, method, "ntxent", seed=4, source=source, given=given)
    assert asked.finished(other, known) is None


@pytest.mark.parametrize(
    ("dataset", "method", "loss", "updates"),
    [
        ("flickr30k", "vse++", "ntxent", 33_990),  # 29,000 × 5 captions in batches of 128, thirty times
        ("flickr30k", "vse++", "smoothap", 34_050),
        ("coco", "vsrn", "triplet_sh", 132_780),
    ],
)
def test_a_published_row_has_the_updates_of_its_own_data(dataset, method, loss, updates):
    row = {"epochs": 150 if loss == "smoothap" else 30, "batch_size": 128}
    config, _ = asked.configuration(dataset, method, loss, given=row)
    assert config["updates"] == updates


def folder_of_features(folder, *shape):
    for part in ("train", "dev", "test"):
        np.save(folder / f"{part}_ims.npy", np.random.default_rng(0).random((9, *shape), dtype=np.float32))
        (folder / f"{part}_caps.txt").write_text("".join(f"a red box {i}\n" for i in range(45)))
    return str(folder)


def test_features_that_are_there_are_counted(tmp_path, monkeypatch, no_records):
    """45 captions in batches of 4: eleven updates and a last batch of one, which joins the one before."""
    monkeypatch.setattr(asked, "of_runs", lambda folder: [])  # whatever was trained in this checkout
    here = ["-p", f"features={folder_of_features(tmp_path, 7)}", "-p", "batch_size=4", "-p", "epochs=3"]
    notebook = "book/reproduce/run.ipynb"
    assert "plan: 33 updates, of unknown length" in icr("run", notebook, "--plan", "-p", "dataset=coco", *here).output
    elsewhere = icr("run", notebook, "--plan", "-p", "dataset=flickr8k", "-p", f"features={tmp_path}/x").output
    assert f"{tmp_path}/x is not there" in elsewhere and "235 updates an epoch" in elsewhere


@pytest.mark.parametrize(
    ("method", "shape", "way"), [("vsrn", (5,), "PHOTOS FOLDER --regions 4"), ("vse++", (3, 5), "icr features PHOTOS")]
)
def test_features_of_the_other_kind_are_refused_before_anything_runs(method, shape, way, tmp_path, no_records):
    words = ["-p", f"method={method}", "-p", "dataset=coco", "-p", f"features={folder_of_features(tmp_path, *shape)}"]
    result = icr("run", "book/reproduce/run.ipynb", str(tmp_path / "out.ipynb"), *words)
    output = " ".join(result.output.split())
    assert result.exit_code == 1 and f"{method} takes " in output and way in output, output
    assert not (tmp_path / "out.ipynb").exists()


def test_a_grid_counts_what_lies_in_runs_as_finished(tmp_path, monkeypatch, no_records):
    """Also a damaged record beside it does no harm."""
    monkeypatch.chdir(tmp_path)
    config, _ = asked.configuration(seed=1)
    record = noted(config, identity=identity(config))
    for name, text in (("a", json.dumps(record)), ("b", "{")):
        place = tmp_path / "runs" / "grid" / name
        place.mkdir(parents=True)
        (place / "record.json").write_text(text)
    assert "(1 finished)" in icr("plan", "-p", "seed=0,1", "-p", "loss=ntxent").output

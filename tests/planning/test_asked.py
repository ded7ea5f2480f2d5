"""What a run would be, before its data was read: against what resolves once it is."""

from __future__ import annotations

import json
import re

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
    monkeypatch.setattr("icrlib.cli.records.outlines", lambda **which: [])


@pytest.mark.parametrize(("method", "loss"), [("vse++", "ntxent"), ("bow", "smoothap"), ("vsrn", "triplet")])
def test_scenes_are_known_without_drawing_them(method, loss):
    """The twin draws them: all of the configuration agrees but the hash."""
    data = icrlib.load_dataset("scenes", seed=3, regions=method == "vsrn")
    given = {"epochs": 7, "lr": 0.002}
    drawn = resolve(data, method, loss, seed=3, given=given).flat()
    config, _ = asked.configuration("scenes", method, loss, seed=3, given=given)
    assert config == drawn | {"data_hash": ""}
    known = [{"config": drawn, "identity": identity(drawn)}]
    assert asked.finished(config, known) is known[0]
    assert asked.finished(asked.configuration("scenes", method, loss, seed=4, given=given)[0], known) is None


@pytest.mark.parametrize(
    ("name", "source", "given"),
    [
        *(("stamps", source, {"epochs": 7, "tau": 0.2}) for source in ({}, {"bits": 1}, {"bits": 3, "rounds": 2})),
        ("rendered", {}, {"updates": 20, "finetune_after": 10}),
    ],
)
def test_scenes_as_pictures_are_known_without_drawing_them(name, source, given):
    source, smoke = {"train": 30, "val": 8, "test": 8} | source, "rounds" in source
    data = icrlib.load_dataset(name, seed=3, smoke=smoke, **source)
    drawn = resolve(data, "ltd", "ntxent", seed=3, smoke=smoke, given=given).flat()
    config, _ = asked.configuration(name, "ltd", "ntxent", seed=3, smoke=smoke, source=source, given=given)
    assert config == drawn | {"data_hash": ""}
    assert asked.finished(config, [{"config": drawn, "identity": identity(drawn)}])


@pytest.mark.parametrize("name", ["rendered", "stamps"])
def test_drawn_data_go_by_their_names_alone(name):
    run = icrlib.train(name, "ltd", seed=2, smoke=True, progress=False)
    assert (run.record["config"]["dataset"], run.record["config"]["data_seed"]) == (name, 2)
    with pytest.raises(ValueError, match="'stamps' makes its own pictures"):
        icrlib.load_dataset("stamps", features="somewhere")
    with pytest.raises(ValueError, match="Did you mean 'bits'"):
        icrlib.load_dataset("stamps", bit=2)


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


def test_a_row_s_plan_is_of_its_own_data_whatever_records_there_are(monkeypatch):
    """Those of another data set, with fewer updates an epoch, change the time and not the number of updates."""
    past = noted(asked.configuration("flickr8k", given={"epochs": 2})[0], 60.0, updates_per_epoch=235)
    monkeypatch.setattr("icrlib.cli.records.outlines", lambda **which: [past])
    said = icr("run", "ecir/1.3", "--plan")
    assert said.exit_code == 0, said.output
    assert "for 33,990 updates" in said.output and "from a record with dataset=flickr8k" in said.output


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
    said = icr("run", notebook, "--plan", "-p", "dataset=coco", *here).output
    assert "plan: 33 updates, of unknown length" in said
    gone = icr("run", notebook, "--plan", "-p", "dataset=flickr8k", "-p", f"features={tmp_path}/x", "-p", "epochs=2")
    assert f"plan: {2 * 235} updates" in gone.output  # as the data set was published


def test_photos_are_counted_and_not_computed(tmp_path):
    entries = [
        {
            "filename": f"{i}.jpg",
            "imgid": i,
            "split": ("train", "val", "test")[i % 3],
            "sentences": [{"raw": "a dog"}] * 2,
        }
        for i in range(30)
    ]
    (tmp_path / "dataset.json").write_text(json.dumps({"images": entries}))
    (tmp_path / "images").mkdir()
    source = {"root": str(tmp_path), "images": "published", "backbone": "resnet50"}
    config, sizes = asked.configuration("flickr8k", given={"batch_size": 4, "epochs": 2}, source=source)
    assert config["updates"] == 2 * 5 and config["backbone"] == "resnet50"  # 20 captions
    assert (sizes["val"], sizes["each"], sizes["features"]) == (10, 2.0, (2048,))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["method=vsrn"], "vsrn takes regions, and the features here are (256,) for each image.*-p regions=true"),
        (["method=bow", "regions=true"], "bow takes one vector an image"),
        (["method=vsrn", "dataset=coco", "features={pooled}"], "vsrn takes regions.*icr features"),
        (["method=vse++", "dataset=coco", "features={regions}"], "takes one vector.*icr features"),
    ],
)
def test_features_of_the_other_kind_are_refused_before_anything_runs(given, said, tmp_path, no_records):
    folders = {name: tmp_path / name for name in ("pooled", "regions")}
    for name, folder in folders.items():
        folder.mkdir()
        folder_of_features(folder, *((5,) if name == "pooled" else (3, 5)))
    words = [word for one in given for word in ("-p", one.format(**folders))]
    result = icr("run", "book/reproduce/run.ipynb", str(tmp_path / "out.ipynb"), *words)
    told = " ".join(result.output.split())
    assert result.exit_code == 1 and re.search(said.replace("(256,)", r"\(256,\)"), told), told
    assert not (tmp_path / "out.ipynb").exists()


def test_settings_of_another_machine_are_taken_as_given():
    config, _ = asked.configuration(given={"device": "cuda", "precision": "float16"})
    assert (config["device"], config["precision"]) == ("cuda", "float16")
    with pytest.raises(ValueError, match="float99"):
        asked.configuration(given={"precision": "float99"})


def test_a_grid_counts_what_lies_in_runs_as_finished(tmp_path, monkeypatch, no_records):
    """Also a damaged record beside it does no harm."""
    monkeypatch.chdir(tmp_path)
    config, _ = asked.configuration(seed=1)
    record = noted(config, identity=identity(config))
    for name, text in (("a", json.dumps(record)), ("b", "{")):
        place = tmp_path / "runs" / "grid" / name
        place.mkdir(parents=True)
        (place / "record.json").write_text(text)
    said = icr("plan", "-p", "seed=0,1", "-p", "loss=ntxent").output
    assert re.match(r"2 runs, \d+\.\d core-minutes \(1 finished\) as past records suggest", said), said

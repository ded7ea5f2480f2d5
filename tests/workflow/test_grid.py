"""The grid without Snakemake: names from identities, what is there, what is missing, what it will cost."""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import json
from pathlib import Path

import numpy as np
import pytest

import grid
import icrlib
from grid import Grid, needs, plan, planned, set_aside, write
from icrlib.data.crops import Pictures
from icrlib.records import files
from icrlib.studies import Run


@pytest.fixture
def drawn(tiny, monkeypatch):
    """``load_dataset`` without drawing: each seed its own fingerprint; regions where they are asked for."""
    draws, real = [], icrlib.load_dataset

    def load(name, *, smoke=False, seed=0, regions=False, **source):
        if name != "scenes":
            return real(name, **source)
        draws.append((seed, regions))
        splits = {}
        for split in (tiny.train, tiny.val, tiny.test):
            features = split.features[:, None].expand(-1, 3, -1) if regions else split.features
            splits[split.name] = dataclasses.replace(split, features=features)
        options = {"seed": seed, "regions": regions}
        return dataclasses.replace(tiny, **splits, fingerprint=f"{seed}{regions}" * 9, options=options, drawn=True)

    monkeypatch.setattr(grid, "load_dataset", load)
    load.draws = draws
    return load


def test_a_run_is_called_what_training_calls_it(drawn, tmp_path):
    """The twin: a run that is really trained from the planned parameters has the planned identity."""
    (run,) = planned(Grid("scenes", ("bow",), ("infonce",), (3,), settings=("updates=4", "tau=0.2")))
    assert run.parameters == {"dataset": "scenes", "method": "bow", "loss": "ntxent", "seed": 3} | run.settings
    assert run.settings == {"updates": 4, "tau": 0.2}
    data = drawn("scenes", seed=3)
    trained = icrlib.train(data, "bow", "ntxent", seed=3, progress=False, out=tmp_path, **run.settings)
    assert run.identity == trained.record["identity"] == json.loads((tmp_path / "config.json").read_text())["identity"]
    assert run.folder == f"scenes/bow/ntxent/seed3-{run.identity}"


def test_the_product_of_all_names_each_draw_loaded_once(drawn):
    runs = planned(Grid("scenes", losses=("ntxent", "goal:cirxlin"), seeds=(0, 2)))
    expected = itertools.product((0, 2), ("vse++", "bow", "vsrn"), ("ntxent", "goal:cir x lin"))
    assert [(r.seed, r.method, r.loss) for r in runs] == list(expected)
    assert len({r.identity for r in runs}) == 12
    assert drawn.draws == [(0, False), (0, True), (2, False), (2, True)]
    assert all(r.parameters.get("regions", False) == (r.method == "vsrn") for r in runs)


def test_a_default_that_is_given_changes_no_name_and_another_value_does(drawn):
    def folder(*settings, **more):
        (run,) = planned(Grid("scenes", ("bow",), ("ntxent",), (0,), settings=settings, **more))
        return run.folder

    assert folder() == folder("tau=0.1") == folder("grad_clip=2.0", "precision=float32")
    assert len({folder(), folder("tau=0.2"), folder("lr=0.5"), folder("updates=39"), folder(smoke=True)}) == 5


def test_tuned_runs_that_come_to_the_same_are_one(drawn):
    chosen = {"ntxent": {"lr": 1e-2}, "triplet": {"margin": 0.4}}  # the first is the data set's default
    both = Grid("scenes", ("bow",), tuple(chosen), (0,), (False, True))
    runs = planned(both, lambda data, method, loss: chosen[loss])
    assert [(r.loss, r.tag) for r in runs] == [("ntxent", ""), ("triplet", ""), ("triplet", "tuned")]
    assert runs[2].parameters["margin"] == 0.4 and "margin" not in runs[1].parameters


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"losses": ("ntxnt",)}, "'ntxent'"),
        ({"settings": ("seed=3",)}, "SEEDS="),
        ({"settings": ("tau=0.1",), "losses": ("triplet",)}, "tau"),
        ({"dataset": "coco"}, "FEATURES=FOLDER"),
    ],
)
def test_wrong_names_are_refused_before_anything_starts(drawn, given, message):
    with pytest.raises(ValueError, match=message):
        planned(Grid(**{"dataset": "scenes", "methods": ("bow",), "seeds": (0,)} | given))


@pytest.mark.parametrize(
    ("shape", "fitting", "wrong", "command"),
    [((5,), {"vse++", "bow"}, "vsrn", "--regions 4"), ((3, 5), {"vsrn"}, "bow", "icr features PHOTOS FOLDER,")],
)
def test_methods_fit_the_features(tmp_path, shape, fitting, wrong, command):
    """Pooled vectors for some methods, regions for others; the wrong pair is refused with the way out."""
    for part in ("train", "dev", "test"):
        np.save(tmp_path / f"{part}_ims.npy", np.random.default_rng(0).random((6, *shape), dtype=np.float32))
        (tmp_path / f"{part}_caps.txt").write_text("".join(f"a red box {i}\n" for i in range(6)))
    features = Grid("flickr8k", None, ("ntxent",), (0, 1), source={"features": str(tmp_path)})
    assert {(r.method, r.parameters["features"]) for r in planned(features)} == {(m, str(tmp_path)) for m in fitting}
    with pytest.raises(ValueError, match=f"{wrong} takes .*{command}"):
        planned(dataclasses.replace(features, methods=(wrong,)))


def made(seed: int) -> Run:
    return Run("", "scenes", "vse++", "ntxent", seed, resolved={"identity": f"{seed}" * 10})


def written(path: Path, identity: str) -> Path:
    """As much of a record as a plan looks at."""
    path.parent.mkdir(parents=True, exist_ok=True)
    config = {"dataset": "scenes", "method": "vse++", "loss": "ntxent", "model_options": {}}
    path.write_text(json.dumps({"schema": 2, "config": config, "identity": identity}))
    return path


@pytest.fixture(autouse=True)
def book(tmp_path_factory, monkeypatch) -> Path:
    """The book's records in these tests: a folder of their own, which is empty."""
    folder = tmp_path_factory.mktemp("records")
    monkeypatch.setattr(files, "root", lambda: folder)
    return folder


def test_what_is_there_is_skipped_and_a_half_written_record_made_again(tmp_path, book):
    """In the book's records, unless they are not to count; and in the run's own folder."""
    past = written(book / "vsepp" / "a.json", "0" * 10)
    own = written(tmp_path / made(1).folder / "record.json", "1" * 10)
    runs = [made(seed) for seed in range(3)]
    result = plan(runs, tmp_path)
    assert [(run.seed, path) for run, path in result.there] == [(0, past), (1, own)]
    assert [run.seed for run in result.missing] == [2]
    assert [run.seed for run in plan(runs, tmp_path, fresh=True).missing] == [0, 2]
    past.write_text(past.read_text()[:100])
    own.write_text("{")
    (own.parent / "failed.txt").write_text("an earlier failure")
    result = plan(runs, tmp_path)
    assert len(result.missing) == 3 and f"{past}: not a record" in result.text() and f"{own}: not" in result.text()
    set_aside(runs, tmp_path)
    assert not own.exists() and own.with_name("record.json.damaged").read_text() == "{"
    assert not (own.parent / "failed.txt").exists()


def test_a_run_on_photos_gets_the_threads_that_decode_them():
    pictures = dataclasses.replace(made(0), data={"images": "published"})
    workers = inspect.signature(Pictures.__init__).parameters["workers"].default
    assert needs(pictures) == {"threads": workers, "mem_mb": 8000, "runtime": 1440}


def test_each_run_finds_what_it_needs_in_its_folder(tmp_path):
    run = dataclasses.replace(made(1), study="mine", settings={"lr": 0.5})
    result = plan([run], tmp_path).missing
    listed = json.loads(write(result, tmp_path).read_text())
    assert listed == {made(1).folder: {"threads": 1, "mem_mb": 8000, "runtime": 1440, "grows": True}}
    given = {"mem_mb": 500, "runtime": 9, "threads": 2}
    assert json.loads(write(result, tmp_path, given).read_text()) == {made(1).folder: given | {"grows": False}}
    about = json.loads((tmp_path / run.folder / "parameters.json").read_text())
    assert about["parameters"] == {"dataset": "scenes", "method": "vse++", "loss": "ntxent", "seed": 1, "lr": 0.5}
    assert about["record"].endswith(f"/studies/mine/scenes/vsepp/ntxent/{'1' * 10}-seed1.json")
    write(plan([dataclasses.replace(run, smoke=True)], tmp_path).missing, tmp_path)
    assert json.loads((tmp_path / run.folder / "parameters.json").read_text())["record"] is None

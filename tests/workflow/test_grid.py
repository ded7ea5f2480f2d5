"""The grid without Snakemake: names from identities, what is there, what is missing, what it will cost."""

from __future__ import annotations

import dataclasses
import inspect
import json
from pathlib import Path

import numpy as np
import pytest

import grid
import icrlib
from grid import Grid, needs, planned, set_aside, write
from icrlib import records
from icrlib.data.crops import Pictures
from icrlib.planning import operations
from icrlib.training.unread import Unseen
from icrlib.planning.missing import plan
from icrlib.records import files
from icrlib.studies import Run
from icrlib.training.config import resolve
from tests.planning.made import configured, noted


@pytest.fixture
def drawn(tiny, monkeypatch):
    """``load_dataset`` without drawing: each seed its own fingerprint; regions where they are asked for."""
    asked = []

    def load(name, *, smoke=False, seed=0, regions=False):
        asked.append((seed, regions))
        options = {"seed": seed, "regions": regions}
        splits = {}
        for split in (tiny.train, tiny.val, tiny.test):
            features = split.features[:, None].expand(-1, 3, -1) if regions else split.features
            splits[split.name] = dataclasses.replace(split, features=features)
        return dataclasses.replace(tiny, **splits, fingerprint=f"{seed}{regions}" * 9, options=options, drawn=True)

    monkeypatch.setattr(grid, "load_dataset", load)
    load.asked = asked
    return load


def test_a_run_is_called_what_training_calls_it(drawn, tmp_path):
    """The twin: a run that is really trained from the planned parameters has the planned identity."""
    (run,) = planned(Grid("scenes", ("bow",), ("infonce",), (3,), settings=("updates=4", "tau=0.2")))
    named = {"dataset", "method", "loss", "seed"}
    settings = {name: value for name, value in run.parameters.items() if name not in named}
    assert settings == run.settings == {"updates": 4, "tau": 0.2}
    trained = icrlib.train(
        drawn("scenes", seed=3),
        run.parameters["method"],
        run.parameters["loss"],
        seed=run.parameters["seed"],
        progress=False,
        out=tmp_path,
        **settings,
    )
    assert run.identity == trained.record["identity"] == json.loads((tmp_path / "config.json").read_text())["identity"]
    assert run.folder == f"scenes/bow/ntxent/seed3-{run.identity}"


def test_the_whole_product_each_draw_loaded_once(drawn):
    runs = planned(Grid("scenes", losses=("ntxent", "goal:cirxlin"), seeds=(0, 2)))
    assert [(r.seed, r.method, r.loss) for r in runs] == [
        (seed, method, loss)
        for seed in (0, 2)
        for method in ("vse++", "bow", "vsrn")
        for loss in ("ntxent", "goal:cir x lin")
    ]
    assert len({r.identity for r in runs}) == len(runs) == 12
    assert drawn.asked == [(0, False), (0, True), (2, False), (2, True)]
    assert {r.parameters.get("regions", False) for r in runs if r.method == "vsrn"} == {True}
    assert not any("regions" in r.parameters for r in runs if r.method != "vsrn")


def test_a_default_that_is_given_changes_no_name_and_another_value_does(drawn):
    def folder(*settings):
        (run,) = planned(Grid("scenes", ("bow",), ("ntxent",), (0,), settings=settings))
        return run.folder

    assert folder() == folder("tau=0.1") == folder("grad_clip=2.0", "precision=float32")
    assert len({folder(), folder("tau=0.2"), folder("lr=0.5"), folder("updates=39")}) == 4


def test_tuned_runs_that_come_to_the_same_are_one(drawn):
    chosen = {"ntxent": {"lr": 1e-2}, "triplet": {"margin": 0.4}}  # the first is the data set's default
    both = Grid("scenes", ("bow",), tuple(chosen), (0,), (False, True))
    runs = planned(both, lambda data, method, loss: chosen[loss])
    assert [(r.loss, r.tag) for r in runs] == [("ntxent", ""), ("triplet", ""), ("triplet", "tuned")]
    assert runs[2].parameters["margin"] == 0.4 and "margin" not in runs[1].parameters


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"losses": ("ntxnt",)}, "unknown loss 'ntxnt'.*Did you mean 'ntxent'"),
        ({"methods": ("vsr",)}, "unknown method 'vsr'.*Did you mean 'vsrn'"),
        ({"dataset": "flickr8"}, "unknown dataset 'flickr8'.*Did you mean 'flickr8k'"),
        ({"settings": ("updatse=3",)}, "unknown .*'updatse'.*Did you mean 'updates'"),
        ({"settings": ("seed=3",)}, "seed is no setting of a run here; give SEEDS="),
        ({"settings": ("out=here",)}, "out is no setting of a run here; it follows from the grid"),
        ({"settings": ("tau=0.1",), "losses": ("triplet",)}, "tau"),
    ],
)
def test_wrong_names_are_refused_before_anything_starts(drawn, asked, message):
    with pytest.raises(ValueError, match=message):
        planned(Grid(**{"dataset": "scenes", "methods": ("bow",), "seeds": (0,)} | asked))


def test_missing_data_says_which_command_makes_it(tmp_path):
    with pytest.raises(ValueError, match="needs root=(.|\n)*make reproduce DATASET=coco FEATURES=FOLDER"):
        planned(Grid("coco"))
    with pytest.raises(FileNotFoundError, match="missing train_ims.npy(.|\n)*icr features PHOTOS FOLDER"):
        planned(Grid("flickr8k", source={"features": str(tmp_path)}))


def features(folder: Path, *shape: int) -> Grid:
    for part in ("train", "dev", "test"):
        np.save(folder / f"{part}_ims.npy", np.random.default_rng(0).random((6, *shape), dtype=np.float32))
        (folder / f"{part}_caps.txt").write_text("".join(f"a red box {i}\n" for i in range(6)))
    return Grid("flickr8k", None, ("ntxent",), (0, 1), source={"features": str(folder)})


def test_methods_fit_the_features(tmp_path):
    """Pooled vectors for some methods, regions for others; the wrong pair is refused with the way out."""
    pooled = features(tmp_path, 5)
    assert {r.method for r in planned(pooled)} == {"vse++", "bow"}
    with pytest.raises(ValueError, match=r"vsrn takes regions.*\(5,\).*icr features PHOTOS FOLDER --regions 4"):
        planned(dataclasses.replace(pooled, methods=("vsrn",)))
    regions = features(tmp_path, 3, 5)
    assert {(r.method, r.parameters["features"]) for r in planned(regions)} == {("vsrn", str(tmp_path))}
    with pytest.raises(ValueError, match=r"bow takes one vector an image.*\(3, 5\).*icr features PHOTOS FOLDER,"):
        planned(dataclasses.replace(regions, methods=("bow",)))


def made(seed: int, identity: str = "", **other) -> Run:
    config = configured(**{"updates": 1000, "size": 128} | other)
    config |= {"identity": identity or f"{seed}" * 10}
    resolved = config, operations.assumed(config)
    return Run("", "scenes", config["method"], config["loss"], seed, resolved=resolved)


def written(path: Path, identity: str, seconds: float = 50.0, **other) -> Path:
    """As much of a record as a plan looks at."""
    path.parent.mkdir(parents=True, exist_ok=True)
    config = configured(updates=500, size=128) | other
    path.write_text(json.dumps(noted(config, seconds, identity=identity, peak_memory_mb=700)))
    return path


@pytest.fixture(autouse=True)
def book(tmp_path_factory, monkeypatch) -> Path:
    """The book's records in these tests: a folder of their own, which is empty."""
    folder = tmp_path_factory.mktemp("records")
    monkeypatch.setattr(files, "root", lambda: folder)
    return folder


def test_what_is_there_is_skipped(tmp_path, book):
    """In the book's records, unless they are not to count; and in the run's own folder."""
    past = written(book / "a.json", "0" * 10)
    own = written(tmp_path / made(1).folder / "record.json", "1" * 10)
    runs = [made(seed) for seed in range(3)]
    found = plan(runs, tmp_path)
    assert [(run.seed, path) for run, path in found.there] == [(0, past), (1, own)]
    assert [run.seed for run, _ in found.missing] == [2]
    fresh = plan(runs, tmp_path, fresh=True)
    assert [run.seed for run, _ in fresh.there] == [1] and [run.seed for run, _ in fresh.missing] == [0, 2]


def test_the_book_s_records_have_the_names_that_a_plan_asks_for(monkeypatch):
    """Every record that notes its identity has the one that its configuration gives today."""
    monkeypatch.undo()
    from icrlib.training.config import identity

    found = [record for record in records.find(study="ecir") if record["config"]["seed"] == 0]
    assert len(found) >= 8 and all(record["identity"] == identity(record["config"]) for record in found)


def test_a_half_written_record_is_named_and_made_again(tmp_path, book):
    past = written(book / "a.json", "0" * 10)
    past.write_text(past.read_text()[:100])
    own = written(tmp_path / made(1).folder / "record.json", "1" * 10)
    own.write_text("{")
    (own.parent / "failed.txt").write_text("an earlier failure")
    runs = [made(0), made(1)]
    found = plan(runs, tmp_path)
    assert len(found.missing) == 2 and not found.there
    text = found.text()
    assert f"{past}: not a record" in text and "git checkout brings it back" in text
    assert f"{own}: not a record" in text and "ends again from its checkpoint" in text
    set_aside(runs, tmp_path)
    assert not own.exists() and own.with_name("record.json.damaged").read_text() == "{"
    assert not (own.parent / "failed.txt").exists()


def test_the_time_is_that_of_past_records(tmp_path, book):
    """50 s for 500 updates, so 100 s for each run of 1000; what has no record is counted apart."""
    written(book / "a.json", "a" * 10)
    written(book / "b.json", "b" * 10, seconds=90.0)
    found = plan([made(0), made(1), made(2, method="vsrn")], tmp_path / "runs")
    assert found.seconds == pytest.approx(200)
    text = found.text(jobs=2)
    assert text.startswith(
        "3 runs: 0 finished, 3 to train, about 0.06 core-hours as past records suggest "
        "(1 of unknown length); 2 at a time: about 2 minutes\n"
    )
    assert found.text(jobs=5).splitlines()[0].endswith("5 at a time: about 2 minutes")  # no less than one run takes
    assert f"to train  vse++ ntxent seed 0: {made(0).folder}, about 1.7 minutes and 700 MB" in text
    assert "of unknown length: there is no record of 'vsrn' yet; its products are " in text
    exact = found.missing[0][1]
    assert needs(made(0), exact) == {"threads": 1, "mem_mb": 2050, "runtime": 20}
    assert needs(made(0), None) == {"threads": 1, "mem_mb": 8000, "runtime": 1440}
    long = dataclasses.replace(exact, seconds=3600, memory_mb=4000)
    assert needs(made(0), long) == {"threads": 1, "mem_mb": 7000, "runtime": 240}


def test_a_larger_model_is_not_promised_the_time_of_a_smaller_one(tmp_path, book):
    """Twin: the products of an update at d = 512 and at 128, added up here in another way."""
    written(book / "a.json", "a" * 10)
    larger = made(0, model_options={"embed_dim": 512, "word_dim": 64})
    found = plan([larger], tmp_path / "runs")

    def products(d: int) -> float:
        """Of one update, in multiply-adds: image layer without its inputs' gradient, GRU, scores."""
        gru = 128 * 11.8 * 3 * (64 * d + d * d) * 3 - 128 * 3 * d * d
        return 2 * 128 * 256 * d + gru + 3 * 128 * 128 * d

    assert found.seconds == pytest.approx(100 * products(512) / products(128)) and found.seconds > 1000
    assert "core-hours as past records suggest (1 of them scaled)" in found.text()
    how = "scaled by counted operations, 11.6 times as many an update, from a record with embed_dim=128"
    assert how in found.text()


def test_a_cpu_says_nothing_about_a_gpu(drawn, tmp_path, book):
    """A profile with a GPU plans for one, on a machine that has none; the run's name does not depend on it."""
    grids = [Grid("scenes", ("vse++",), ("ntxent",), (0,), device=device) for device in (None, "cuda")]
    (here,), (there,) = map(planned, grids)
    assert here.identity == there.identity and there.configuration()[0]["device"] == "cuda"
    assert "device" not in there.parameters  # the run takes what its machine has
    written(book / "a.json", "a" * 10)
    text = plan([there], tmp_path, fresh=True).text()
    assert text.startswith("1 runs: 0 finished, 1 to train, all of unknown length\n")
    assert "there is no record of 'vse++' on a GPU yet" in text
    given = Grid("scenes", ("vse++",), ("ntxent",), (0,), settings=("precision=float16", "device=cuda"), device="cuda")
    (half,) = planned(given)  # refused on this machine, but it is not for this machine
    assert half.configuration()[0]["precision"] == "float16" and half.identity != there.identity
    with pytest.raises(ValueError, match="float99"):
        planned(dataclasses.replace(given, settings=("precision=float99",)))


def test_a_grid_s_own_runs_are_past_records_and_count_as_finished(tmp_path):
    """Also those of other grids that were trained in the same place."""
    own = written(tmp_path / made(1).folder / "record.json", "1" * 10)
    written(
        tmp_path / "flickr8k" / "bow" / "ntxent" / "seed0-abc" / "record.json",
        "c" * 10,
        seconds=7.0,
        dataset="flickr8k",
        method="bow",
        model_options={"embed_dim": 128},
    )
    like = made(2, method="bow", dataset="flickr8k", model_options={"embed_dim": 128})
    found = plan([made(1), like], tmp_path)
    assert [path for _, path in found.there] == [own] and found.seconds == pytest.approx(14)


def test_a_folder_of_another_run_is_named_with_the_way_out(tmp_path):
    folder = tmp_path / made(0).folder
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({"identity": "of another"}))
    said = plan([made(0), made(1)], tmp_path).text()
    assert (
        f"{folder} holds another run (of another)" in said
        and f"rm -r {folder}" in said
        and "then the same command trains it" in said
    )
    (folder / "config.json").write_text("{")
    assert "holds another run (that cannot be read)" in plan([made(0)], tmp_path).text()
    (folder / "config.json").write_text(json.dumps({"identity": "0" * 10}))
    assert "another run" not in plan([made(0)], tmp_path).text()


def test_each_run_finds_what_it_needs_in_its_folder(tmp_path):
    kept = [dataclasses.replace(made(seed), study="mine", settings={"lr": 0.5}) for seed in range(2)]
    found = plan(kept, tmp_path).missing
    listed = json.loads(write(found, tmp_path).read_text())
    assert list(listed) == [made(0).folder, made(1).folder]
    assert listed[made(0).folder] == {"threads": 1, "mem_mb": 8000, "runtime": 1440, "grows": True}
    own = json.loads(write(found, tmp_path, {"mem_mb": 500, "runtime": 9, "threads": 2}).read_text())
    assert own[made(1).folder] == {"threads": 2, "mem_mb": 500, "runtime": 9, "grows": False}
    about = json.loads((tmp_path / made(1).folder / "parameters.json").read_text())
    named = {"dataset": "scenes", "method": "vse++", "loss": "ntxent", "seed": 1}
    assert about["parameters"] == named | {"lr": 0.5}
    assert about["record"].endswith(f"/studies/mine/scenes/vsepp/ntxent/{'1' * 10}-seed1.json")
    smoke = dataclasses.replace(made(2), study="mine", smoke=True)
    write(plan([smoke], tmp_path).missing, tmp_path)
    assert json.loads((tmp_path / smoke.folder / "parameters.json").read_text())["record"] is None


def test_runs_that_decode_photos_have_a_core_for_each_thread():
    pictures = dataclasses.replace(made(0), data={"images": "published"})
    assert needs(pictures, None)["threads"] == grid.PICTURE_THREADS
    workers = inspect.signature(Pictures.__init__).parameters["workers"].default
    assert workers == grid.PICTURE_THREADS


def test_pictures_are_one_vector_an_image(tiny, monkeypatch):
    """A network in the model makes one of each, so a method that reads regions is refused before it starts."""
    split = dataclasses.replace(tiny.train)
    split.features = Unseen(len(tiny.train), 8)
    pictures = dataclasses.replace(tiny, train=split, name="coco")
    monkeypatch.setattr(grid, "load_dataset", lambda name, **options: pictures)
    source = {"root": "photos", "images": "published", "backbone": "resnet50"}
    with pytest.raises(ValueError, match=r"vsrn takes regions.*\(8,\).*icr features PHOTOS FOLDER --regions 4"):
        planned(Grid("coco", ("vsrn",), source=source))
    grids = Grid("coco", None, source=source)
    assert grid._fitting(grids.checked(), {}, 0) == ("vse++", "bow")


def test_smoke_runs_have_names_of_their_own(drawn):
    (whole,), (smoke,) = (planned(Grid("scenes", ("bow",), ("ntxent",), (0,), smoke=value)) for value in (False, True))
    assert (
        whole.identity != smoke.identity
        and smoke.parameters["smoke"] is True
        and smoke.configuration()[0]["updates"] == 24
    )
    assert smoke.identity == resolve(drawn("scenes"), "bow", "ntxent", smoke=True, given={}).identity()

"""The page of tables on a reader's features: its parameters reach it, and its rows are the papers'."""

from __future__ import annotations

import numpy as np
import pytest

from icrlib import paper, records
from icrlib.experiments import keys, missing, named, store
from tests.data.photos import make
from tests.killing import ROOT

PAGE = ROOT / "book" / "reproduce" / "tables.py"


@pytest.fixture(scope="module", params=["vectors", "regions"])
def features(request, tmp_path_factory):
    """A folder of features as a reader has them: 6,000 training images, one vector or four regions each."""
    folder = tmp_path_factory.mktemp(request.param)
    for part, images in (("train", 6000), ("dev", 20), ("test", 20)):
        shape = (images, 8) if request.param == "vectors" else (images, 4, 8)
        np.save(folder / f"{part}_ims.npy", np.random.default_rng(0).random(shape).astype(np.float16))
        (folder / f"{part}_caps.txt").write_text("a dog runs\n" * 5 * images)
    return folder


@pytest.mark.slow
def test_rows_of_a_table_are_listed_on_the_readers_data(features):
    """Four losses with five seeds of the model that takes these features, each with the settings of the paper's row."""
    wanted = missing.wanted_by(PAGE, {"dataset": "flickr8k", "features": str(features), "table": "ecir/1"})
    rows = range(1, 5) if features.name.startswith("vectors") else range(5, 9)
    assert len({keys.key(one) for one in wanted}) == len(wanted) == 20
    for number in rows:
        row = paper.experiment(f"ecir/1.{number}")
        of_row = [one for one in wanted if (one["method"], one["loss"]) == (row["method"], row["loss"])]
        assert [one["seed"] for one in of_row] == list(range(row["seeds"]))
        assert all(one["features"] == str(features) and one["dataset"] == "flickr8k" for one in of_row)
        for name in ("epochs", "lr_update", "lr", "batch_size", "batches", "embed_dim", "word_dim", "grad_clip"):
            assert {one[name] for one in of_row} == {row[name]}, name
        config = keys.resolved(of_row[0])
        batches = 6000 if row["batches"] == "images" else 30_000
        assert config["updates"] == row["epochs"] * -(-batches // 128)
        assert config["loss_options"].items() >= {n: row[n] for n in ("margin", "tau") if n in row}.items()


@pytest.mark.slow
def test_rows_on_photos_have_fresh_crops(tmp_path):
    """The runs are known by their photos, so that records that are kept are found again."""
    given = {"dataset": "flickr8k", "root": str(make(tmp_path / "photos", train=60)), "backbone": "scenes"}
    wanted = missing.wanted_by(PAGE, given | {"table": "ecir/1"})
    assert len(wanted) == 20 and {(one["images"], one["backbone"]) for one in wanted} == {("published", "scenes")}
    with pytest.raises(ValueError, match="average_times"):  # these photos are too few for LTD's averages; it is said
        missing.wanted_by(PAGE, given | {"table": "ltd/1"})
    one = {"dataset": "flickr8k", "method": "vse++", "loss": "ntxent", "seed": 0, "updates": 2, "evaluate_every": 2}
    one |= {"root": given["root"], "images": "published", "backbone": "scenes", "embed_dim": 8, "word_dim": 8}
    named.train_one(one, tmp_path / "run")
    record = records.load(tmp_path / "run" / "record.json")
    assert store.key_of(record["config"]) == keys.key(one) and record["config"]["data_options"]["images"] == "published"


@pytest.mark.slow
def test_goal_has_three_seeds_and_ltd_one_and_its_frozen_half(features):
    if features.name.startswith("regions"):
        pytest.skip("their models take one vector an image")
    given = {"dataset": "flickr8k", "features": str(features)}
    goal = missing.wanted_by(PAGE, given | {"table": "goal/3"})
    assert len(goal) == 45 and {one["seed"] for one in goal} == {0, 1, 2}
    assert {(one["epochs"], one["loss_tau"], one["convention"]) for one in goal} == {(30, 10.0, "paper")}
    ltd = missing.wanted_by(PAGE, given | {"table": "ltd/1"})
    assert [one["seed"] for one in ltd] == [0] * 5 and {one["epochs"] for one in ltd} == {30}
    assert sorted(one["eta"] for one in ltd if one["objective"] == "lagrange") == [0.2, 6.0]


def test_a_fault_of_the_page_and_a_parameter_that_it_cannot_take_are_named(tmp_path):
    faulty = tmp_path / "page.py"
    faulty.write_text("# %%\nlr = 1\nno_such_name\n")
    for page, given, word in (
        (faulty, {}, "no_such_name"),
        (PAGE, {"datset": "coco"}, "dataset"),
        (PAGE, {"smoke": "perhaps"}, "smoke"),
        (PAGE, {"features": "/none"}, "none"),
        (faulty, {"lr": 2}, "no cell of parameters"),
    ):
        with pytest.raises(ValueError, match=word):
            missing.wanted_by(page, given)

"""A second stage goes on from the best weights of a first; what that was, and not where, is part of what it is."""

from __future__ import annotations

import json
import shlex
import signal
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from click.testing import CliRunner

import icrlib
from icrlib.cli import main, train
from icrlib.data.text import Vocabulary
from icrlib.experiments import compare, keys, missing, runs, store
from icrlib.training.config import resolve
from tests.conftest import make_split
from tests.killing import exit_code
from tests.training.test_resume import ALL_WORKER, comparable, same_run

SMALL = {"train": 40, "val": 12, "test": 16}
COMMON = {"updates": 4, "evaluate_every": 2, "batch_size": 8, "embed_dim": 16}
STILL = {"updates": 1, "lr": 1e-12, "progress": False}  # a second stage that moves nothing


@pytest.fixture(scope="module")
def first(tiny, tmp_path_factory):
    return icrlib.train(tiny, loss="triplet_sh", lr=0.02, out=tmp_path_factory.mktemp("first"), progress=False)


def weights(run) -> dict:
    return run.model.state_dict()


def alike(one: dict, other: dict) -> bool:
    return all(torch.allclose(value, other[name], atol=1e-6) for name, value in one.items())


def test_it_starts_where_the_first_was_best(tiny, first):
    went_on = icrlib.train(tiny, loss="triplet_sh", start_from=first.folder, **STILL)
    anew = icrlib.train(tiny, loss="triplet_sh", **STILL)
    assert alike(weights(went_on), weights(first)) and not alike(weights(anew), weights(first))


def test_all_parameters_learn_at_a_tenth_of_the_rate(tmp_path):
    """First on finished features, then on the pictures behind them, where the network that makes them learns, too."""
    plain, pictures = (icrlib.load_dataset(name, seed=4, **SMALL) for name in ("scenes", "rendered"))
    first = icrlib.train(plain, lr=0.01, out=tmp_path / "first", progress=False, **COMMON)
    second = icrlib.train(pictures, start_from=first.folder, progress=False, out=tmp_path / "second", **COMMON)
    config = second.record["config"]
    assert (config["lr"], config["finetune_lr"], config["finetune_after"]) == (0.001, 0.001, 0)
    assert [entry["lr"] for entry in second.history] == pytest.approx([1e-3, 1e-4])
    network = pictures.train.features.backbone.network.state_dict()
    moved = {name: (value - network[name]).abs().max() for name, value in second.model.backbone.state_dict().items()}
    assert all(1e-5 < move < 5e-3 for name, move in moved.items() if name.endswith("weight")), moved
    still = icrlib.train(pictures, start_from=first.folder, **COMMON | STILL)
    assert alike(weights(first), still.model.inner.state_dict()) and alike(network, still.model.backbone.state_dict())
    third = resolve(pictures, "vse++", "ntxent", given={"start_from": second.folder, **COMMON})
    assert third.lr == pytest.approx(1e-4) and third.start_from["start_from"]["lr"] == 0.01
    with pytest.raises(ValueError, match="start_from=.*: dataset 'rendered' there, 'scenes' here"):
        resolve(plain, "vse++", "ntxent", given={"start_from": second.folder, **COMMON})


def test_the_first_stage_and_not_its_folder_is_part_of_what_a_run_is(tiny, first, tmp_path):
    def named(start=None):
        return resolve(tiny, "vse++", "triplet_sh", given={"lr": 0.001, "start_from": start})

    moved = first.folder.rename(tmp_path / "moved")
    elsewhere = named(moved)
    moved.rename(first.folder)
    again, alone, other = named(str(first.folder)), named(), named({**first.record["config"], "lr": 0.03})
    assert elsewhere.identity() == again.identity() and len({x.identity() for x in (again, alone, other)}) == 3
    assert again.asked == {"lr": 0.001} and str(first.folder) not in json.dumps(again.flat())
    assert named(again.flat()["start_from"]).identity() == again.identity(), (
        "a record names its first stage by what it was"
    )
    assert icrlib.train(tiny, loss="triplet_sh", out=tmp_path / "run", start_from=first.folder, **STILL).folder
    with pytest.raises(ValueError, match="holds another run.*start_from: ") as error:
        icrlib.train(tiny, loss="triplet_sh", out=tmp_path / "run", **STILL)
    assert len(str(error.value)) < 500


def test_a_start_with_all_negatives_is_the_first_stages_own(tiny, first, monkeypatch):
    monkeypatch.setitem(tiny.tuned, "vse++ triplet_sh", {"warmup": 20})
    for given, expected in (
        ({}, 20),
        ({"start_from": first.folder}, 0),
        ({"start_from": first.folder, "warmup": 5}, 5),
    ):
        assert resolve(tiny, "vse++", "triplet_sh", given=given).warmup == expected


@pytest.mark.parametrize(
    ("change", "method", "given", "wrong"),
    [
        ({}, "bow", {}, r"method 'vse\+\+' there, 'bow' here"),
        ({}, "vse++", {"embed_dim": 9}, "model_options .*'embed_dim': 8.* there, .*'embed_dim': 9.* here"),
        ({"options": {"tiny": False}}, "vse++", {}, "data_options .* there, .* here"),
        ({"name": "coco", "fingerprint": "a" * 64}, "vse++", {}, "dataset 'scenes' there, 'coco' here"),
        ({"vocabulary": Vocabulary.build(["one small box"], 1)}, "vse++", {}, "vocabulary"),
        ({"val": make_split("val", 20, 1, dim=10)}, "vse++", {}, "size of features"),
    ],
)
def test_another_method_vocabulary_or_data_is_refused(tiny, first, change, method, given, wrong):
    if "val" in change:
        change = {name: make_split(name, 20, 1, dim=10) for name in ("train", "val", "test")}
    with pytest.raises(ValueError, match=f"^start_from=.*{wrong}[^\n]*$"):
        icrlib.train(replace(tiny, **change), method, start_from=first.folder, progress=False, **given)


def test_other_photos_and_what_is_no_first_stage_are_refused(tiny, first, tmp_path):
    photos, others = (replace(tiny, name="coco", drawn=False, fingerprint=mark * 64) for mark in "ab")
    start = resolve(photos, "vse++", "ntxent", given={}).flat()
    assert resolve(photos, "vse++", "ntxent", given={"start_from": start}).start_from["data_hash"] == "a" * 8
    with pytest.raises(ValueError, match="data_hash 'aaaaaaaa' there, 'bbbbbbbb' here"):
        resolve(others, "vse++", "ntxent", given={"start_from": start})
    with pytest.raises(FileNotFoundError, match="no finished run here; give the out= of the first stage"):
        icrlib.train(tiny, start_from=tmp_path, progress=False)
    with pytest.raises(ValueError, match=r"runs\(\) names a first stage by its settings"):
        runs("scenes", start_from=str(first.folder))


def test_a_killed_second_stage_ends_bit_identical(tiny, first, tmp_path):
    given = {"loss": "triplet_sh", "start_from": str(first.folder)}
    unbroken = icrlib.train(tiny, out=tmp_path / "unbroken", progress=False, **given)
    assert exit_code(ALL_WORKER, str(tmp_path / "killed"), "27", json.dumps(given)) == -signal.SIGKILL
    assert (tmp_path / "killed" / "checkpoint.pt").exists() and not (tmp_path / "killed" / "record.json").exists()
    same_run(unbroken, icrlib.train(tiny, out=tmp_path / "killed", progress=False, **given))
    again = icrlib.train(tiny, out=tmp_path / "killed", progress=False, **given)
    assert comparable(again.record) == comparable(unbroken.record)


PAGE = """
# %%
from icrlib import runs
BOW = {"method": "bow", "train": 24, "val": 8, "test": 8, "updates": 6, "evaluate_every": 3, "embed_dim": 16}
SIZES = {name: BOW[name] for name in ("train", "val", "test", "embed_dim")}
FIRST = {"updates": 4, "lr": 0.01, **SIZES}
second = runs("scenes", loss=["ntxent", "triplet"], seed=range(3), start_from=FIRST, **BOW)
"""


@pytest.fixture
def page(tmp_path, monkeypatch) -> Path:
    monkeypatch.setattr(store, "trained", lambda: tmp_path / "runs")
    (tmp_path / "page.py").write_text(PAGE)
    return tmp_path / "page.py"


def test_a_page_has_first_stages_trained_first(page, tmp_path):
    """Each loss and draw its own; the records of two losses may be compared, those of two first stages may not."""
    wanted = missing.wanted_by(page)
    assert [one.get("start_from") is None for one in wanted] == [True, False] * 6
    assert all(keys.first_stage(one) == before for before, one in zip(wanted[::2], wanted[1::2], strict=True))
    assert "no run is missing" in CliRunner().invoke(main, ["train", str(page)]).output
    assert len(list((tmp_path / "runs").rglob("record.json"))) == 12
    space: dict = {}
    exec(page.read_text(), space)
    second, bow, start = (space[name] for name in ("second", "BOW", "SIZES"))
    assert {r["config"]["lr"] for r in second} == {0.001} and len(second["ntxent"].by("lr")) == 1
    assert [r["config"]["start_from"]["seed"] for r in second["triplet"]] == [0, 1, 2]
    assert compare(second["ntxent"], second["triplet"]).n == 3 and second["ntxent"].mean() > 0
    assert "-p start_from=FIRST_STAGE" in second["ntxent"].command()
    given = {"loss": "ntxent", "seed": range(3), "lr": 0.001, "missing": "train", **bow}
    slower = runs("scenes", start_from={"updates": 4, "lr": 0.02, **start}, **given)
    with pytest.raises(ValueError, match=r"differ in more than 'loss'.*start_from\.lr 0\.02 against 0\.01"):
        compare(slower, second["triplet"])
    assert compare(slower, second["ntxent"], "start_from").n == 3


def test_snakemake_gets_second_stages_in_the_next_round(page, tmp_path, monkeypatch):
    ended = type("Ended", (), {"returncode": 1})
    monkeypatch.setattr(train, "subprocess", SimpleNamespace(run=lambda words: ended))
    rounds = []
    for _ in range(2):
        CliRunner().invoke(main, ["train", str(page), "--profile", "local"])
        rounds.append(json.loads((tmp_path / "runs" / "missing.json").read_text()))
        for one in missing.wanted_by(page):
            if "start_from" not in one:
                train.named.train_one(one, keys.folder(one))
    assert len(rounds[0]) == len(rounds[1]) == 6 and not any("start_from" in command for command in rounds[0].values())
    starts = [word for command in rounds[1].values() for word in shlex.split(command) if word.startswith("start_from=")]
    assert sorted(starts) == sorted(f"start_from={folder}" for folder in rounds[0])

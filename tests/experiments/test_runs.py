"""Runs are named by what they are: the book's are found, and missing ones are trained once, where pages find them."""

from __future__ import annotations

import numpy as np
import pytest

from icrlib import records
from icrlib.experiments import Missing, keys, missing, named, runs, search, store

TINY = {"train": 24, "val": 8, "test": 8, "updates": 6, "evaluate_every": 3, "embed_dim": 16}
PAGE = """
# %%
from icrlib.experiments import runs, search
TINY = {tiny}
# %%
rates = search(runs("scenes", method="bow", seed=0, lr=[1e-3, 3e-3], **TINY))
# %% tags=["live"]
raise AssertionError(for_show := "trained for show")
# %%
print(for_show)
# %%
shown = rates.again(seed=[1, 2])
"""


@pytest.fixture
def trained(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "trained", lambda: tmp_path / "runs")
    return tmp_path / "runs"


def test_runs_of_the_book_are_those_that_were_asked_for():
    chosen = runs(
        "scenes", method=["vse++", "bow"], loss=["triplet", "ntxent"], seed=range(100, 103), lr=0.003, updates=3000
    )
    assert len(chosen) == 12 and len(chosen["bow", "ntxent"]) == 3
    assert len(chosen.only(seed=[100, 101], loss="triplet")) == 4
    for config in (record["config"] for record in chosen):
        assert config["lr"] == 0.003 and config["updates"] == 3000 and config["data_options"]["seed"] == config["seed"]
    one = chosen["vse++", "ntxent"]
    numbers = [record["test"]["rsum"] for record in one]
    assert one.mean() == pytest.approx(np.mean(numbers)) and one.sd() == pytest.approx(np.std(numbers, ddof=1))
    assert (one + one).mean() == one.mean(), "a run counts once"
    with pytest.raises(ValueError, match="loss"):
        chosen["bow"].mean()


def test_photos_are_named_by_what_the_records_know(tmp_path):
    few, many = (runs("flickr8k", method="bow", seed=range(3), at=at) for at in ("searched, 400", "searched"))
    prints = [{record["data_hash"] for record in some} for some in (few, many)]
    assert len(few) == len(many) == 3 and [len(one) for one in prints] == [1, 1] and prints[0] != prints[1]
    assert len(few.only(train=400)) == 3 and not len(many.only(train=400))
    with pytest.raises(ValueError, match="train.*401"):
        runs("flickr8k", train=401)
    with pytest.raises(ValueError, match="--features"):
        named.train_one({"dataset": "flickr8k", "method": "bow", "loss": "ntxent", "seed": 77}, tmp_path)


@pytest.mark.parametrize("wrong", [{"updats": 3}, {"loss": "ntxnt"}, {"missing": "x"}, {"margin": 1}, {"smoke": True}])
def test_what_no_run_takes_is_refused(wrong):
    with pytest.raises(ValueError, match=str(next(iter(wrong)))[:4]):
        runs("scenes", **wrong)


def test_missing_runs_are_trained_once_and_found_again(trained):
    with pytest.raises(Missing, match="2 of 2 runs.*icr train PAGE"):
        runs("scenes", method="bow", seed=[0, 1], **TINY)
    first = runs("scenes", method="bow", seed=[0, 1], missing="train", **TINY)
    assert [r["config"]["seed"] for r in first] == [0, 1] and len(list(trained.rglob("record.json"))) == 2
    again = runs("scenes", method="bow", seed=[0, 1], **TINY)
    assert [r["test"] for r in again] == [r["test"] for r in first]
    assert len(runs("scenes", method="bow", seed=[0, 1, 2], missing="skip", **TINY)) == 2


def test_a_page_is_trained_round_after_round(trained, tmp_path):
    page = tmp_path / "page.py"
    page.write_text(PAGE.format(tiny=TINY))
    rounds = []
    while wanted := missing.wanted_by(page):
        rounds.append(len(wanted))
        for one in wanted:
            named.train_one(one, trained / store.place_of("scenes", "bow", "ntxent", keys.key(one)))
    assert rounds == [2, 2]
    kept = store.keep(into=tmp_path / "kept")
    assert len(kept) == 4 and store.keep(into=tmp_path / "kept") == []
    assert records.load(kept[0])["config"]["method"] == "bow"


def test_a_search_chooses_on_validation_data_and_says_where_it_ended_at_an_edge():
    rates = search("scenes", method="bow", loss="ntxent", lr=[1e-3, 3e-3, 1e-2], seed=range(100, 103), updates=3000)
    values = {lr: group.mean("chosen.val_rsum") for lr, group in rates.candidates.by("lr").items()}
    best = max(values, key=values.get)
    assert rates.best["bow", "ntxent"]["lr"] == best and rates.moved["bow", "ntxent"] == {"lr"}
    assert bool(rates.winners.loc["bow", "ntxent"].edge) == (best != 3e-3)
    assert rates.table.loc[("bow", "ntxent"), best] == pytest.approx(values[best])
    again = rates.again(seed=range(10))
    assert {record["config"]["lr"] for record in again} == {best} and len(again) == 10
    with pytest.raises(ValueError, match="nothing was chosen"):
        rates.again(loss="triplet", seed=0)


def test_a_plan_takes_the_median_of_like_records_and_guesses_nothing():
    """Update for update."""
    known = {"dataset": "scenes", "method": "vse++", "loss": "ntxent", "seed": 0, "embed_dim": 128, "updates": 1000}
    every = map(records.load, records.below("scenes/vsepp/ntxent"))
    like = [r for r in every if r["config"]["model_options"] == {"embed_dim": 128, "word_dim": 64}]
    like = [r for r in like if r["config"]["batch_size"] == 128][: missing.LIKE]
    rate = np.median([record["wall_seconds"] / record["config"]["updates"] for record in like])
    assert missing.seconds(keys.resolved(known)) == pytest.approx(1000 * rate)
    large = known | {"embed_dim": 1024}
    assert missing.plan([large]) == "1 runs to train: of unknown length, for no record is of models of their size"
    both = missing.plan([known, large])
    assert both == f"2 runs to train: about {1000 * rate / 60:.1f} core-minutes, and 1 of unknown length"


def test_a_command_trains_the_run_that_it_is_of():
    vsrn = runs("scenes", method="vsrn", loss="ntxent", seed=3, at="searched").command()
    assert vsrn.endswith("-p regions=True -p seed=3")
    assert [*runs("scenes", loss="ntxent", at="searched").by("pool")] == ["last"]  # by its usual value
    goal = runs("scenes", loss="goal:cir x con", at="searched, GOAL", convention="paper").command()
    assert "-p 'loss=goal:cir x con'" in goal and "seed" not in goal

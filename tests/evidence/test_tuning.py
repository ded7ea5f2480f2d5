"""What a search chose: the highest mean on validation data, over the same draws for all."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from icrlib import evidence, records

from .made import record


def tried(loss: str, sums: dict[int, float], swaps=None, test=0.0, **config) -> list[dict]:
    """Runs of one setting: validation rsum by draw; the test's is of no account."""
    made = []
    for seed, value in sums.items():
        one = record(loss, seed, test, **config)
        one["history"][0]["twins"] = {"swap": 99.0}
        one["history"][1]["twins"] = {"swap": (swaps or {}).get(seed, 50.0)}
        made.append(one | {"chosen": {"update": one["history"][1]["update"], "val_rsum": value}})
    return made


def test_the_best_mean_on_validation_wins_whatever_the_test_says():
    slow = tried("ntxent", {100: 410.0, 101: 420.0}, test=900.0, lr=0.001)
    fast = tried("ntxent", {100: 440.0, 101: 400.0}, {100: 80.0, 101: 70.0}, lr=0.01)
    frame = evidence.candidates([*slow, *fast])
    assert frame["lr"].tolist() == [0.01, 0.001] and frame["val_rsum"].tolist() == [420.0, 415.0]
    assert frame["val_swap"].tolist() == [75.0, 50.0] and frame["val_swap_min"].tolist() == [70.0, 50.0]
    assert evidence.choices([*slow, *fast]) == {("vse++", "ntxent"): {"lr": 0.01}}


def test_constants_and_starts_are_settings_too_and_stay_what_they_are():
    """Each method and loss by itself; twice the updates are named by the updates alone."""
    hard = tried("triplet_sh", {100: 430.0}, warmup=250, lr=0.01) + tried("triplet_sh", {100: 400.0}, lr=0.01)
    soft = tried("ntxent", {100: 410.0}) + tried("ntxent", {100: 420.0}, loss_options={"tau": 0.2})
    bags = tried("ntxent", {100: 390.0}, method="bow")
    bags += tried("ntxent", {100: 410.0}, method="bow", updates=6000, drops=[3000], evaluate_every=500)
    result = evidence.choices([*hard, *soft, *bags])
    assert result == {
        ("vse++", "triplet_sh"): {"warmup": 250},
        ("vse++", "ntxent"): {"tau": 0.2},
        ("bow", "ntxent"): {"updates": 6000},
    }
    assert isinstance(result["vse++", "triplet_sh"]["warmup"], int)  # not 250.0, which is another identity
    frame = evidence.candidates([*hard, *soft])
    assert frame["tau"].tolist() == [None, None, 0.2, 0.1] and frame["warmup"].tolist() == [250, 0, None, None]


def test_the_best_moment_of_a_start_is_another_losses():
    """All negatives count within the start; of a run whose best evaluation lies there the best one after it counts."""
    early = tried("triplet_sh", {100: 440.0}, lr=0.01, warmup=250)
    first, last = early[0]["history"][0], early[0]["history"][-1]
    early[0]["chosen"]["update"], first["update"], last["update"] = 200, 200, 300
    early[0]["history"], last["val"]["rsum"] = [first, last], 405.0
    late = tried("triplet_sh", {100: 410.0}, lr=0.003, warmup=250)
    late[0]["chosen"]["update"] = 300
    assert evidence.choices([*early, *late]) == {("vse++", "triplet_sh"): {"lr": 0.003}}
    assert evidence.candidates([*early, *late])["val_rsum"].tolist() == [410.0, 405.0]
    last["val"]["rsum"] = 415.0
    assert evidence.choices([*early, *late]) == {("vse++", "triplet_sh"): {"lr": 0.01}}
    early[0]["history"] = [first]  # it ended within its start
    assert evidence.choices([*early, *late]) == {("vse++", "triplet_sh"): {"lr": 0.01}}


def test_other_draws_and_nothing_at_all_are_refused():
    with pytest.raises(ValueError, match=r"vse\+\+ with ntxent.*\[100\] and \[100, 101\]"):
        evidence.choices(tried("ntxent", {100: 410.0, 101: 420.0}) + tried("ntxent", {100: 440.0}, lr=0.01))
    with pytest.raises(ValueError, match="no records"):
        evidence.candidates([])


def test_a_search_by_rate_has_a_row_for_whatever_else_moved():
    soft = tried("ntxent", {100: 410.0, 101: 412.0}, lr=0.001) + tried("ntxent", {100: 420.0, 101: 421.0}, lr=0.01)
    hard = tried("triplet_sh", {100: 430.0}, lr=0.003, warmup=250)
    hard += tried("triplet_sh", {100: 400.0}, lr=0.001) + tried("triplet_sh", {100: 390.0}, lr=0.003)
    table = evidence.by_rate([*hard, *soft])
    assert list(table) == [0.001, 0.003, 0.01] and table.index.names == ["method", "loss", "warmup"]
    assert table.index.get_level_values("warmup").dtype.kind == "i"
    assert {(loss, start): row.dropna().to_dict() for (_, loss, start), row in table.iterrows()} == {
        ("ntxent", 0): {0.001: 411.0, 0.01: 420.5},
        ("triplet_sh", 0): {0.001: 400.0, 0.003: 390.0},
        ("triplet_sh", 250): {0.003: 430.0},
    }
    with pytest.raises(ValueError, match="different draws"):
        evidence.by_rate([*soft, *tried("ntxent", {102: 410.0}, lr=0.003)])


PUBLISHED = {
    "triplet": ("margin", 0.2),
    "triplet_sh": ("margin", 0.2),
    "ntxent": ("tau", 0.1),
    "smoothap": ("tau", 0.01),
}


def search(rng, draws=(100, 101), methods=("vse++", "bow")):
    """A search of four losses over four constants, three of them other ones, and two rates; scores drawn by lot."""
    for method, (loss, (name, value)) in itertools.product(methods, PUBLISHED.items()):
        for factor, lr in itertools.product((0.5, 1, 2, 4), (0.001, 0.01)):
            sums = {seed: float(rng.normal(400, 20)) for seed in draws}
            yield from tried(loss, sums, method=method, lr=lr, loss_options={name: value * factor})


def twin(searched):
    """The same by hand: sums of validation rsum by setting, and the constant of the highest."""
    result = {}
    for method, loss in {(r["config"]["method"], r["config"]["loss"]) for r in searched}:
        name, published = PUBLISHED[loss]
        sums = {}
        for r in searched:
            c = r["config"]
            if (c["method"], c["loss"]) == (method, loss):
                setting = c["loss_options"][name], c["lr"], c["warmup"]
                sums[setting] = sums.get(setting, 0.0) + r["chosen"]["val_rsum"]
        constant = max(sums, key=sums.get)[0]
        result[method, loss] = "ecir" if constant == published else "tuned"
    return result


def test_where_runs_with_own_constants_are_is_what_a_twin_says():
    rng, words = np.random.default_rng(0), []
    for _ in range(20):
        made = list(search(rng))
        result = evidence.tuned_studies(made, "ecir", "tuned")
        assert result == twin(made)
        words += result.values()
    assert len(words) == 160 and 20 < words.count("ecir") < 80  # a quarter by chance


def test_of_the_books_search_too_and_the_runs_are_there_with_that_constant():
    searched = records.find(study="tuning")
    result = evidence.tuned_studies(searched, "ecir", "tuned")
    assert result == twin(searched) and len(result) == 8 and set(result.values()) == {"ecir", "tuned"}
    for (method, loss), study in result.items():
        name = PUBLISHED[loss][0]
        runs = records.find(study=study, method=method, loss=loss)
        chosen = evidence.choices(searched)[method, loss][name]
        assert len(runs) == 10 and {r["config"]["loss_options"][name] for r in runs} == {chosen}


@pytest.mark.parametrize("missing", ["other constants", "the published one", "a draw"])
def test_an_unfinished_search_names_no_study(missing):
    lost = {
        "other constants": lambda c: c["loss_options"].get("tau") in (0.05, 0.2),
        "the published one": lambda c: c["loss_options"].get("tau") == 0.1,
        "a draw": lambda c: c["loss_options"].get("tau") == 0.4 and c["seed"] == 101,
    }[missing]
    made = list(search(np.random.default_rng(1), methods=("vse++",)))
    left = [r for r in made if not lost(r["config"])]
    assert set(evidence.tuned_studies(made, "ecir", "tuned")) == {("vse++", loss) for loss in PUBLISHED}
    assert set(evidence.tuned_studies(left, "ecir", "tuned")) == {
        ("vse++", loss) for loss in PUBLISHED if loss != "ntxent"
    }

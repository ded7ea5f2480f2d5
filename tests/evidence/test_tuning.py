"""What a search chose: the highest mean on validation data, over the same draws for all."""

from __future__ import annotations

import copy
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
    hard = tried("triplet_sh", {100: 430.0}, warmup=250, lr=0.01) + tried("triplet_sh", {100: 400.0}, lr=0.01)
    soft = tried("ntxent", {100: 410.0}) + tried("ntxent", {100: 420.0}, loss_options={"tau": 0.2})
    found = evidence.choices([*hard, *soft])
    assert found == {("vse++", "triplet_sh"): {"warmup": 250}, ("vse++", "ntxent"): {"tau": 0.2}}
    assert isinstance(found["vse++", "triplet_sh"]["warmup"], int)  # not 250.0, which is another identity
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


def test_methods_are_searched_apart():
    words = tried("ntxent", {100: 390.0}, method="bow", lr=0.001) + tried("ntxent", {100: 380.0}, method="bow", lr=0.01)
    order = tried("ntxent", {100: 410.0}, lr=0.001) + tried("ntxent", {100: 440.0}, lr=0.01)
    assert evidence.choices([*words, *order]) == {("bow", "ntxent"): {"lr": 0.001}, ("vse++", "ntxent"): {"lr": 0.01}}


def test_other_draws_and_nothing_at_all_are_refused():
    with pytest.raises(ValueError, match=r"vse\+\+ with ntxent.*\[100\] and \[100, 101\]"):
        evidence.choices(tried("ntxent", {100: 410.0, 101: 420.0}) + tried("ntxent", {100: 440.0}, lr=0.01))
    with pytest.raises(ValueError, match="no records"):
        evidence.candidates([])


def test_twice_the_updates_are_named_by_the_updates_alone():
    longer = tried("ntxent", {100: 440.0}, updates=6000, drops=[3000], evaluate_every=500)
    assert evidence.choices(tried("ntxent", {100: 410.0}) + longer) == {("vse++", "ntxent"): {"updates": 6000}}


def test_a_search_by_rate_has_a_row_for_whatever_else_moved():
    soft = tried("ntxent", {100: 410.0, 101: 412.0}, lr=0.001) + tried("ntxent", {100: 420.0, 101: 421.0}, lr=0.01)
    hard = [
        run
        for lr, start, rsum in ((0.003, 250, 430.0), (0.001, 0, 400.0), (0.003, 0, 390.0))
        for run in tried("triplet_sh", {100: rsum}, lr=lr, warmup=start)
    ]
    table = evidence.by_rate([*hard, *soft])
    assert list(table) == [0.001, 0.003, 0.01] and table.columns.name == "lr"
    assert table.index.names == ["method", "loss", "warmup"]
    assert table.index.get_level_values("warmup").dtype.kind == "i"
    shown = {(loss, start): row.dropna().to_dict() for (_, loss, start), row in table.iterrows()}
    assert shown == {
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
    found = {}
    for method, loss in {(r["config"]["method"], r["config"]["loss"]) for r in searched}:
        name, published = PUBLISHED[loss]
        sums = {}
        for r in searched:
            c = r["config"]
            if (c["method"], c["loss"]) == (method, loss):
                setting = c["loss_options"][name], c["lr"], c["warmup"]
                sums[setting] = sums.get(setting, 0.0) + r["chosen"]["val_rsum"]
        constant = max(sums, key=sums.get)[0]
        found[method, loss] = "ecir" if constant == published else "tuned"
    return found


def test_where_runs_with_own_constants_are_is_what_a_twin_says():
    rng, said = np.random.default_rng(0), []
    for _ in range(20):
        made = list(search(rng))
        found = evidence.tuned_studies(made, "ecir", "tuned")
        assert found == twin(made)
        said += found.values()
    assert len(said) == 160 and 20 < said.count("ecir") < 80  # a quarter by chance


def test_of_the_books_search_too_and_the_runs_are_there_with_that_constant():
    whole = records.find(study="tuning")
    found = evidence.tuned_studies(whole, "ecir", "tuned")
    assert found == twin(whole) and len(found) == 8 and set(found.values()) == {"ecir", "tuned"}
    for (method, loss), study in found.items():
        name, published = PUBLISHED[loss]
        chosen = evidence.choices(whole)[method, loss][name]
        runs = records.find(study=study, method=method, loss=loss)
        assert len(runs) == 10 and {r["config"]["loss_options"][name] for r in runs} == {chosen}
        assert (study == "ecir") == (chosen == published)
        assert study == "tuned" or not records.find(study="tuned", method=method, loss=loss)


def test_an_unfinished_search_names_no_study():
    made = list(search(np.random.default_rng(1), methods=("vse++",)))
    assert set(evidence.tuned_studies(made, "ecir", "tuned")) == {("vse++", loss) for loss in PUBLISHED}

    def without(test):
        return set(evidence.tuned_studies([r for r in copy.deepcopy(made) if not test(r["config"])], "ecir", "tuned"))

    others = {("vse++", loss) for loss in PUBLISHED if loss != "ntxent"}
    assert without(lambda c: c["loss_options"].get("tau") in (0.05, 0.2)) == others  # two constants only
    assert without(lambda c: c["loss_options"].get("tau") == 0.1) == others  # never with the published one
    assert without(lambda c: c["loss_options"].get("tau") == 0.4 and c["seed"] == 101) == others  # a draw is missing
    assert evidence.tuned_studies([], "ecir", "tuned") == {}

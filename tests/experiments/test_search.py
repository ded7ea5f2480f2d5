"""What a search chose: the highest mean on validation data, over the same draws for all."""

from __future__ import annotations

import pytest

from icrlib import evidence
from icrlib.experiments import search

from .made import but, group, named, record


def tried(loss: str, sums: dict[int, float], test=0.0, **config) -> list[dict]:
    """Runs of one setting: validation rsum by draw; the test's is of no account."""
    made = [record(loss, seed, test, **config) for seed in sums]
    return [one | {"chosen": {"update": 500, "val_rsum": sums[one["config"]["seed"]]}} for one in made]


def test_the_best_mean_on_validation_wins_whatever_the_test_says():
    slow, fast = (
        tried("ntxent", {100: 410.0, 101: 420.0}, test=900.0),
        tried("ntxent", {100: 440.0, 101: 400.0}, lr=0.01),
    )
    assert evidence.choices([*slow, *fast]) == {("vse++", "ntxent"): {"lr": 0.01}}


def test_constants_and_starts_are_settings_too_and_stay_what_they_are():
    """Each method and loss by itself; twice the updates are named by the updates alone."""
    hard = tried("triplet_sh", {100: 430.0}, warmup=250, lr=0.01) + tried("triplet_sh", {100: 400.0}, lr=0.01)
    soft = tried("ntxent", {100: 410.0}) + tried("ntxent", {100: 420.0}, loss_options={"tau": 0.2})
    bags = tried("ntxent", {100: 390.0}, method="bow")
    bags += tried("ntxent", {100: 410.0}, method="bow", updates=6000, drops=[3000], evaluate_every=500)
    best = evidence.choices([*hard, *soft, *bags])
    assert best == {
        ("vse++", "triplet_sh"): {"warmup": 250},
        ("vse++", "ntxent"): {"tau": 0.2},
        ("bow", "ntxent"): {"updates": 6000},
    }
    assert isinstance(best["vse++", "triplet_sh"]["warmup"], int)  # not 250.0, which is another identity


def test_the_best_moment_of_a_start_is_another_losses():
    """All negatives count within the start; of a run whose best evaluation lies there the best one after it counts."""
    early = tried("triplet_sh", {100: 440.0}, lr=0.01, warmup=250)
    first, last = early[0]["history"]
    early[0]["chosen"]["update"], last["val"]["rsum"] = 200, 405.0
    late = tried("triplet_sh", {100: 410.0}, lr=0.003, warmup=250)
    assert evidence.choices([*early, *late]) == {("vse++", "triplet_sh"): {"lr": 0.003}}
    last["val"]["rsum"] = 415.0
    assert evidence.choices([*early, *late]) == {("vse++", "triplet_sh"): {"lr": 0.01}}
    early[0]["history"] = [first]  # it ended within its start
    assert evidence.choices([*early, *late]) == {("vse++", "triplet_sh"): {"lr": 0.01}}


def test_a_search_by_rate_has_a_row_for_whatever_else_moved_and_other_draws_are_refused():
    soft = tried("ntxent", {100: 410.0, 101: 412.0}, lr=0.001) + tried("ntxent", {100: 420.0, 101: 421.0}, lr=0.01)
    hard = tried("triplet_sh", {100: 430.0}, lr=0.003, warmup=250)
    hard += tried("triplet_sh", {100: 400.0}, lr=0.001) + tried("triplet_sh", {100: 390.0}, lr=0.003)
    table = evidence.by_rate([*hard, *soft])
    assert {(loss, start): row.dropna().to_dict() for (_, loss, start), row in table.iterrows()} == {
        ("ntxent", 0): {0.001: 411.0, 0.01: 420.5},
        ("triplet_sh", 0): {0.001: 400.0, 0.003: 390.0},
        ("triplet_sh", 250): {0.003: 430.0},
    }
    with pytest.raises(ValueError, match=r"vse\+\+ with ntxent.*\[100, 101\] and \[102\]"):
        evidence.by_rate([*soft, *tried("ntxent", {102: 410.0}, lr=0.003)])


def test_what_was_chosen_may_differ_between_records_of_studies():
    ours, other = group("triplet_sh", [420.0, 431.0, 425.0], lr=0.003), group("ntxent", [401.0, 405.0, 399.0])
    with pytest.raises(ValueError, match="lr"):
        evidence.verdict(ours, other)
    one = evidence.verdict(ours, other, tuning={"triplet_sh": {"lr": 0.003}, "ntxent": {"lr": 0.001}})
    with pytest.raises(ValueError, match="lr is 0.001, but the tuning chose 0.01"):
        evidence.verdict(ours, other, tuning={"triplet_sh": {"lr": 0.003}, "ntxent": {"lr": 0.01}})
    assert one.word == "holds" and one.difference.mean == one.mean > 20
    assert evidence.verdict([but(r, lr=0.001) for r in other], [but(r, lr=0.001) for r in ours], "loss").word == "fails"


def test_where_the_runs_with_own_constants_are():
    own = {pair: study for pair, study in evidence.tuned_studies().items() if pair[0] == "vse++"}
    assert own == {("vse++", loss): "ecir" if loss == "ntxent" else "tuned" for _, loss in own} and len(own) == 4


def test_a_search_of_named_runs_ranks_by_what_was_given():
    runs = named(tried("ntxent", {100: 410.0}) + tried("ntxent", {100: 430.0}, lr=0.01))
    runs.given = {record["key"]: {"lr": record["config"]["lr"]} for record in runs}
    assert search(runs).ranked == {("vse++", "ntxent"): [({"lr": 0.01}, 430.0), ({"lr": 0.001}, 410.0)]}

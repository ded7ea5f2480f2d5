"""What a search chose: the highest mean on validation data, over the same draws for all."""

from __future__ import annotations

import pytest

from icrlib.experiments import Runs, search

from .made import record


def tried(loss: str, sums: dict[int, float], test=0.0, **settings) -> Runs:
    """Runs of one setting: validation rsum by draw; the test's is of no account."""
    made = [record(loss, seed, test, **settings) for seed in sums]
    named = [
        one | {"chosen": {"update": 500, "val_rsum": value}, "key": f"{loss} {settings} {seed}"}
        for one, (seed, value) in zip(made, sums.items(), strict=True)
    ]
    return Runs(named, {one["key"]: settings for one in named})


def test_each_model_and_loss_is_searched_by_itself_and_the_best_mean_wins_whatever_the_test_says():
    grids = [
        tried("triplet_sh", {100: 430.0}, warmup=250, lr=0.01),
        tried("triplet_sh", {100: 400.0}, warmup=0, lr=0.01),
        tried("ntxent", {100: 410.0, 101: 420.0}, test=900.0, updates=3000),
        tried("ntxent", {100: 440.0, 101: 400.0}, updates=6000),
        tried("ntxent", {100: 390.0}, method="bow"),
    ]
    found = search(*grids)
    assert found.best == {
        ("vse++", "triplet_sh"): {"warmup": 250, "lr": 0.01},
        ("vse++", "ntxent"): {"updates": 6000},
        ("bow", "ntxent"): {"method": "bow"},
    }
    assert found.ranked["vse++", "ntxent"] == [({"updates": 6000}, 420.0), ({"updates": 3000}, 415.0)]
    assert found.moved == {
        ("vse++", "triplet_sh"): {"warmup"},
        ("vse++", "ntxent"): {"updates"},
        ("bow", "ntxent"): set(),
    }


def test_what_a_method_sets_itself_stands_before_the_values_that_were_tried():
    found = search(*(tried("triplet_sh", {100: 400.0 + index}, margin=m) for index, m in enumerate((0.4, None, 0.1))))
    assert list(found.by("margin")["vse++", "triplet_sh"]) == [None, 0.1, 0.4]
    assert found.winners["chosen"].tolist() == ["margin 0.1"]


def test_a_search_by_rate_has_a_row_for_whatever_else_moved_and_other_draws_are_refused():
    soft = [tried("ntxent", {100: 410.0, 101: 412.0}, lr=0.001), tried("ntxent", {100: 420.0, 101: 421.0}, lr=0.01)]
    hard = [
        tried("triplet_sh", {100: value}, lr=lr, warmup=start)
        for value, lr, start in ((430.0, 0.003, 250), (400.0, 0.001, 0), (390.0, 0.003, 0))
    ]
    table = search(*hard, *soft).table
    rows = {(loss, start): row.dropna().to_dict() for (_, loss, start), row in table.iterrows()}
    assert rows == {
        ("ntxent", 0): {0.001: 411.0, 0.01: 420.5},
        ("triplet_sh", 0): {0.001: 400.0, 0.003: 390.0},
        ("triplet_sh", 250): {0.003: 430.0},
    }
    with pytest.raises(ValueError, match=r"vse\+\+ with ntxent.*\[100, 101\] and \[102\]"):
        search(*soft, tried("ntxent", {102: 410.0}, lr=0.003))


def test_a_winner_says_whether_anybody_looked_far_enough():
    """An edge is the last of some numbers, but no zero, and nothing that goes with the updates or has no order."""
    rows = {  # loss: candidates on two draws, and what their winner has to say
        "triplet": ([(400, 0.1, 250), (410, 0.2, 500), (413.5, 0.4, 1000)], "largest margin", 3.5),
        "triplet_sh": ([(430, 0.0, 0), (420, 0.2, 0), (410, 0.4, 0)], "", None),
        "ntxent": ([(410, "max", 0), (405, "mean", 0), (400, "min", 0)], "", None),
        "smoothap": ([(420, 0.1, 0), (410, 0.2, 0)], "smallest margin", 9.5),
        "dcl": ([(400, 0.1, 0), (420, 0.2, 0), (410, 0.4, 0)], "", None),
    }
    grids = [
        tried(loss, {100: value, 101: value + index}, margin=margin, warmup=start)
        for loss, (candidates, *_) in rows.items()
        for index, (value, margin, start) in enumerate(candidates)
    ]
    winners = search(*grids).winners.xs("vse++")
    assert winners.edge.to_dict() == {loss: edge for loss, (_, edge, _) in rows.items()}
    assert winners.gained.dropna().to_dict() == {"triplet": 4.0, "smoothap": 9.5}  # of the means: 414.5 less 410.5
    assert winners.loc["triplet", ["moved", "candidates", "draws", "chosen", "val"]].tolist() == [
        "margin, warmup", 3, "100, 101", "margin 0.4, warmup 1000", 414.5
    ]  # fmt: skip
    assert winners.lead["triplet"] == "+4.0 [-2.4, +10.4]" and winners.tied["triplet"]
    assert winners.lead["smoothap"] == "+9.5 [+3.1, +15.9]" and not winners.tied["smoothap"]


def test_one_draw_or_one_candidate_has_no_tie():
    found = search(
        tried("ntxent", {100: 410.0}, lr=0.001), tried("ntxent", {100: 420.0}, lr=0.01),
        tried("dcl", {100: 410.0, 101: 412.0}, lr=0.001),
    ).winners.xs("vse++")  # fmt: skip
    assert found.tied.isna().all() and found.lead.to_dict() == {"ntxent": "+10.0", "dcl": ""}

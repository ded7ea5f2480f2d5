"""Counts of intervals for GOAL's claims, against scipy, on made-up records."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from icrlib import evidence
from icrlib.evidence.goal_claims import OBJECTIVES

from .made import record

RNG = np.random.default_rng(5)
SIDES = ("i2t", "t2i")
R1 = {(name, side): RNG.normal(40 + 3 * (k % 4), 1.5, 5) for k, name in enumerate(OBJECTIVES) for side in SIDES}


def runs():
    made = []
    for name in OBJECTIVES:
        for seed in range(5):
            one = record(f"goal:{name}", seed)
            for side in ("i2t", "t2i"):
                one["test"][side]["r1"] = float(R1[name, side][seed])
            made.append(one)
    return made


def slow(pairs):
    """(above, below, of, mean) of 95 % t-intervals of the paired differences in both directions."""
    above = below = 0
    means = []
    for a, b in pairs:
        for side in ("i2t", "t2i"):
            d = R1[a, side] - R1[b, side]
            low, high = stats.t.interval(0.95, 4, d.mean(), d.std(ddof=1) / 5**0.5)
            above, below = above + (low > 0), below + (high < 0)
            means.append(d.mean())
    return above, below, len(means), float(np.mean(means))


def test_intervals_are_counted():
    made = runs()
    searched = [
        record(f"goal:{name}", 100, lr=lr) | {"chosen": {"update": 250, "val_rsum": 300.0 - lr}, "history": []}
        for name in OBJECTIVES
        for lr in (0.001, 0.003)
    ]
    twins = [record("triplet_sh", seed) | {"test": one["test"]} for seed, one in enumerate(made[:5])]
    twins[2] = record("triplet_sh", 2, rsum=1.0)
    result = evidence.describe_goal(made, searched, twins)
    con, best = "con x con", "cir x sig-ms"
    expected = {
        1: [(name, con) for name in OBJECTIVES if name != con],
        10: [("con x lin", "con x con"), ("nca x lin", "nca x con")],
        11: [(name, f"{name.split(' x ')[0]} x con") for name in OBJECTIVES if not name.endswith(" x con")],
        13: [(name, con) for name in ("nca x con", "cir x lin", "con x sig", "con x sig-ms")],
        18: [(best, name) for name in OBJECTIVES if name != best],
    }
    for number, pairs in expected.items():
        above, below, of, mean = slow(pairs)
        assert result[number][1] == (
            f"{above} of {of} above 0, {below} below, {of - above - below} contain it; mean {mean:+.1f}"
        ), number
    assert 0 < slow(expected[1])[0] < 28 and slow(expected[18])[1] > 0  # there is something to get wrong
    assert result[3][1] == "4 of 5 pairs of runs agree in every test number" and set(result) == {1, 3, 10, 11, 13, 18}


@pytest.mark.parametrize("lost", [slice(0, 1), slice(0, 5)])
def test_before_all_objectives_have_five_draws_nothing_is_said(lost):
    made = runs()
    del made[lost]
    assert evidence.describe_goal(made, [], []) == {} == evidence.describe_goal([], [], [])

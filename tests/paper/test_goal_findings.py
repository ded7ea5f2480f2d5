"""What GOAL's tables say when counted, against numbers counted by hand and slow loops; and its claims."""

from __future__ import annotations

import doctest
import itertools

import pytest

from icrlib import paper
from icrlib.paper import goal

T, P = ("con", "nca", "cir"), ("con", "lin", "sig", "lin-ms", "sig-ms")
COLUMNS = list(itertools.product(goal.SETTINGS, ("i2t", "t2i")))


def tenths() -> dict:
    """(setting, direction, T, P) -> R@1 in tenths, a whole number."""
    return {(r.setting, r.direction, r.T, r.P): round(10 * r.mean) for r in goal.cells().itertuples()}


def slow_comparison(weight: str, settings, partner: str | None) -> dict:
    """Of each weight against con, all else equal, in plain loops over whole numbers: better, tied, worse, how many,
    mean, worst and where."""
    at, result = tenths(), {}
    for name in (T if weight == "T" else P)[1:]:
        differences = {}
        for (setting, side), other in itertools.product(COLUMNS, P if weight == "T" else T):
            if setting in settings and partner in (None, other):
                one, con = (p if weight == "T" else p[::-1] for p in ((name, other), ("con", other)))
                place = f"{setting}, {side}, {'P' if weight == 'T' else 'T'} {other}"
                differences[place] = at[(setting, side, *one)] - at[(setting, side, *con)]
        signs = [(d < 0) - (d > 0) for d in differences.values()]
        worst = min(differences.values())
        counts = *(signs.count(sign) for sign in (-1, 0, 1)), len(signs)
        where = {place for place, d in differences.items() if d == worst}
        result[name] = counts, sum(differences.values()) / len(signs) / 10, worst / 10, where
    return result


@pytest.mark.parametrize("partner", [None, "con"])
@pytest.mark.parametrize("weight", ["T", "P"])
@pytest.mark.parametrize("settings", [goal.SETTINGS, goal.FROZEN, ("vit",)])
def test_comparison_is_the_slow_count(weight, settings, partner):
    expected = slow_comparison(weight, settings, partner)
    result = goal.compare(weight, settings, partner)
    assert list(result.index) == list(expected)
    for name, row in result.iterrows():
        counts, mean, worst, where = expected[name]
        assert tuple(row[["better", "ties", "worse", "of"]]) == counts and row.worst_at in where
        assert (row["mean"], row.worst) == pytest.approx((mean, worst))


def test_best_cells():
    best = goal.best_cells()
    assert best["is_best"].sum() == 5 and len(best) == 12
    at = tenths()
    for row in best.itertuples():
        column = {f"{t} x {p}": at[row.setting, row.direction, t, p] for p in P for t in T}
        assert row.objectives.split(", ") == [name for name, value in column.items() if value == max(column.values())]
    with pytest.raises(ValueError, match="'cir x sig-ms'"):
        goal.best_cells("cir x sigms")


def test_ranking():
    """Rank 1 is best; equal cells share the mean of their ranks; gains are over con x con."""
    order, at = goal.ranking(), tenths()
    for t, p in itertools.product(T, P):
        rank = gain = 0.0
        for setting, side in COLUMNS:
            column, mine = [at[setting, side, *of] for of in itertools.product(T, P)], at[setting, side, t, p]
            rank += sum(value > mine for value in column) + (column.count(mine) + 1) / 2
            gain += mine - at[setting, side, "con", "con"]
        row = order.loc[f"{t} x {p}"]
        assert (row["rank"], row["gain"]) == pytest.approx((rank / 12, gain / 120))
    assert order["gain"].is_monotonic_decreasing and order["best"].sum() == 15  # 12 columns, three more in ties


def test_tables_against_each_other():
    check = goal.verification()
    assert check["within"].sum() == 5 and check.loc[~check["within"], "difference"].tolist() == [0.7]
    result = goal.against_grid()
    off = result[~result["possible"]]
    assert len(result) == 12 and [(r.table, r.row, r.metric, r.printed, r.grid) for r in off.itertuples()] == [
        ("2", "r152_ft/con x con", "i2t_r1", 41.0, 40.8),
        ("2", "butd/con x con", "i2t_r1", 58.3, 58.9),
        ("6", "butd/cir x sig-ms", "coco_t2i_r1", 44.4, 44.9),
    ]
    listed = paper.inconsistencies("goal")
    assert listed[["table", "row", "metric", "printed", "follows"]].values.tolist() == (
        off[["table", "row", "metric", "printed", "grid"]].values.tolist()
    )
    assert goal._reach(0.1) == pytest.approx(2**0.5 * 0.15 + 0.1)  # three runs cannot be further from their mean
    assert goal.gains()["agrees"].all() and len(goal.gains()) == 12


def test_claims_against_the_papers_own_tables():
    assert dict(paper.against_own_tables("goal")["verdict"]) == {
        1: "agrees with its table",
        3: "cannot tell: 5 of 6 within its ± of cited numbers",
        11: "does not: 91 of 96",
        12: "does not: 37 of 40",
        13: "does not: 31 of 32",
        14: "does not: 3 of 4",
        15: "does not: 75 of 88",
        16: "agrees with its table",
        17: "does not: 8 of 12",
        18: "does not: 5 of 12",
    }


def test_examples_in_the_docstrings():
    assert doctest.testmod(goal) == (0, 3)

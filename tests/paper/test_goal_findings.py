"""What GOAL's tables say when counted, against numbers counted by hand and slow loops; and its claims."""

from __future__ import annotations

import doctest
import itertools

import numpy as np
import pytest

from icrlib import paper
from icrlib.paper import goal
from icrlib.paper.claims import _COUNTS, WAYS

T, P = ("con", "nca", "cir"), ("con", "lin", "sig", "lin-ms", "sig-ms")
COLUMNS = list(itertools.product(goal.SETTINGS, ("i2t", "t2i")))


def tenths() -> dict:
    """(setting, direction, T, P) -> R@1 in tenths, a whole number."""
    return {(r.setting, r.direction, r.T, r.P): round(10 * r.mean) for r in goal.cells().itertuples()}


def slow_comparison(weight: str, settings, partner: str | None) -> dict:
    """Of each weight against con, all else equal, in plain loops over whole numbers: better, tied, worse, how many,
    mean, worst and where."""
    at, found = tenths(), {}
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
        found[name] = counts, sum(differences.values()) / len(signs) / 10, worst / 10, where
    return found


@pytest.mark.parametrize("partner", [None, "con"])
@pytest.mark.parametrize("weight", ["T", "P"])
@pytest.mark.parametrize("settings", [goal.SETTINGS, goal.FROZEN, goal.FINE_TUNED, goal.VSE_INF, ("vit",)])
def test_comparison_is_the_slow_count(weight, settings, partner):
    expected = slow_comparison(weight, settings, partner)
    found = goal.compare(weight, settings, partner)
    assert list(found.index) == list(expected)
    for name, row in found.iterrows():
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
        assert row.best * 10 == pytest.approx(max(column.values()))
    assert goal.best_cells("con x con")["is_best"].sum() == 0


def test_ranking():
    order = goal.ranking()
    assert order.index[:3].tolist() == ["cir x sig-ms", "nca x sig-ms", "con x sig-ms"]
    assert order["gain"].round(2).head(3).tolist() == [2.28, 2.20, 1.99]
    ranks = order["rank"].sort_values()
    assert ranks.index[:2].tolist() == ["cir x sig-ms", "con x sig-ms"]
    assert ranks.iloc[:2].round(2).tolist() == [2.58, 3.42]
    at = tenths()
    slow = 0.0  # rank 1 is best; equal cells share the mean of their ranks
    for setting, side in COLUMNS:
        column, mine = [at[setting, side, t, p] for t in T for p in P], at[setting, side, "cir", "sig-ms"]
        slow += sum(value > mine for value in column) + (column.count(mine) + 1) / 2
    assert order.loc["cir x sig-ms", "rank"] == pytest.approx(slow / 12)
    assert order.loc["con x con", "gain"] == 0 and order["best"].sum() == 15  # 12 columns, three cells more in ties


def test_known_losses():
    found = goal.known_losses()
    below = found[found["over_triplet"] < 0]
    assert [(r.setting, r.direction, r.loss, r.over_triplet) for r in below.itertuples()] == [
        ("r152", "t2i", "NT-Xent loss", -0.1),
        ("butd", "t2i", "Circle loss", -0.1),
        ("wsl", "t2i", "NT-Xent loss", -0.2),
    ]
    best = found[found["best_of_all"]]
    assert set(best["loss"]) == {"MS loss"}
    assert (best["setting"] + " " + best["direction"]).tolist() == ["r152 i2t", "r152 t2i", "vit t2i"]
    tuned = found[found["best_known"] & found["setting"].isin(goal.FINE_TUNED)]
    assert tuned.groupby(["setting", "direction"])["loss"].agg(" ".join).to_dict() == {
        ("r152_ft", "i2t"): "MS loss",
        ("r152_ft", "t2i"): "Binomial deviance",
        ("vit_ft", "i2t"): "MS loss",
        ("vit_ft", "t2i"): "Circle loss MS loss",
    }


def test_tables_against_each_other():
    check = goal.verification()
    assert check["within"].sum() == 5 and check.loc[~check["within"], "difference"].tolist() == [0.7]
    found = goal.against_grid()
    assert len(found) == 12
    off = found[~found["possible"]]
    assert [(r.table, r.row, r.metric, r.printed, r.grid) for r in off.itertuples()] == [
        ("2", "r152_ft/con x con", "i2t_r1", 41.0, 40.8),
        ("2", "butd/con x con", "i2t_r1", 58.3, 58.9),
        ("6", "butd/cir x sig-ms", "coco_t2i_r1", 44.4, 44.9),
    ]
    listed = paper.inconsistencies("goal")
    assert list(listed.columns) == list(paper.inconsistencies().columns)
    assert listed[["table", "row", "metric", "printed", "follows"]].values.tolist() == (
        off[["table", "row", "metric", "printed", "grid"]].values.tolist()
    )
    for row in off.itertuples():  # the deviation that the reason names is the printed one
        why = listed.loc[(listed["row"] == row.row) & (listed["table"] == row.table), "why"].item()
        assert f"{row.grid} ± {row.grid_std}" in why


def test_three_runs_cannot_be_further_from_their_mean():
    runs = np.random.default_rng(0).normal(size=(2000, 3))
    reach = abs(runs - runs.mean(1, keepdims=True)).max(1)
    for ddof in (0, 1):
        assert (reach <= np.sqrt(2) * runs.std(axis=1, ddof=ddof) + 1e-12).all()
    assert goal._reach(0.1) == pytest.approx(2**0.5 * 0.15 + 0.1)


def test_named_gains_and_xvlm():
    found = goal.gains()
    assert found["agrees"].all() and len(found) == 12
    coco = found.dropna(subset="over_own")
    assert coco["over_own"].tolist() == [3.0, 0.9, 4.3, 1.8, 5.2, 2.0]
    x = goal.xvlm()
    assert len(x) == 12 and (x["difference"] == 0).sum() == 2
    falls = x[x["difference"] < 0].set_index("metric")["difference"].to_dict()
    assert falls == {"coco_i2t_r10": -0.3, "coco_t2i_r10": -0.1, "f30k_i2t_r5": -0.2}


def test_claims_are_21_with_a_way_to_judge_each():
    found = paper.claims("goal")
    assert list(found.index) == list(range(1, 22)) and list(found.columns) == ["claim", "place", "judged"]
    for row in found.itertuples():
        assert set(row.judged.split(", ")) <= set(WAYS) and row.place and row.claim.endswith(".")
    by_tables = {number for number, judged in found["judged"].items() if "paper tables" in judged}
    assert by_tables == set(_COUNTS)
    with pytest.raises(ValueError, match="unknown paper with claims 'gaol'.*Did you mean 'goal'"):
        paper.claims("gaol")


def test_claims_against_the_papers_own_tables():
    found = paper.against_own_tables("goal")
    assert dict(found["verdict"]) == {
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
    assert not found["verdict"].str.contains("reproduced|contradicted").any()
    numbers = found["numbers"]
    assert "butd t2i +0.7" in numbers[3] and "sig-ms 23 (ties: 1)" in numbers[11] and "NT-Xent loss -0.1" in numbers[13]
    assert "7 rise, 2 stay, 3 fall" in numbers[17] and "+2.28" in numbers[18] and "4 of 6" in numbers[16]


def test_examples_in_the_docstrings():
    assert doctest.testmod(goal) == (0, 3)


def test_bad_names_are_refused():
    for call, message in (
        (lambda: goal.best_cells("cir x sigms"), "Did you mean 'cir x sig-ms'"),
        (lambda: goal.ranking("con"), "unknown objective 'con'"),
        (lambda: goal.compare("Q"), "unknown kind of weight 'Q'"),
        (lambda: goal.compare("P", ("vitft",)), "Did you mean 'vit_ft'"),
        (lambda: goal.compare("P", partner="lin"), "unknown T weight 'lin'; allowed: 'con', 'nca', 'cir'"),
    ):
        with pytest.raises(ValueError, match=message):
            call()

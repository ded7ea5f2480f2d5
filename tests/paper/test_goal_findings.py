"""What GOAL's tables say when counted, against slow loops over whole numbers; and its claims."""

from __future__ import annotations

import itertools

import pytest

from icrlib import paper
from icrlib.paper import goal

T, P = ("con", "nca", "cir"), ("con", "lin", "sig", "lin-ms", "sig-ms")
COLUMNS = list(itertools.product(goal.SETTINGS, ("i2t", "t2i")))


def tenths(*weights: str) -> dict:
    """(setting, direction, weight, weight) -> R@1 in tenths, a whole number."""
    rows = goal.cells().to_dict("records")
    return {(r["setting"], r["direction"], *(r[weight] for weight in weights)): round(10 * r["mean"]) for r in rows}


@pytest.mark.parametrize(("kind", "other", "names", "partners"), [("T", "P", T, P), ("P", "T", P, T)])
@pytest.mark.parametrize("settings", [goal.SETTINGS, goal.FROZEN, ("vit",)])
def test_comparison_is_the_slow_count(kind, other, names, partners, settings):
    """Of each weight against con, all else equal, in plain loops over whole numbers."""
    at, result = tenths(kind, other), goal.compare(kind, settings)
    places = [(place, partner) for place in COLUMNS for partner in partners if place[0] in settings]
    assert list(result.index) == list(names[1:])
    for name in names[1:]:
        better = [at[(*place, name, partner)] > at[(*place, "con", partner)] for place, partner in places]
        assert result.loc[name].tolist() == [sum(better), len(better)]


def test_best_cells_and_known_losses():
    """In plain loops; MS loss is con x sig-ms, and GOAL's own are the other objectives of Table 1 called new."""
    at = tenths("T", "P")
    columns = {place: {f"{t} x {p}": at[(*place, t, p)] for p in P for t in T} for place in COLUMNS}
    best = sum(column["cir x sig-ms"] == max(column.values()) for column in columns.values())
    assert goal.COUNTS[18]() == (best, 12) == (5, 12) and goal.COUNTS[1]() == (12, 12)
    known = [row["objective"] for _, row in paper.table("goal/1").iterrows() if row["loss"] != "New"]
    above = [
        column[name] > column["con x con"]
        for (setting, _), column in columns.items()
        for name in known
        if setting in goal.FROZEN + goal.FINE_TUNED and name != "con x con"
    ]
    assert goal.COUNTS[13]() == (sum(above), len(above))


def test_the_papers_tables_disagree_where_it_is_listed():
    """Table 2 prints the cell of Tables 3 to 5 again, Table 6 what may be one of its three runs."""
    cells = goal.cells().set_index(["setting", "direction", "objective"])["mean"]
    listed = paper.inconsistencies("goal")
    assert len(listed) == 3
    for one in listed.itertuples():
        setting, objective = one.row.split("/")
        assert paper.table(f"goal/{one.table}").loc[one.row, one.metric] == one.printed
        assert cells[setting, one.metric.split("_")[-2], objective] == one.follows


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

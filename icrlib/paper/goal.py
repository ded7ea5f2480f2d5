"""What GOAL's printed tables say when they are counted: every number here is computed from them.

These are findings about a table, not about retrieval. Nothing was trained again, differences of .1 are within the
printed deviations more often than not, and "better" means a higher printed mean. R@1 throughout.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cache

import pandas as pd

from icrlib.errors import choose
from icrlib.paper.tables import contents, table

SIDES = ("i2t", "t2i")
FROZEN, FINE_TUNED, VSE_INF = ("r152", "vit"), ("r152_ft", "vit_ft"), ("butd", "wsl")
SETTINGS = ("r152", "r152_ft", "vit", "vit_ft", "butd", "wsl")
BASELINE, PROPOSED = "con x con", "cir x sig-ms"
RUNS = 3  # Section 4.1


@cache
def _cells() -> pd.DataFrame:
    rows = []
    for number in (3, 4, 5):
        for _, row in table(f"goal/{number}").iterrows():
            for side in SIDES:
                about = {"table": str(number), "setting": row["setting"], "direction": side, "T": row["T"]}
                values = {"mean": row[f"{side}_r1"], "std": row[f"{side}_r1_std"]}
                rows.append(about | {"P": row["P"], "objective": row["objective"]} | values)
    return pd.DataFrame(rows)


def cells() -> pd.DataFrame:
    """The 180 cells of Tables 3 to 5, one a row: table, setting, direction, T, P, objective, mean, std."""
    return _cells().copy()


def _columns(settings: Iterable[str] = SETTINGS) -> pd.DataFrame:
    """Means with objectives as rows and (setting, direction) as columns: 12 columns for all settings."""
    wide = _cells().pivot(index="objective", columns=["setting", "direction"], values="mean")
    order = list(dict.fromkeys(_cells()["objective"]))
    chosen = [choose(setting, SETTINGS, "setting") for setting in settings]
    return wide.loc[order, [(setting, side) for setting in chosen for side in SIDES]]


def best_cells(objective: str = PROPOSED) -> pd.DataFrame:
    """The best cell of each of the 12 columns; is ``objective`` it, alone or jointly, and how far below is it if not?

    >>> int(best_cells()["is_best"].sum()), len(best_cells())
    (5, 12)
    """
    wide = _columns()
    choose(objective, wide.index, "objective")
    rows = []
    for setting, side in wide.columns:
        column = wide[setting, side]
        top = column[column == column.max()]
        rows.append(
            {
                "setting": setting,
                "direction": side,
                "best": column.max(),
                "objectives": ", ".join(top.index),
                objective: column[objective],
                "is_best": objective in top.index,
                "below": round(column.max() - column[objective], 1),
            }
        )
    return pd.DataFrame(rows)


def ranking(baseline: str = BASELINE) -> pd.DataFrame:
    """Objectives by mean gain over ``baseline`` in the 12 columns, with mean rank and how often best or joint best.

    >>> ranking().loc[["cir x sig-ms", "nca x sig-ms", "con x sig-ms"], "gain"].round(2).tolist()
    [2.28, 2.2, 1.99]
    """
    wide = _columns()
    choose(baseline, wide.index, "objective")
    found = pd.DataFrame(
        {
            "gain": (wide - wide.loc[baseline]).mean(axis=1),
            "rank": wide.rank(ascending=False).mean(axis=1),
            "best": (wide == wide.max()).sum(axis=1),
            "columns": wide.shape[1],
        }
    )
    return found.sort_values("gain", ascending=False, kind="stable")


def compare(weight: str, settings: Iterable[str] = SETTINGS, partner: str | None = None) -> pd.DataFrame:
    """Each T (or P) against T con (P con), all else equal: how often better, tied, worse, and by how much.

    ``weight``: "T" or "P". ``settings``: such as ``goal.FINE_TUNED``. ``partner``: compare beside this one weight of
    the other kind only. Columns: better, ties, worse, of, mean, worst, and where the worst was.

    >>> compare("P").loc[["lin", "sig", "lin-ms", "sig-ms"], "better"].tolist()
    [28, 36, 36, 35]
    """
    other = {"T": "P", "P": "T"}[choose(weight, ("T", "P"), "kind of weight")]
    chosen = [choose(setting, SETTINGS, "setting") for setting in settings]
    part = _cells()[_cells()["setting"].isin(chosen)]
    if partner is not None:
        part = part[part[other] == choose(partner, part[other].unique(), f"{other} weight")]
    wide = part.pivot(index=["setting", "direction", other], columns=weight, values="mean")
    rows = {}
    for name in [name for name in dict.fromkeys(part[weight]) if name != "con"]:
        difference = wide[name] - wide["con"]
        better, ties, worse = (int(sign.sum()) for sign in (difference > 0, difference == 0, difference < 0))
        at = difference.idxmin()
        rows[name] = {
            "better": better,
            "ties": ties,
            "worse": worse,
            "of": len(difference),
            "mean": difference.mean(),
            "worst": round(difference.min(), 1),
            "worst_at": f"{at[0]}, {at[1]}, {other} {at[2]}",
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(weight)


def known_losses() -> pd.DataFrame:
    """The named losses of Table 1 in every column: R@1, the difference to triplet, and who is best among them."""
    named = table("goal/1")
    named = named[named["loss"] != "New"]
    every = _columns()
    wide = every.loc[named["objective"]]
    rows = []
    for setting, side in wide.columns:
        column = wide[setting, side]
        for (objective, value), loss in zip(column.items(), named["loss"], strict=True):
            difference = round(value - column[BASELINE], 1)
            rows.append(
                {
                    "setting": setting,
                    "direction": side,
                    "loss": loss,
                    "objective": objective,
                    "r1": value,
                    "over_triplet": difference,
                    "best_known": bool(value == column.max()),
                    "best_of_all": bool(value == every[setting, side].max()),
                }
            )
    return pd.DataFrame(rows)


def verification() -> pd.DataFrame:
    """Table 2: triplet loss as published, and con x con; is the difference within the deviation of con x con?"""
    printed = table("goal/2")
    rows = []
    for setting in dict.fromkeys(printed["setting"]):
        for side in SIDES:
            published = printed.loc[setting, f"{side}_r1"]
            own = printed.loc[f"{setting}/{BASELINE}"]
            difference = round(own[f"{side}_r1"] - published, 1)
            rows.append(
                {
                    "setting": setting,
                    "direction": side,
                    "published": published,
                    "con x con": own[f"{side}_r1"],
                    "std": own[f"{side}_r1_std"],
                    "difference": difference,
                    "within": abs(difference) <= own[f"{side}_r1_std"],
                }
            )
    return pd.DataFrame(rows)


def against_grid() -> pd.DataFrame:
    """GOAL's own rows of Tables 2 and 6 against the cell of Tables 3 to 5 with the same setting and objective.

    ``possible``: for Table 2, the same mean is printed. For Table 6, which does not say what it prints, the number can
    be one of the three runs of the grid: three numbers with deviation s lie within s √2 of their mean.
    """
    grid = _cells().set_index(["setting", "direction", "objective"])
    rows = []
    for number, prefix in ((2, ""), (6, "coco_")):
        for name, row in table(f"goal/{number}").iterrows():
            if (row["setting"], "i2t", row["objective"]) not in grid.index:
                continue  # a published row, or X-VLM, which has no grid
            for side in SIDES:
                printed, cell = row[f"{prefix}{side}_r1"], grid.loc[(row["setting"], side, row["objective"])]
                difference = round(printed - cell["mean"], 1)
                reach = 0.0 if number == 2 else _reach(cell["std"])
                rows.append(
                    {
                        "table": str(number),
                        "row": name,
                        "metric": f"{prefix}{side}_r1",
                        "printed": printed,
                        "grid": cell["mean"],
                        "grid_std": cell["std"],
                        "difference": difference,
                        "possible": abs(difference) <= reach,
                    }
                )
    return pd.DataFrame(rows)


def _reach(std: float) -> float:
    """How far one of the runs can be from their mean: ddof 0 (with ddof 1 less), and all numbers rounded to tenths."""
    return math.sqrt(RUNS - 1) * (std + 0.05) + 2 * 0.05


def gains() -> pd.DataFrame:
    """The gains that Section 4.4 names, the differences in Table 6, and those against GOAL's own con x con.

    ``over_own``: cir x sig-ms minus con x con in Tables 3 to 5, which exist for MS-COCO only.
    """
    printed, wide, rows = table("goal/6"), _columns(), []
    for said in contents("goal")["gains"]:
        setting, data = said["setting"], said["dataset"]
        for side in SIDES:
            metric = f"{data}_{side}_r1"
            found = round(printed.loc[f"{setting}/{PROPOSED}", metric] - printed.loc[setting, metric], 1)
            column = wide[setting, side]
            own = round(column[PROPOSED] - column[BASELINE], 1) if data == "coco" else None
            rows.append(
                {
                    "setting": setting,
                    "dataset": data,
                    "direction": side,
                    "said": said[side],
                    "table_6": found,
                    "agrees": bool(abs(found - said[side]) < 0.05),
                    "over_own": own,
                }
            )
    return pd.DataFrame(rows)


def xvlm() -> pd.DataFrame:
    """X-VLM in Table 6, 12 measures: as published, with cir x sig-ms, and is that the best of its column?"""
    printed = table("goal/6")
    metrics = [name for name in printed.columns if f"{name}_std" in printed.columns]
    rows = []
    for metric in metrics:
        before, after = printed.loc["xvlm", metric], printed.loc[f"xvlm/{PROPOSED}", metric]
        rows.append(
            {
                "metric": metric,
                "published": before,
                "with goal": after,
                "difference": round(after - before, 1),
                "is_best": bool(after >= printed[metric].max()),
            }
        )
    return pd.DataFrame(rows)

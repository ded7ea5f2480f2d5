"""What GOAL's printed tables say when they are counted: every number here is computed from them.

These are findings about a table, not about retrieval. Nothing was trained again, differences of .1 are within the
printed deviations more often than not, and "better" means a higher printed mean. R@1 throughout.
"""

from __future__ import annotations

import itertools
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
    own, best = wide.loc[choose(objective, wide.index, "objective")], wide.max()
    names = (wide == best).apply(lambda column: ", ".join(column.index[column]))
    columns = {"best": best, "objectives": names, "is_best": own == best, "below": (best - own).round(1)}
    return pd.DataFrame(columns).reset_index()


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
    names = [name for name in dict.fromkeys(part[weight]) if name != "con"]
    gaps = wide[names].sub(wide["con"], axis=0)
    counts = {"better": (gaps > 0).sum(), "ties": (gaps == 0).sum(), "worse": (gaps < 0).sum(), "of": len(gaps)}
    worst_at = gaps.idxmin().map(lambda at: f"{at[0]}, {at[1]}, {other} {at[2]}")
    columns = counts | {"mean": gaps.mean(), "worst": gaps.min().round(1), "worst_at": worst_at}
    return pd.DataFrame(columns).rename_axis(weight)


def known_losses() -> pd.DataFrame:
    """The named losses of Table 1 in every column: R@1 less triplet's, and who is best among them."""
    named = table("goal/1").query("loss != 'New'").set_index("objective")["loss"]
    wide = _columns().loc[named.index]
    gains, best = (wide - wide.loc[BASELINE]).round(1), wide == wide.max()
    found = pd.DataFrame({"over_triplet": gains.unstack(), "best_known": best.unstack()}).reset_index()
    return found.assign(loss=found["objective"].map(named))


def verification() -> pd.DataFrame:
    """Table 2: con x con less triplet loss as published; is the difference within the deviation of con x con?"""
    printed, rows = table("goal/2"), []
    for setting, side in itertools.product(dict.fromkeys(printed["setting"]), SIDES):
        own = printed.loc[f"{setting}/{BASELINE}"]
        difference = round(own[f"{side}_r1"] - printed.loc[setting, f"{side}_r1"], 1)
        within = abs(difference) <= own[f"{side}_r1_std"]
        rows.append({"setting": setting, "direction": side, "difference": difference, "within": within})
    return pd.DataFrame(rows)


def against_grid() -> pd.DataFrame:
    """GOAL's own rows of Tables 2 and 6 against the cell of Tables 3 to 5 with the same setting and objective.

    ``possible``: for Table 2, the same mean is printed. For Table 6, which does not say what it prints, the number can
    be one of the three runs of the grid: three numbers with deviation s lie within s √2 of their mean.
    """
    grid, rows = _cells().set_index(["setting", "direction", "objective"]), []
    for number, prefix in ((2, ""), (6, "coco_")):
        for name, row in table(f"goal/{number}").iterrows():
            if (row["setting"], "i2t", row["objective"]) not in grid.index:
                continue  # a published row, or X-VLM, which has no grid
            for side in SIDES:
                metric, cell = f"{prefix}{side}_r1", grid.loc[(row["setting"], side, row["objective"])]
                reach = 0.0 if number == 2 else _reach(cell["std"])
                found = {"table": str(number), "row": name, "metric": metric, "printed": row[metric]}
                possible = abs(round(row[metric] - cell["mean"], 1)) <= reach
                rows.append(found | {"grid": cell["mean"], "possible": possible})
    return pd.DataFrame(rows)


def _reach(std: float) -> float:
    """How far one of the runs can be from their mean: ddof 0 (with ddof 1 less), and all numbers rounded to tenths."""
    return math.sqrt(RUNS - 1) * (std + 0.05) + 2 * 0.05


def gains() -> pd.DataFrame:
    """The gains that Section 4.4 names, the differences in Table 6, and those against GOAL's own con x con.

    ``over_own``: cir x sig-ms minus con x con in Tables 3 to 5, which exist for MS-COCO only.
    """
    printed, wide, rows = table("goal/6"), _columns(), []
    for named, side in itertools.product(contents("goal")["gains"], SIDES):
        setting, data = named["setting"], named["dataset"]
        metric, column = f"{data}_{side}_r1", wide[setting, side]
        gain = round(printed.loc[f"{setting}/{PROPOSED}", metric] - printed.loc[setting, metric], 1)
        own = round(column[PROPOSED] - column[BASELINE], 1) if data == "coco" else None
        about = {"setting": setting, "dataset": data, "direction": side}
        rows.append(about | {"table_6": gain, "agrees": bool(abs(gain - named[side]) < 0.05), "over_own": own})
    return pd.DataFrame(rows)


def xvlm() -> pd.DataFrame:
    """X-VLM in Table 6, 12 measures: with cir x sig-ms less as published, and is that the best of its column?"""
    printed = table("goal/6")
    metrics = [name for name in printed.columns if f"{name}_std" in printed.columns]
    before, after = (printed.loc[row, metrics].astype(float) for row in ("xvlm", f"xvlm/{PROPOSED}"))
    columns = {"difference": (after - before).round(1), "is_best": after >= printed[metrics].max()}
    return pd.DataFrame(columns).rename_axis("metric").reset_index()

"""What GOAL's printed tables say when they are counted: every number here is computed from them.

These are findings about a table, not about retrieval. Nothing was trained again, differences of .1 are within the
printed deviations more often than not, and "better" means a higher printed mean. R@1 throughout.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable

import pandas as pd

from icrlib.errors import choose
from icrlib.paper.tables import contents, table

SIDES = ("i2t", "t2i")
FROZEN, FINE_TUNED, VSE_INF = ("r152", "vit"), ("r152_ft", "vit_ft"), ("butd", "wsl")
SETTINGS = ("r152", "r152_ft", "vit", "vit_ft", "butd", "wsl")
BASELINE, PROPOSED = "con x con", "cir x sig-ms"
RUNS = 3  # Section 4.1


def cells() -> pd.DataFrame:
    """The 180 cells of Tables 3 to 5, one a row: table, setting, direction, T, P, objective, mean, std."""
    rows = []
    for number in (3, 4, 5):
        for _, row in table(f"goal/{number}").iterrows():
            for side in SIDES:
                about = {"table": str(number), "setting": row["setting"], "direction": side, "T": row["T"]}
                values = {"mean": row[f"{side}_r1"], "std": row[f"{side}_r1_std"]}
                rows.append(about | {"P": row["P"], "objective": row["objective"]} | values)
    return pd.DataFrame(rows)


def compare(weight: str, settings: Iterable[str] = SETTINGS) -> pd.DataFrame:
    """Each T (or P) against T con (P con), all else equal: in how many cells it is better, of how many.

    ``weight``: "T" or "P". ``settings``: such as ``goal.FINE_TUNED``.
    """
    other = {"T": "P", "P": "T"}[choose(weight, ("T", "P"), "kind of weight")]
    part = cells().query("setting in @settings")
    wide = part.pivot(index=["setting", "direction", other], columns=weight, values="mean")
    names = [name for name in dict.fromkeys(part[weight]) if name != "con"]
    gaps = wide[names].sub(wide["con"], axis=0)
    return pd.DataFrame({"better": (gaps > 0).sum(), "of": len(gaps)}).rename_axis(weight)


def xvlm() -> pd.DataFrame:
    """X-VLM in Table 6, 12 measures: with cir x sig-ms less as published, and is that the best of its column?"""
    printed = table("goal/6")
    metrics = [name for name in printed.columns if f"{name}_std" in printed.columns]
    before, after = (printed.loc[row, metrics].astype(float) for row in ("xvlm", f"xvlm/{PROPOSED}"))
    columns = {"difference": (after - before).round(1), "is_best": after >= printed[metrics].max()}
    return pd.DataFrame(columns).rename_axis("metric").reset_index()


Count = tuple[int, int]  # how often the claim's statement is true, of how many


def _count(true: Iterable[bool]) -> Count:
    found = [bool(one) for one in true]
    return sum(found), len(found)


def _columns(settings: Iterable[str] = SETTINGS) -> pd.DataFrame:
    """Means with objectives as rows and (setting, direction) as columns: 12 columns for all settings."""
    return cells().pivot(index="objective", columns=["setting", "direction"], values="mean")[[*settings]]


def _best(objective: str) -> pd.Series:
    """In which of the 12 columns the objective is best, alone or jointly."""
    return _columns().loc[objective] == _columns().max()


def _better(**settings: Iterable[str]) -> Count:
    """Better cells of a comparison, all weights of a kind together."""
    found = pd.concat([compare(weight, of) for weight, of in settings.items()])
    return int(found["better"].sum()), int(found["of"].sum())


def _same_as_triplet() -> Count:
    """Table 2: con x con less triplet loss as published, within the deviation of con x con."""
    printed = table("goal/2")
    pairs = [(printed.loc[name], printed.loc[f"{name}/{BASELINE}"]) for name in dict.fromkeys(printed["setting"])]
    return _count(
        abs(round(own[f"{side}_r1"] - published[f"{side}_r1"], 1)) <= own[f"{side}_r1_std"]
        for published, own in pairs
        for side in SIDES
    )


def _known() -> list[str]:
    """The objectives that Table 1 names as losses that were known."""
    return table("goal/1").query("loss != 'New'")["objective"].tolist()


def _known_beat_triplet() -> Count:
    wide = _columns(FROZEN + FINE_TUNED)
    others = [name for name in _known() if name != BASELINE]
    return _count((wide.loc[others] > wide.loc[BASELINE]).to_numpy().ravel())


def _ms_best_known() -> Count:
    """MS loss is best, or jointly, of the known ones, and another triplet weight with its pair weight is above it."""
    wide = _columns(FINE_TUNED)
    ms = wide.loc["con x sig-ms"]
    return _count((ms == wide.loc[_known()].max()) & (wide.loc[["nca x sig-ms", "cir x sig-ms"]].max() > ms))


def _named_gains() -> Count:
    """The gains that Section 4.4 names, and the differences in Table 6."""
    printed, true = table("goal/6"), []
    for named, side in itertools.product(contents("goal")["gains"], SIDES):
        metric = f"{named['dataset']}_{side}_r1"
        gain = printed.loc[f"{named['setting']}/{PROPOSED}", metric] - printed.loc[named["setting"], metric]
        true.append(abs(gain - named[side]) < 0.05)
    return _count(true)


COUNTS: dict[int, Callable[[], Count]] = {
    1: lambda: _count(~_best(BASELINE)),
    3: _same_as_triplet,
    11: lambda: _better(P=FROZEN + FINE_TUNED),
    12: lambda: _better(T=FINE_TUNED),
    13: _known_beat_triplet,
    14: _ms_best_known,
    15: lambda: _better(P=VSE_INF, T=VSE_INF),
    16: _named_gains,
    17: lambda: _count(xvlm()["is_best"]),
    18: lambda: _count(_best(PROPOSED)),
}

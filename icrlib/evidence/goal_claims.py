"""What our runs say to GOAL's claims. Five draws describe: intervals are counted, and nothing is decided."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from icrlib.evidence import record_settings as runs
from icrlib.evidence.tuning import choices
from icrlib.evidence.verdicts import verdict
from icrlib.paper.goal import BASELINE, PROPOSED

T_NAMES, P_NAMES = ("con", "nca", "cir"), ("con", "lin", "sig", "lin-ms", "sig-ms")
OBJECTIVES = [f"{t} x {p}" for t in T_NAMES for p in P_NAMES]
NAMED = ("nca x con", "cir x lin", "con x sig", "con x sig-ms")  # NT-Xent, Circle, binomial deviance, MS
WANTED = 5


def describe_goal(
    records: Iterable[Mapping], searched: Iterable[Mapping], triplet_sh: Iterable[Mapping]
) -> dict[int, tuple[str, str]]:
    """{claim of GOAL: (what was compared, what came out)}, by R@1 in both directions.

    ``records``: runs of all 15 objectives, as printed (``convention="paper"``); ``searched``: the search of their
    rates; ``triplet_sh``: runs of Triplet-SH on the same draws, which con x con should equal. Empty where an objective
    has fewer than five runs.
    """
    found: dict[str, list[Mapping]] = {}
    for record in records:
        found.setdefault(record["config"]["loss"].removeprefix("goal:"), []).append(record)
    if min(len(found.get(name, ())) for name in OBJECTIVES) < WANTED:
        return {}
    tuning = {loss: chosen for (_, loss), chosen in choices(searched).items()}

    def over(pairs: Iterable[tuple[str, str]]) -> str:
        return counted(pairs, found, tuning)

    partner = {runs.seed(record): record["test"] for record in triplet_sh}
    same = [record["test"] == partner.get(runs.seed(record)) for record in found[BASELINE]]
    others = [name for name in OBJECTIVES if name != BASELINE]
    return {
        1: ("one of 14 over con × con", over((name, BASELINE) for name in others)),
        3: ("con × con against Triplet-SH", f"{sum(same)} of {len(same)} pairs of runs agree in every test number"),
        10: ("P lin over P con, at T con and nca", over((f"{t} x lin", f"{t} x con") for t in T_NAMES[:2])),
        11: ("P over con, at each T", over((f"{t} x {p}", f"{t} x con") for t in T_NAMES for p in P_NAMES[1:])),
        13: ("4 named cells over con × con", over((name, BASELINE) for name in NAMED)),
        18: ("cir × sig-ms over the 14 others", over((PROPOSED, name) for name in OBJECTIVES if name != PROPOSED)),
    }


def counted(pairs: Iterable[tuple[str, str]], found: Mapping[str, list[Mapping]], tuning: Mapping) -> str:
    """ "3 of 4 above 0, 0 below, 1 contain it; mean +1.2": 95 % intervals of paired differences, both directions."""
    differences = [
        verdict(f"{a} over {b}", "greater", found[a], found[b], measure=f"test.{side}.r1", tuning=tuning).difference
        for a, b in pairs
        for side in ("i2t", "t2i")
    ]
    above = sum(d.low > 0 for d in differences)
    below = sum(d.high < 0 for d in differences)
    mean = np.mean([d.mean for d in differences])
    return (
        f"{above} of {len(differences)} above 0, {below} below, {len(differences) - above - below} contain it; "
        f"mean {mean:+.1f}"
    )

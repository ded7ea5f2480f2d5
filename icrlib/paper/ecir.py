"""What ECIR's own printed tables say to its claims, counted; nothing was trained for this.

Means as printed, whatever their deviations; a claim that agrees with its table is not thereby reproduced. Counts that
the released program did not count as defined (text to image in Tables 2 and 4) are not used here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from itertools import combinations

import pandas as pd

from icrlib.paper.tables import table

TRIPLET, SH, NTXENT, SMOOTHAP = "Triplet loss", "Triplet loss SH", "NT-Xent", "SmoothAP"
LOSSES = (TRIPLET, SH, NTXENT, SMOOTHAP)
RECALLS = [f"{side}_{cut}" for side in ("i2t", "t2i") for cut in ("r1", "r5", "r10")]
Count = tuple[int, int, str]  # how often the claim's statement is true, of how many, and the numbers in words


def places() -> dict[tuple[str, str], pd.DataFrame]:
    """Table 1 and the counts of images as queries by (data set, method), indexed by loss.

    ``counted`` is C^q of Tables 2 and 4, and the count of negatives of Table 3, as printed.
    """
    printed = table("ecir/1")
    counts = pd.concat([table(f"ecir/{number}") for number in (2, 3, 4)])
    printed["counted"] = counts["i2t_C_q"].fillna(counts["i2t_C_neg"])
    return {place: part.set_index("loss") for place, part in printed.groupby(["dataset", "method"], sort=False)}


def _ahead(first: str, second: str | Iterable[str], columns: Iterable[str] = ("rsum",), method: str = "") -> Count:
    """In how many printed cells the first loss is above each of the others."""
    others = [second] if isinstance(second, str) else list(second)
    gaps = [
        float(part.loc[first, column] - part.loc[other, column])
        for (_, name), part in places().items()
        for other in others
        for column in columns
        if method in ("", name)
    ]
    return sum(gap > 0 for gap in gaps), len(gaps), f"{first} ahead by {min(gaps):.1f} to {max(gaps):.1f}"


def _similar_only_there() -> Count:
    """Within the sum of the two printed deviations of the average recall, for VSE++ image to text and nowhere else."""
    true, off = 0, []
    for (dataset, method), part in places().items():
        for side in ("i2t", "t2i"):
            name = f"{side}_average_recall"
            gap = float(part.loc[SH, name] - part.loc[SMOOTHAP, name])
            similar = abs(gap) <= part.loc[[SH, SMOOTHAP], f"{name}_std"].sum()
            right = similar == ((method, side) == ("VSE++", "i2t"))
            true += right
            off += [] if right else [f"{method} on {dataset}, {side}: {gap:+.1f}"]
    return true, 2 * len(places()), f"not so: {', '.join(off) or 'nowhere'}"


def _best_recall_best_map() -> Count:
    true, ties = 0, 0
    for part in places().values():
        best = part["i2t_map_at_5"] == part["i2t_map_at_5"].max()
        true += bool(best[part["i2t_average_recall"].idxmax()])
        ties += bool(best.sum() > 1)
    return true, len(places()), f"mAP@5 tied in {ties}"


def _counted(model: str, low: float, high: float = math.inf) -> Count:
    """Image to text: Triplet's C^q lies between; that of Triplet-SH is 1 by construction."""
    found = [float(part.loc[TRIPLET, "counted"]) for (_, method), part in places().items() if method == model]
    return sum(low < v < high for v in found), len(found), f"image to text: {' and '.join(f'{v:.2f}' for v in found)}"


def _above_one() -> Count:
    found = table("ecir/3")[["i2t_C_neg", "t2i_C_neg"]].to_numpy().ravel()
    return int((found > 1).sum()), len(found), f"{found.min():.2f} to {found.max():.2f}"


def _more_and_better() -> Count:
    parts = [part for (_, method), part in places().items() if method == "VSE++"]
    true = sum(
        bool((part.loc[NTXENT, ["rsum", "counted"]] > part.loc[TRIPLET, ["rsum", "counted"]]).all()) for part in parts
    )
    return true, len(parts), _ahead(NTXENT, TRIPLET, method="VSE++")[2]


def _fewer_is_better() -> Count:
    """Of all pairs of losses of one model on one data set: the one that counts fewer has the higher rsum."""
    fits = [
        (part.loc[a, "counted"] - part.loc[b, "counted"]) * (part.loc[a, "rsum"] - part.loc[b, "rsum"]) < 0
        for part in places().values()
        for a, b in combinations(LOSSES, 2)
    ]
    return sum(map(bool, fits)), len(fits), "pairs of losses, image to text, counts as printed"


OTHERS = (TRIPLET, NTXENT, SMOOTHAP)
COUNTS: dict[int, Callable[[], Count]] = {
    **dict.fromkeys((1, 10), lambda: _ahead(SH, OTHERS, RECALLS)),
    2: lambda: _ahead(SH, TRIPLET),
    **dict.fromkeys((3, 8, 17, 28), lambda: _ahead(SH, NTXENT)),
    4: _similar_only_there,
    5: lambda: _ahead(SH, SMOOTHAP),
    6: _best_recall_best_map,
    **dict.fromkeys((7, 29, 30), lambda: _ahead(SH, OTHERS)),
    9: lambda: _ahead(SH, SMOOTHAP, RECALLS),
    13: lambda: _counted("VSE++", 1),
    14: lambda: _counted("VSRN", 0.5, 1.5),
    16: _above_one,
    18: _more_and_better,
    **dict.fromkeys((22, 26, 31), _fewer_is_better),
    27: lambda: _ahead(NTXENT, TRIPLET),
}

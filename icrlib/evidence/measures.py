"""What the parts of claims compare: numbers of one run's record, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from icrlib.evidence.verdicts import SMALLEST

HALF = 0.5  # negatives: nearer to another whole number than that is another number of them


class Measure(NamedTuple):
    """``of``: a path into a record, or a function of it; ``smallest``: the smallest difference that matters, if named.

    ``equal``: that of a claim that there is no difference, where it is another one. ``count``: it is about training, a
    count of samples, and not about what was learnt.
    """

    title: str
    of: str | Callable[[Mapping], float]
    unit: str = "points"
    smallest: float | None = None
    equal: float | None = None
    count: bool = False


def at_choice(record: Mapping) -> Mapping:
    """The evaluation at which the run chose its weights."""
    return next(entry for entry in record["history"] if entry["update"] == record["chosen"]["update"])


def silent(record: Mapping, side: str) -> float:
    """% of the queries of the last batch before the chosen evaluation that had no gradient, by the exact weights.

    C_B / C_q is the number of queries that have one, and with C_0 that is all of them, whatever the batch's size.
    """
    count = at_choice(record)["cocos"][side]
    heard = count["C_B"] / count["C_q"] if count["C_q"] else 0.0
    return 100 * count["C_0"] / (count["C_0"] + heard)


def _i2t(name: str) -> Callable[[Mapping], float]:
    """100 times a number of the image queries, so that its unit is hundredths."""
    return lambda record: 100 * record["test"]["i2t"][name]


def _sides(record: Mapping) -> float:
    """How far the average recall image to text is above that text to image."""
    return record["test"]["i2t"]["average_recall"] - record["test"]["t2i"]["average_recall"]


def _heard(side: str) -> Measure:
    def of(record: Mapping) -> float:
        return at_choice(record)["cocos"][side]["n_eff"]

    return Measure(f"negatives heard {side}", of, "negatives", equal=HALF, count=True)


def _silent(side: str, queries: str) -> Measure:
    return Measure(f"{queries} without gradient", lambda record: silent(record, side), "%", count=True)


# The smallest difference of an average recall is that of the rsum, which is a sum of six, divided by six.
MEASURES = {
    "rsum": Measure("rsum", "test.rsum", "rsum", SMALLEST),
    "i2t": Measure("average recall i2t", "test.i2t.average_recall", smallest=SMALLEST / 6),
    "t2i": Measure("average recall t2i", "test.t2i.average_recall", smallest=SMALLEST / 6),
    "map": Measure("mAP@5", _i2t("map_at_5"), "hundredths"),
    "rp": Measure("R-precision i2t", _i2t("r_precision"), "hundredths"),
    "swap": Measure("swap accuracy", "test.twins.swap"),
    "sides": Measure("average recall i2t less t2i", _sides),
    "heard_i2t": _heard("i2t"),
    "heard_t2i": _heard("t2i"),
    "silent_i2t": _silent("i2t", "images"),
    "silent_t2i": _silent("t2i", "captions"),
}

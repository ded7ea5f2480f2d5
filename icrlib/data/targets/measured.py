"""What LTD's targets see of the captions of scenes, over all exchanges; and what one saw that is too large for CI."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from icrlib.data.splits import Split
from icrlib.data.targets.base import Teacher
from icrlib.data.targets.order_sensitivity import PARAPHRASES, order_sensitivity

TRUE = tuple(PARAPHRASES)
COUNT, FLOOR_COUNT = 200, 1000  # captions that are changed, and captions that the floor is taken from
TIE = 1e-6  # in 1 - cos: below it the rounding of float32 decides


def seen(captions: Split | Sequence[str], teacher: Teacher, count: int = COUNT) -> dict[str, float]:
    """Means of :func:`icrlib.data.targets.order_sensitivity` over its rows.

    "swap": 1 - cos to the false caption; for each of TRUE its own 1 - cos, and as "…, nearer" the percentage of
    captions of which the true one is nearer than the false one.
    """
    rows = order_sensitivity(captions, teacher, count)
    rows["nearer"] = 100.0 * (rows["to_swap"] - rows["to_paraphrase"] > TIE)
    of = rows.groupby("paraphrase")[["to_paraphrase", "nearer"]].mean().abs()  # no -0.0
    return (
        {"swap": abs(float(rows["to_swap"].mean()))}
        | {kind: float(of.loc[kind, "to_paraphrase"]) for kind in TRUE}
        | {f"{kind}, nearer": float(of.loc[kind, "nearer"]) for kind in TRUE}
    )


def recorded(name: str) -> dict[str, float]:
    """:func:`seen` of the validation captions of scenes, seed 0, as it was written down, and "floor", what a constant
    answer costs: of "sbert", or "mpnet" (all-mpnet-base-v2, 405 MB), which this library does not read."""
    return json.loads(Path(__file__).with_name("measured.json").read_text(encoding="utf-8"))[name]

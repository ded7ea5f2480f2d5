"""What LTD's targets see of the captions of scenes, over all exchanges; and what one saw that is too large for CI."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from icrlib.data.splits import Split
from icrlib.data.targets.base import Teacher
from icrlib.data.targets.order_sensitivity import order_sensitivity

TRUE = ("turned round", "one other word", "other words")
COUNT, FLOOR_COUNT = 200, 1000  # captions that are changed, and captions that the floor is taken from


def seen(captions: Split | Sequence[str], teacher: Teacher, count: int = COUNT) -> dict[str, float]:
    """Means of :func:`icrlib.data.targets.order_sensitivity` over the exchanges, each weighed by its captions.

    "swap": 1 - cos to the false caption; for each of TRUE its own 1 - cos, and as "…, nearer" the percentage of
    captions of which the true one is nearer than the false one.
    """
    rows = [row for row in order_sensitivity(captions, teacher, count=count, progress=False) if row["n"]]

    def mean(key: str, kinds: Sequence[str]) -> float:
        kept = [row for row in rows if row["paraphrase"] in kinds]
        return abs(float(np.average([row[key] for row in kept], weights=[row["n"] for row in kept])))  # no -0.0

    return (
        {"swap": mean("to_swap", TRUE)}
        | {kind: mean("to_paraphrase", [kind]) for kind in TRUE}
        | {f"{kind}, nearer": mean("accuracy", [kind]) for kind in TRUE}
    )


def recorded(name: str) -> dict[str, float]:
    """:func:`seen` of the validation captions of scenes, seed 0, as it was written down, and "floor", what a constant
    answer costs: of "sbert", or "mpnet" (all-mpnet-base-v2, 405 MB), which this library does not read."""
    return json.loads(Path(__file__).with_name("measured.json").read_text(encoding="utf-8"))[name]

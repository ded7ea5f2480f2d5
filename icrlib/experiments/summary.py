"""Records of runs as the rows of a table in a paper's layout."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from icrlib.experiments import record_settings as records
from icrlib.paper.cells import SIDES, TWINS

METRICS = ("r1", "r5", "r10", "average_recall", "map_at_5")
NAMES = ("dataset", "method", "loss")


def summarise(runs: Iterable[Mapping]) -> pd.DataFrame:
    """One row for each group of runs that differ in their seeds only: mean, spread and number n.

    Columns as :func:`icrlib.paper.table` has them, plus ``swap`` and ``attribute`` twin accuracy where the data has
    twins. ``loss`` says in brackets what else tells the row from others of its model and loss, "ntxent (lr 0.003)". The
    standard deviation is the population's, as in ECIR; None for a single run. ``ValueError`` without records.
    """
    groups = records.by_settings(runs)
    if not groups:
        raise ValueError("no records to summarise")
    frame = pd.DataFrame(
        [_row(group, groups) for group in groups], index=pd.Index(range(1, len(groups) + 1), name="row")
    )
    frame.attrs = {"name": "ours", "caption": "mean ± population standard deviation over n seeds"}
    return frame


def _row(group: records.Group, groups: Sequence[records.Group]) -> dict:
    one, numbers = group.settings, [_numbers(record["test"]) for record in group.records]
    alike = [other.settings for other in groups if all(other.settings[name] == one[name] for name in NAMES)]
    parts = [
        f"{records.short(name)} {records.as_text(value)}"
        for name, value in one.items()
        if any(other[name] != value for other in alike) and not records.is_neutral(name, value)
    ]
    row = {name: one[name] for name in NAMES} | {"n": len(numbers)}
    row["loss"] += f" ({', '.join(parts)})" if parts else ""
    for metric in numbers[0]:
        values = np.array([of.get(metric, np.nan) for of in numbers], dtype=float)
        row |= {metric: values.mean(), f"{metric}_std": values.std() if len(numbers) > 1 else None}
    return row


def _numbers(test: Mapping) -> dict[str, float]:
    # ECIR prints mAP@5 for image to text alone: a caption has one image, so the other way it adds nothing.
    names = [(side, metric) for side in SIDES for metric in METRICS if (side, metric) != ("t2i", "map_at_5")]
    numbers = {f"{side}_{metric}": test[side][metric] for side, metric in names} | {"rsum": test["rsum"]}
    twins = test.get("twins") or {}
    return numbers | {kind: twins[kind] for kind in TWINS if twins.get(kind) is not None}

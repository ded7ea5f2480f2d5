"""Records of runs as the rows of a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from icrlib.evidence import record_settings as runs
from icrlib.paper.cells import SIDES, TWINS

METRICS = ("r1", "r5", "r10", "average_recall", "map_at_5")
NAMES = ("dataset", "method", "loss")
WORDS = {"warmup": "warm-up", "batch_size": "batch size", "embed_dim": "dimensions", "grad_clip": "clipping"}
# Options mean something within one of these only: that NT-Xent has no margin is no difference of settings to name.
OWNERS = {"loss_options": "loss", "batches": "loss", "model_options": "method", "auxiliary_options": "auxiliary"}
FOLLOWING = ("drops", "evaluate_every", "data_hash")  # as a rule they follow from others; named if nothing else differs


def summarise(records: Iterable[Mapping]) -> pd.DataFrame:
    """Records as one row for each group of runs that differ in their seeds only: mean and spread, and their number n.

    Columns as :func:`icrlib.paper.table` has them, plus ``swap`` and ``attribute`` twin accuracy where the data has
    twins. ``loss`` says in brackets what else tells the row from others of its data set, "triplet_sh (warm-up 500)",
    "goal:cir x lin (convention released)", "ntxent (lr 0.003)", and nothing where nothing does. The standard deviation
    is the population's (ddof 0), as in ECIR; it is None for a single run.

    Raises ``ValueError`` if there are no records, or two with the same settings, seed and data.
    """
    records = list(records)
    if not records:
        raise ValueError("no records to summarise; icrlib.records.find(...) found none")
    groups: dict[tuple, list[Mapping]] = {}
    for record, settings in zip(records, runs.aligned(records), strict=True):
        groups.setdefault(tuple(settings.items()), []).append(record)
    for group in groups.values():
        _refuse_twice(group)
    labels = _labels([dict(key) for key in groups])
    frame = pd.DataFrame(
        [_row(group, label) for group, label in zip(groups.values(), labels, strict=True)],
        index=pd.Index(range(1, len(groups) + 1), name="row"),
    )
    frame.attrs = {"name": "ours", "caption": "mean ± population standard deviation over n seeds"}
    return frame


def _refuse_twice(group: Sequence[Mapping]) -> None:
    seen: dict[tuple, Mapping] = {}
    for record in group:
        key = (runs.seed(record), runs.draw(record), runs.data_hash(record))
        if key in seen:
            raise ValueError(
                f"two records of one run, seed {key[0]} and the same settings and data: "
                f"{runs.where(seen[key])} and {runs.where(record)}; leave one of them out"
            )
        seen[key] = record


def _row(group: Sequence[Mapping], label: str) -> dict:
    config, numbers = group[0]["config"], [_numbers(record["test"]) for record in group]
    row = dict(zip(NAMES, (config["dataset"], config["method"], label), strict=True)) | {"n": len(group)}
    for metric in numbers[0]:
        values = np.array([one.get(metric, np.nan) for one in numbers], dtype=float)
        row |= {metric: values.mean(), f"{metric}_std": values.std() if len(group) > 1 else None}
    return row


def _numbers(test: Mapping) -> dict[str, float]:
    # ECIR prints mAP@5 for image to text alone: a caption has one image, so the other way it adds nothing.
    names = [(side, metric) for side in SIDES for metric in METRICS if (side, metric) != ("t2i", "map_at_5")]
    numbers = {f"{side}_{metric}": test[side][metric] for side, metric in names} | {"rsum": test["rsum"]}
    twins = test.get("twins") or {}
    return numbers | {kind: twins[kind] for kind in TWINS if twins.get(kind) is not None}


def _labels(groups: Sequence[Mapping]) -> list[str]:
    """The loss of each group, and in brackets what differs; what follows from other settings only if it must."""
    told = [{name for name in _differing(one, groups) if name not in FOLLOWING} for one in groups]
    labels = [_label(one, names) for one, names in zip(groups, told, strict=True)]
    places = [(one["dataset"], one["method"], label) for one, label in zip(groups, labels, strict=True)]
    return [
        _label(one, _differing(one, groups)) if places.count(place) > 1 else label
        for one, label, place in zip(groups, labels, places, strict=True)
    ]


def _differing(one: Mapping, groups: Sequence[Mapping]) -> set[str]:
    """Names of the settings in which another group of the data set differs from ``one``."""
    others = [other for other in groups if other["dataset"] == one["dataset"]]
    return {
        name
        for name in one
        if name not in NAMES and any(other[name] != one[name] for other in others if _comparable(name, one, other))
    }


def _comparable(name: str, one: Mapping, other: Mapping) -> bool:
    owner = OWNERS.get(name.partition(".")[0])
    return owner is None or one[owner] == other[owner]


def _label(one: Mapping, names: Iterable[str]) -> str:
    names = sorted(names, key=list(one).index)
    parts = [f"{_word(name)} {_value(name, one[name])}" for name in names if not runs.is_neutral(name, one[name])]
    return one["loss"] + (f" ({', '.join(parts)})" if parts else "")


def _value(name: str, value: object) -> str:
    return str(value)[:6] if name == "data_hash" else runs.as_text(value)


def _word(name: str) -> str:
    return "data" if name == "data_hash" else WORDS.get(runs.short(name), runs.short(name).replace("_", " "))

"""What runs will cost, as past records tell: before anything starts.

A record tells the time of a run that is like it in all that drives the time. Where there is none, the nearest one is
scaled by counted operations (:mod:`icrlib.planning.operations`), and said to be. What ran on a CPU says nothing about
a GPU, nor the other way round, and what cannot be counted is not guessed: then the cost is unknown.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import log
from pathlib import Path

import torch

from icrlib.models.build import build
from icrlib.planning import operations
from icrlib.records.index import outlines

# What must agree before a record says anything at all: the neutral value stands for a name that is left out.
SAME = {"method": None, "auxiliary": None, "backbone": None, "precision": "float32"}
# What else drives the time of an update: where it differs, operations are counted.
DRIVERS = {"dataset": None, "loss": None, "batch_size": 128, "batches": "pairs", "accumulate": 1}
# How far away another batch mode, loss or data set is, beside the logarithm of the ratio of operations: what a loss
# does with the scores is not counted, and with images that is a large part of an update.
FAR = {"batches": 1.0, "loss": 0.5, "dataset": 0.3}
AROUND = 45  # seconds that a notebook takes beside its updates: to start, to read the data, to evaluate and to end
BYTES = 16  # of a parameter in training: itself, its gradient, and two averages of Adam's
WHOLE = 20  # of a parameter on disk: itself and Adam's two in the checkpoint, the best weights, the saved model


@dataclass(frozen=True)
class Cost:
    """``seconds``, ``updates``, ``memory_mb``, ``disk_mb`` of a run, from the record ``like``.

    ``scaled``: how the record was scaled, in words; "" where it is of a run like this one (``exact``).
    """

    seconds: float
    updates: int
    memory_mb: int
    disk_mb: float
    like: dict
    scaled: str = ""

    @property
    def exact(self) -> bool:
        return not self.scaled


def estimate(wanted: Mapping, records: Iterable[dict] | None = None, sizes: Mapping | None = None) -> Cost | None:
    """The cost of a run of the configuration ``wanted``, as a record holds one, or None where that is unknown.

    :func:`icrlib.planning.asked.configuration` fills in what a person leaves open. ``sizes`` of its data, if that is at
    hand (:func:`icrlib.planning.operations.measured`). Of the records of the same method on the same kind of machine
    the one whose update is nearest counts, in operations and in what ``FAR`` lists; of equally near ones the quickest.
    """
    sizes = sizes or operations.assumed(wanted)
    known = [record for record in (outlines() if records is None else records) if _comparable(record, wanted)]
    ours, each = operations.of_training(wanted, sizes), operations.of_update(wanted, sizes)
    best = None
    for record in known:
        config, differ = record["config"], _differing(record["config"], wanted)
        of_this = wanted.get("data_hash") and wanted["data_hash"] == config.get("data_hash")
        same = sizes if of_this else operations.assumed(config)
        theirs, their_each = operations.of_training(config, same), operations.of_update(config, same)
        if ours is None or theirs is None:
            if differ:
                continue  # nothing to scale by
            ratio, per_update = wanted["updates"] / config["updates"], 1.0
        else:
            ratio, per_update = ours / theirs, each / their_each
        seconds = record["wall_seconds"] * ratio
        names = {one.partition("=")[0] for one in differ}
        away = abs(log(per_update)) + sum(far for name, far in FAR.items() if name in names)
        far = (bool(differ), round(away, 1), len(differ), seconds)
        if best is None or far < best[0]:
            best = far, record, seconds, per_update, differ, same
    if best is None:
        return None
    _, record, seconds, per_update, differ, same = best
    more, parameters = _more_memory(wanted, sizes, record, same) if differ else (0.0, record["parameters"])
    return Cost(
        seconds,
        wanted["updates"],
        record["peak_memory_mb"] + round(max(0.0, more) / 1e6),
        max(parameters * WHOLE / 1e6, 1.0),
        record,
        _scaling(record, differ, per_update),
    )


def unknown(wanted: Mapping, records: Iterable[dict] | None = None, sizes: Mapping | None = None) -> str:
    """Why :func:`estimate` finds nothing: a few words, with the operations where these can be counted."""
    known = [record["config"] for record in (outlines() if records is None else records)]
    own = [config for config in known if config["method"] == wanted["method"]]
    if not own:
        why = f"there is no record of {wanted['method']!r} yet"
    elif all(operations.machine(config) != operations.machine(wanted) for config in own):
        why = f"there is no record of {wanted['method']!r} on a {operations.machine(wanted)} yet"
    else:
        why = "no record is of like cost, and what differs cannot be counted"
    count = operations.of_training(wanted, sizes or operations.assumed(wanted))
    return why + (f"; its products are {count:.1e} operations" if count else "")


def sentence(
    wanted: Mapping, sizes: Mapping | None = None, records: Iterable[dict] | None = None, around: int = 0
) -> str:
    """The plan of one run in words; ``around``: seconds that whatever holds it takes to start and to end."""
    known = list(outlines() if records is None else records)
    found = estimate(wanted, known, sizes)
    if found is None:
        return (
            f"plan: {wanted['updates']:,} updates, of unknown length: {unknown(wanted, known, sizes)}; a first run "
            "with smoke=True takes seconds"
        )
    beside = f", {around} s of them to start and to end," if around else ""
    record, each = found.like, 1e3 * found.seconds / found.updates
    source = f"{Path(record['path']).name}, {found.scaled}" if found.scaled else Path(record["path"]).name
    return (
        f"plan: about {(found.seconds + around) / 60:.1f} minutes{beside} for "
        f"{found.updates:,} updates ({each:.0f} ms each, evaluations included, on {_name(record)}, "
        f"{record['threads']} thread), {found.memory_mb} MB of memory, about "
        f"{found.disk_mb:.0f} MB on disk; from {source}"
    )


def until_done(seconds: Iterable[float], jobs: int) -> float:
    """Seconds until the last run ends, ``jobs`` at a time: whichever is free takes the next of the list."""
    free = [0.0] * jobs
    for one in seconds:
        heapq.heapreplace(free, free[0] + one)
    return max(free)


def _comparable(record: dict, wanted: Mapping) -> bool:
    config = record["config"]
    if config.get("smoke") and not wanted.get("smoke"):
        return False  # tiny data and a few updates tell nothing of a training
    tuned = [each.get("finetune_after") is not None for each in (config, wanted)]
    return (
        all(config.get(name, usual) == wanted.get(name, usual) for name, usual in SAME.items())
        and operations.machine(config) == operations.machine(wanted)
        and tuned[0] == tuned[1]
    )


def _differing(config: Mapping, wanted: Mapping) -> list[str]:
    """What of a record's configuration is another than wanted and drives the cost, as ``name=value``."""
    options, ours = config.get("model_options", {}), wanted.get("model_options", {})
    regions = [(each.get("data_options") or {}).get("regions", False) for each in (config, wanted)]
    return (
        [
            f"{name}={options.get(name)}"
            for name in dict.fromkeys([*ours, *options])
            if options.get(name) != ours.get(name)
        ]
        + [
            f"{name}={config.get(name, usual)}"
            for name, usual in DRIVERS.items()
            if config.get(name, usual) != wanted.get(name, usual)
        ]
        + (["other features"] if regions[0] != regions[1] else [])
    )


def _scaling(record: dict, differ: list[str], per_update: float) -> str:
    if not differ:
        return ""
    return f"scaled by counted operations, {per_update:.3g} times as many an update, from a record with " + ", ".join(
        differ
    )


def _more_memory(wanted: Mapping, sizes: Mapping, record: dict, same: Mapping) -> tuple[float, int]:
    """Bytes that the run takes beyond the record's: parameters and what is kept for the backward pass; parameters."""
    try:
        with torch.device("meta"):
            model = build(wanted["method"], sizes["features"][-1], sizes["vocabulary"], **wanted["model_options"])
    except (ImportError, TypeError):
        return 0.0, record["parameters"]
    parameters = sum(one.numel() for one in model.parameters())
    kept = operations.kept_bytes(wanted, sizes) - operations.kept_bytes(record["config"], same)
    return BYTES * (parameters - record["parameters"]) + kept, parameters


def _name(record: dict) -> str:
    device = record["device"]
    return device["name"] if isinstance(device, dict) else device

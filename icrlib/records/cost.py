"""What runs will cost, as past records tell: before anything starts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from icrlib.records.files import find


@dataclass(frozen=True)
class Cost:
    """``seconds``, ``updates``, ``memory_mb``, ``disk_mb`` of a run, from the record ``like``; ``exact``: same data."""

    seconds: float
    updates: int
    memory_mb: int
    disk_mb: float
    like: dict
    exact: bool


def estimate(wanted: Mapping, records: Iterable[dict] | None = None) -> Cost | None:
    """The cost of a run of ``wanted`` (dataset, method, loss, updates or epochs, …), or None where nothing is alike.

    From the quickest record of the same data, method and loss, else of the same method and loss, else of the same
    method; of its kind the one with the nearest ``embed_dim``.
    """
    known = list(find(study="*") if records is None else records)
    for names in (("dataset", "method", "loss"), ("method", "loss"), ("method",)):
        alike = [r for r in known if all(r["config"][n] == wanted[n] for n in names if wanted.get(n) is not None)]
        if alike:
            break
    else:
        return None
    size = wanted.get("embed_dim")
    near = min(abs(_size(r) - size) for r in alike) if size else 0
    alike = [r for r in alike if not size or abs(_size(r) - size) == near]
    record = min(alike, key=lambda r: r["wall_seconds"] / r["config"]["updates"])
    updates = wanted.get("updates") or (wanted.get("epochs") or 0) * record["updates_per_epoch"]
    updates = updates or record["config"]["updates"]
    each = record["wall_seconds"] / record["config"]["updates"]
    disk = record["parameters"] * 4 * 5 / 1e6  # weights, Adam's two moments, the best weights, the saved model
    return Cost(each * updates, updates, record["peak_memory_mb"], max(disk, 1.0), record, "dataset" in names)


def sentence(wanted: Mapping) -> str:
    """The plan of one run in words."""
    found = estimate(wanted)
    if found is None:
        return (f"plan: no record of {wanted.get('method')!r} yet, so its time is unknown; a first run with smoke=True "
                "takes seconds")  # fmt: skip
    record, device = found.like, found.like["device"]
    name = device["name"] if isinstance(device, dict) else device
    of = record["config"]["dataset"]
    guess = "" if found.exact else f". A guess: that record is of {of}; there is none of this data"
    each, source = 1e3 * found.seconds / found.updates, Path(record["path"]).name
    return (
        f"plan: about {found.seconds / 60:.1f} minutes for {found.updates} updates ({each:.0f} ms each on {name}, "
        f"{record['threads']} thread), {found.memory_mb} MB of memory, about {found.disk_mb:.0f} MB on disk; from "
        f"{source}, with its sizes{guess}"
    )


def _size(record: dict) -> int:
    return record["config"]["model_options"].get("embed_dim", 0)

"""What tells two runs apart: their records as flat settings, without what only counts repetitions.

A record is plain data, a dictionary as :func:`icrlib.records.load` gives it. Its ``config`` becomes one flat
dictionary with dotted names, ``{"loss": "ntxent", "loss_options.tau": 0.1, "data_options.train": 1500, "lr": 0.003}``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from icrlib.training.settings import NEUTRAL as RUN_NEUTRAL

# No setting, but which repetition it is: the seed of the run, and the seed with which its data were drawn.
REPEATS = ("seed", "data_seed", "data_options.seed")
# What changes no result (threads: none beyond rounding), and what repeats others: the settings as they were asked for,
# and the batches of an epoch, which follow from the data and from how batches are made.
SILENT = ("device", "threads", "smoke", "asked", "changed", "per_epoch")
# A record from before a setting existed lacks it, and was run as if it had its neutral value. For what has none (an
# option of a loss or a model), None, 0, False and nothing at all are such values.
NEUTRAL = RUN_NEUTRAL | {"convention": "paper"}
_NOTHING = (None, False, 0, "", ())


class Group(NamedTuple):
    """Runs that differ in their seeds only: their settings, flat, by names that all groups share, and their records."""

    settings: dict[str, object]
    records: list[Mapping]


def by_settings(records: Iterable[Mapping]) -> list[Group]:
    """Records as groups, each of one setting, in the order in which they come."""
    records, groups = list(records), {}
    for record, one in zip(records, aligned(records), strict=True):
        groups.setdefault(tuple(one.values()), Group(one, [])).records.append(record)
    return list(groups.values())


def where(record: Mapping) -> str:
    """The path of a record, for messages."""
    return str(record.get("path") or f"a record without a path, seed {seed(record)}")


def seed(record: Mapping) -> int:
    """The seed of the run: of its weights, batches and augmentation."""
    return record["config"]["seed"]


def draw(record: Mapping) -> int | None:
    """The seed with which the data were drawn; None for data that are not drawn (photos)."""
    config = record["config"]
    drawn = (config.get("data_options") or {}).get("seed")
    return config.get("data_seed") if drawn is None and data_hash(record) is None else drawn


def data_hash(record: Mapping) -> str | None:
    """The fingerprint of the data that the run saw, its test split included."""
    return record["config"].get("data_hash") or record.get("data_hash")


def settings(record: Mapping) -> dict[str, object]:
    """One record's settings, flat, without seeds and what changes no result; lists become tuples.

    The data's hash is one of them only where data are not drawn: there other features mean another experiment.
    ``epochs`` only where ``updates`` does not say it: an epoch over images is shorter than one over captions.
    """
    config = record["config"]
    flat = dict(_flat({name: value for name, value in config.items() if name not in SILENT}))
    if flat.get("updates") is not None:
        flat.pop("epochs", None)
    drawn = "data_options.seed" in flat
    flat = {n: v for n, v in flat.items() if n.removeprefix("start_from.") not in (*REPEATS, "data_hash")}
    return flat if drawn or data_hash(record) is None else flat | {"data_hash": data_hash(record)}


def _flat(values: Mapping, prefix: str = "") -> Iterator[tuple[str, object]]:
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, frozen(value)


def frozen(value):
    return tuple(map(frozen, value)) if isinstance(value, (list, tuple)) else value


def aligned(records: Iterable[Mapping]) -> list[dict[str, object]]:
    """:func:`settings` of each, all with the same names: what a record lacks gets the value that changes nothing.

    That is the one in ``NEUTRAL``, or else whichever of None, False, 0 and nothing another record has.
    """
    every = [settings(record) for record in records]
    names = dict.fromkeys(name for one in every for name in one)
    filled = {name: _neutral(name, every) for name in names if any(name not in one for one in every)}
    return [{name: one[name] if name in one else filled[name] for name in names} for one in every]


def _neutral(name: str, every: Sequence[Mapping]) -> object:
    if short(name) in NEUTRAL:
        return NEUTRAL[short(name)]
    return next((one[name] for one in every if name in one and one[name] in _NOTHING), None)


def is_neutral(name: str, value: object) -> bool:
    """Is it what a run has that was never told of this setting?"""
    return value == NEUTRAL[short(name)] if short(name) in NEUTRAL else value in _NOTHING


def short(name: str) -> str:
    """ "tau" of "loss_options.tau"."""
    return name.rpartition(".")[2]


def measured(record: Mapping, measure: str | Callable[[Mapping], float]) -> float:
    """A number of a record: ``"test.rsum"`` is ``record["test"]["rsum"]``; or what a function of the record says.

    Raises ``ValueError``, naming the record, where there is none or where it is not finite.
    """
    value = record if isinstance(measure, str) else measure(record)
    for part in measure.split(".") if isinstance(measure, str) else ():
        value = value.get(part) if isinstance(value, Mapping) else None
    if value is None or not math.isfinite(value):
        got = "nothing" if value is None else value
        raise ValueError(f"{where(record)}: seed {seed(record)} has no finite number for {measure!r}; got {got}")
    return float(value)

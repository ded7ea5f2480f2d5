"""What is known of the runs that are asked for, before they start: sizes of their data, and which are finished."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from icrlib.data.load import DRAWN
from icrlib.planning import operations
from icrlib.records.files import load
from icrlib.training import unread
from icrlib.training.config import identity


def configuration(*asked, **options) -> tuple[dict, dict]:
    """(configuration, sizes of its data), with the arguments of :func:`icrlib.training.unread.configuration`."""
    config, data = unread.configuration(*asked, **options)
    if data.vocabulary:
        return config, operations.measured(data)
    shape = tuple(data.train.features.shape[1:])
    counted = {"val": len(data.val), "each": len(data.train.captions) / len(data.train), "features": shape}
    return config, operations.assumed(config) | counted


def finished(config: Mapping, known: Iterable[dict]) -> dict | None:
    """The record among ``known`` of this very run, or None. Data that was not read can only be told if it is drawn."""
    for record in known:
        theirs = record["config"]
        if "identity" not in record or theirs["data_options"] != config["data_options"]:
            continue
        if not config["data_hash"] and config["dataset"] not in DRAWN:
            continue
        if identity(dict(config) | {"data_hash": config["data_hash"] or theirs["data_hash"]}) == record["identity"]:
            return record
    return None


def of_runs(folder: Path) -> Iterator[dict]:
    """The whole records in run folders below ``folder``, such as those of a grid; damaged ones are left out."""
    for path in sorted(folder.rglob("record.json")):
        try:
            yield load(path)
        except (ValueError, OSError):
            continue

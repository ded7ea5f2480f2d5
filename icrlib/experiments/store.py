"""The records of runs by their keys: those of the book, and those that a reader trained.

The key of a run is a hash of its whole resolved configuration. How it was asked for, by which page, and on which
machine it was trained is not in it.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from icrlib import records
from icrlib.data.load import DRAWN
from icrlib.records.files import READ, rounded
from icrlib.training.config import identity


def key_of(config: Mapping) -> str:
    """Ten hex digits: the identity of a configuration, with numbers as a record holds them.

    Of drawn data the fingerprint is left out, since it follows from the options and the seed; of photos it counts.
    """
    kept = rounded({name: value for name, value in config.items() if name != "data_hash"})
    return identity(kept if config["dataset"] in DRAWN else kept | {"data_hash": config["data_hash"][:8]})


def place_of(dataset: str, method: str, loss: str, key: str) -> Path:
    """Where a run lies below a folder of records or of runs: ``scenes/vsepp/ntxent/KEY``."""
    parts = (part.replace("++", "pp").replace(":", "-").replace(" x ", "-") for part in (method, loss))
    return Path(dataset, *parts, key)


def trained() -> Path:
    """The folder of what a reader trains: ``runs/`` of the checkout, else of the folder that one works in."""
    root = records.root()
    return Path("runs") if root.is_relative_to(records.PACKAGE) else root.parent / "runs"


def load(place: Path, key: str) -> dict | None:
    """The record of a run with its ``key`` and ``path``, or None. The book's record comes before a reader's."""
    path = records.root() / _paths().get(key, f"{place}.json")
    if not records.exists(path):
        path = trained() / place / "record.json"
    return records.load(path) | {"key": key} if records.exists(path) else None


def find(key: str) -> dict | None:
    """The book's or a reader's record with this ``key``, with ``key`` and ``path``; None where there is none."""
    if key in _paths():
        return records.load(records.root() / _paths()[key]) | {"key": key}
    paths = [*records.root().rglob(f"{key}.json"), *trained().rglob(f"{key}/record.json")]
    return records.load(paths[0]) | {"key": key} if paths else None


def keep(folder: Path | None = None, into: Path | None = None) -> list[Path]:
    """Copy the records of finished runs below ``folder`` (default: what pages trained) to the book's; the new paths.

    A run that the book has is left alone: the first record of a key counts.
    """
    new = []
    for path in sorted((folder or trained()).rglob("record.json")):
        record = records.load(path)
        config = record["config"]
        place = place_of(config["dataset"], config["method"], config["loss"], key := key_of(config))
        target = (into or records.root()) / f"{place}.json"
        if not config["smoke"] and key not in _paths() and not target.exists():
            new.append(records.write({name: value for name, value in record.items() if name not in READ}, target))
    return new


@cache
def _paths() -> dict[str, str]:
    """{key: path below the book's records} by the table ``keys.csv``; of a key that stands there twice the first."""
    with (records.root() / "keys.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {row["key"]: row["path"] for row in reversed(rows)}


def below(place: str) -> list[Path]:
    """The book's records of a data set, a model and a loss, ``"scenes/vsepp/ntxent"``."""
    return [records.root() / path for path in _paths().values() if f"/{place.strip('/')}/" in f"/{path}"]

"""The records of runs by their keys: those of the book, and those that a reader trained.

The key of a run is a hash of its whole resolved configuration. How it was asked for, by which page, and on which
machine it was trained is not in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from icrlib import records
from icrlib.records.files import READ
from icrlib.training.config import identity, kept


def key_of(config: Mapping) -> str:
    """Ten hex digits: the identity of what is :func:`~icrlib.training.config.kept` of a configuration."""
    return identity(kept(config))


def place_of(dataset: str, method: str, loss: str, key: str) -> Path:
    """Where a run lies below a folder of records or of runs: ``scenes/vsepp/ntxent/KEY``."""
    parts = (part.replace("++", "pp").replace(":", "-").replace(" x ", "-") for part in (method, loss))
    return Path(dataset, *parts, key)


def trained() -> Path:
    """The folder of what a reader trains: ``runs/`` of the checkout, else of the folder that one works in."""
    root = records.root()
    return Path("runs") if root.is_relative_to(records.PACKAGE) else root.parent / "runs"


def load(place: Path) -> dict | None:
    """The record of a run, with its ``key`` and ``path``, or None. The book's record comes before a reader's."""
    for path in (records.root() / f"{place}.json", trained() / place / "record.json"):
        if records.exists(path):
            return records.load(path) | {"key": place.name}
    return None


def keep(folder: Path | None = None, into: Path | None = None) -> list[Path]:
    """Copy the records of finished runs below ``folder`` (default: what pages trained) to the book's; the new paths.

    A run that the book has is left alone: the first record of a key counts.
    """
    new = []
    for path in sorted((folder or trained()).rglob("record.json")):
        record = records.load(path)
        config = record["config"]
        place = place_of(config["dataset"], config["method"], config["loss"], key_of(config))
        target = (into or records.root()) / f"{place}.json"
        if not config["smoke"] and not target.exists():
            new.append(records.write({name: value for name, value in record.items() if name not in READ}, target))
    return new

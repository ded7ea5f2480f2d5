"""What choosing reads of every record, kept in the cache: 60 MB are not parsed for it each time.

The index is one file, by path, size and time stamp of what it was made from. What is new or changed is read again, and
an index of another form is made anew. It may be deleted at any time.
"""

from __future__ import annotations

import json
import logging
from functools import lru_cache
from pathlib import Path

from icrlib.files import StorageError, cache_dir, sha256_of, write_bytes
from icrlib.records import files

log = logging.getLogger(__name__)
VERSION = 3  # of what an outline holds and of the form of a record: another number makes every index anew
MEASURED = ("wall_seconds", "peak_memory_mb", "parameters", "device", "threads")
KEPT = ("identity", "data_hash", "config", "chosen", *MEASURED)


def outlines(study: str = "*", damaged: list[str] | None = None, **wanted) -> list[dict]:
    """As :func:`icrlib.records.find`, of each record only ``path``, ``KEPT`` and what was measured to choose by.

    That is of its ``history`` the ``update``, validation rsum and twins. ``damaged``: messages about records that
    cannot be read are added to this list; without it the first one is raised. Nobody may change what is given.
    """
    chosen = []
    for entry in _entries(study):
        if entry["why"]:
            if damaged is None:
                raise ValueError(entry["why"])
            damaged.append(entry["why"])
        chosen += [record for record in entry["records"] if files.agrees(record, wanted)]
    return sorted(chosen, key=lambda record: Path(record["path"]))


def _entries(study: str) -> list[dict]:
    """What the index says of each file of a study; what it does not know is read now and kept."""
    place = cache_dir() / "records" / f"{sha256_of(str(files.root().resolve()))[:16]}.json"
    kept, current = _kept(place, place.stat().st_mtime_ns if place.is_file() else 0), {}
    for path in files.stored(study=study):
        about = path.stat()
        stamp, old = [about.st_size, about.st_mtime_ns], kept.get(str(path))
        current[str(path)] = old if old and old["stamp"] == stamp else {"stamp": stamp} | _read(path)
    indexed = current if study == "*" else kept | current  # all of them: what is gone is forgotten
    if indexed != kept:
        try:
            write_bytes(place, json.dumps({"version": VERSION, "files": indexed}).encode())
        except StorageError as err:
            log.info("done without an index of records: %s", err)
    return list(current.values())


def _read(path: Path) -> dict:
    """The outlines of the records in a file, or why it cannot be read."""
    try:
        return {"records": [_outline(record) for record in files.read(path)], "why": None}
    except ValueError as err:
        return {"records": [], "why": str(err)}


def _outline(record: dict) -> dict:
    history = [
        {"update": entry["update"], "val": {"rsum": entry["val"]["rsum"]}}
        | ({"twins": entry["twins"]} if "twins" in entry else {})
        for entry in record.get("history", ())
    ]
    return {name: record[name] for name in KEPT if name in record} | {"path": record["path"], "history": history}


@lru_cache(maxsize=8)
def _kept(place: Path, _time: int) -> dict[str, dict]:
    """What the index holds, by path; nothing where there is none or it is of no use."""
    try:
        content = json.loads(place.read_bytes())
        return content["files"] if content["version"] == VERSION else {}
    except (OSError, ValueError, KeyError, TypeError) as err:
        log.info("the index of records is made anew: %s", err)
        return {}

"""What planning and choosing read of every record, kept in the cache: 60 MB are not parsed for it each time.

The index is a file for each study, by path, size and time stamp of what it was made from. What is new or changed is
read again, what is gone is left out, and an index that is damaged or of another form is made anew. It may be deleted
at any time.
"""

from __future__ import annotations

import json
import logging
from functools import lru_cache
from pathlib import Path

from icrlib.files import DamagedFile, StorageError, cache_dir, read_sealed, sha256_of, write_sealed
from icrlib.records import archive, files

log = logging.getLogger(__name__)
VERSION = 2  # of what an outline holds and of the form of a record: another number makes every index anew
MEASURED = ("wall_seconds", "peak_memory_mb", "parameters", "device", "threads")
KEPT = ("identity", "data_hash", "config", "chosen", *MEASURED)


def outlines(study: str = "*", damaged: list[str] | None = None, **wanted) -> list[dict]:
    """As :func:`icrlib.records.find`, of each record only ``path``, ``KEPT`` and what was measured to choose by.

    That is of its ``history`` the ``update``, validation rsum and twins. ``damaged``: messages about records that
    cannot be read are added to this list; without it the first one is raised. Nobody may change what is given.
    """
    studies, grouped, found = files.root() / "studies", {}, []
    paths = files.stored(study=study)
    for path in paths if study == "*" else ():
        own = path.relative_to(studies).parts[0] if path.is_relative_to(studies) else ""
        grouped.setdefault(own.removesuffix(archive.SUFFIX), []).append(path)
    if study != "*":
        grouped[study] = paths
    for name, paths in grouped.items():
        for entry in _current(_place(name), paths):
            if entry["why"] and damaged is None:
                raise ValueError(entry["why"])
            found += [one for one in entry["records"] if files.agrees(one, wanted)]
            if entry["why"]:
                damaged.append(entry["why"])
    return sorted(found, key=lambda record: Path(record["path"]))


def _current(place: Path, paths: list[Path]) -> list[dict]:
    """The entries for these files: those of the index at ``place`` that fit, the others made now and kept there."""
    kept, current = _kept(place), {}
    for path in paths:
        about = path.stat()
        stamp, old = [about.st_size, about.st_mtime_ns], kept.get(str(path))
        current[str(path)] = old if old and old["stamp"] == stamp else {"stamp": stamp} | _outlined(path)
    if current != kept:
        try:
            write_sealed(place, json.dumps({"version": VERSION, "files": current}).encode())
        except StorageError as err:
            log.info("done without an index of records: %s", err)
    return list(current.values())


def _outlined(path: Path) -> dict:
    """The outlines of the records in a file, or why it cannot be read."""
    try:
        return {"records": [outline(record) for record in files.read(path)], "why": None}
    except ValueError as err:
        return {"records": [], "why": str(err)}


def outline(record: dict) -> dict:
    """What of a record an index keeps."""
    history = [
        {"update": entry["update"], "val": {"rsum": entry["val"]["rsum"]}}
        | ({"twins": entry["twins"]} if "twins" in entry else {})
        for entry in record.get("history", ())
    ]
    kept = {name: record[name] for name in KEPT if name in record}
    return kept | {"path": record["path"], "history": history}


def _place(study: str) -> Path:
    root = sha256_of(str(files.root().resolve()))[:16]
    return cache_dir() / "records" / root / f"{study or 'others'}.json"


def _kept(place: Path) -> dict[str, dict]:
    """What the index holds, by path; nothing where there is none or it is of no use."""
    try:
        return _parsed(place, place.stat().st_mtime_ns)
    except OSError:  # none is there, or can be
        return {}


@lru_cache(maxsize=128)
def _parsed(place: Path, _time: int) -> dict[str, dict]:
    try:
        found = json.loads(read_sealed(place))
    except (DamagedFile, OSError) as err:
        log.info("the index of records is made anew: %s", err)
        return {}
    return found["files"] if found["version"] == VERSION else {}

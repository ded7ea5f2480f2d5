"""The database of an album: opened, checked, and what is wrong with it told apart. Its pictures are never touched."""

from __future__ import annotations

import contextlib
import math
import os
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import NamedTuple

import numpy as np

from icrlib.files import StorageError

TABLES = """
create table if not exists about (name text primary key, value text not null);
create table if not exists pictures (
    name blob primary key, size integer not null, changed integer not null, taken text, problem text, vector blob);
"""
COLUMNS = {"about": ["name", "value"], "pictures": ["name", "size", "changed", "taken", "problem", "vector"]}
DATE = re.compile(r"\d{4}:\d\d:\d\d( \d\d:\d\d(:\d\d)?)?")
BUSY, FULL = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED), (sqlite3.SQLITE_FULL,)
CLOSED = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_AUTH)


class DamagedAlbum(ValueError):
    """The album's own files are not as they were written; the pictures are never touched."""


class BusyAlbum(ValueError):
    """Another program holds the database; nothing is wrong with it."""


class Row(NamedTuple):
    """A picture that could be read: its path from the folder, when it was taken ("" unknown), its numbers."""

    name: str
    taken: str
    vector: np.ndarray


def damaged(place: Path, why: str) -> DamagedAlbum:
    return DamagedAlbum(
        f"{place}: damaged, or no album ({why}). Your pictures are untouched: delete {place.parent} and index them "
        "again"
    )


@contextlib.contextmanager
def opened(place: Path, write: bool) -> Iterator[sqlite3.Connection]:
    """The database at ``place``; to look into it nothing is written, so an album on a disk that may only be read is
    searched, too.

    :class:`DamagedAlbum`; :class:`BusyAlbum` where another program is at it; :class:`icrlib.files.StorageError` where
    it cannot be written, or there is no room left.
    """
    for part in (place, place.parent):
        if part.is_symlink():
            raise DamagedAlbum(f"{part}: a link, and an album's own files lie in its folder; delete it, then index")
    if os.path.lexists(place) and not place.is_file():
        raise damaged(place, "no plain file")
    base = None
    try:
        # What a killed indexing left is put right by the next who may write, also by one who only looks.
        how = "" if write or os.access(place, os.W_OK) else "?mode=ro"
        base = sqlite3.connect(f"{place.absolute().as_uri()}{how}", uri=True)
        if write:
            base.executescript(TABLES)
        for table, columns in COLUMNS.items():
            found = [column for _, column, *_ in base.execute(f"pragma table_info({table})")]
            if found != columns:
                raise damaged(place, f"its table {table} has the columns {', '.join(found) or 'of no album'}")
        yield base
    except sqlite3.Error as err:
        raise _told(place, err) from err
    finally:
        if base is not None:
            base.close()


def _told(place: Path, err: sqlite3.Error) -> Exception:
    """What a failure means: hours of work are not to be deleted because another program looks at them."""
    code = getattr(err, "sqlite_errorcode", 0) & 0xFF
    if code in BUSY:
        return BusyAlbum(f"{place}: another program is at it ({err}); wait for it or close it, nothing is damaged")
    if code in FULL:
        return StorageError(
            f"{place}: no space left on the device; free some, and the same command goes on. Nothing is lost"
        )
    if code in CLOSED:
        return StorageError(
            f"{place}: cannot be opened or written ({err}). A search needs to read it; indexing has to write there, too"
        )
    return damaged(place, str(err))


def about(base: sqlite3.Connection, place: Path) -> dict[str, str]:
    """What the album says of its making."""
    found = dict(base.execute("select name, value from about").fetchall())
    if not all(isinstance(part, str) for pair in found.items() for part in pair):
        raise damaged(place, "what it says of itself is no text")
    regions = found.get("regions", "0")
    if not re.fullmatch("[0-9]{1,3}", regions, re.ASCII):
        raise damaged(place, f"regions: {regions[:20]!r}")
    if found and not {"name", "own", "key"} <= set(found):
        raise damaged(place, "it does not say what made it")
    return found


def rows(base: sqlite3.Connection, place: Path) -> list[Row]:
    """All pictures with numbers, in the order of their names, each checked: path, kind, size, finite."""
    asked = "select name, taken, vector from pictures where vector is not null order by name"
    found = [_row(place, *one) for one in base.execute(asked).fetchall()]  # one left open would keep the file locked
    if sizes := {row.vector.shape for row in found[1:]} - {row.vector.shape for row in found[:1]}:
        raise damaged(place, f"pictures of different sizes, {found[0].vector.shape} and {sizes.pop()}")
    return found


def _row(place: Path, name: object, taken: object, vector: object) -> Row:
    path = own(place, name)
    values = unpacked(vector)
    if values is None:
        raise damaged(place, f"what it holds of {path!r} are no numbers")
    date = taken if isinstance(taken, str) and DATE.fullmatch(taken) else ""
    return Row(path, date, values)


def own(place: Path, name: object) -> str:
    """A picture's path from the folder. Indexing writes no other than that of a picture below it, so one that leads
    elsewhere was written by somebody: nothing of such an album is shown."""
    path = PurePath(os.fsdecode(name)) if isinstance(name, bytes) else PurePath()
    if path.is_absolute() or not path.parts or any(part.startswith(".") or "\0" in part for part in path.parts):
        raise DamagedAlbum(
            f"{place}: names {str(path)!r}, which is no picture of this folder. Your pictures are untouched: delete "
            f"{place.parent} and index them again"
        )
    return str(path)


def packed(vector: np.ndarray) -> bytes:
    """A vector, or the rows of regions, with its shape and type."""
    kind = "h" if vector.dtype == np.float16 else "f"
    return f"{kind}{','.join(map(str, vector.shape))}:".encode() + np.ascontiguousarray(vector).tobytes()


def unpacked(raw: object) -> np.ndarray | None:
    """What :func:`packed` wrote; None where it is nothing of the kind, or not finite."""
    found = re.match(rb"([hf])([0-9]{1,7}(?:,[0-9]{1,7}){0,2}):", raw) if isinstance(raw, bytes) else None
    if found is None:
        return None
    shape, kind = tuple(map(int, found[2].split(b","))), np.dtype(np.float16 if found[1] == b"h" else np.float32)
    body = raw[found.end() :]
    if 0 in shape or len(body) != math.prod(shape) * kind.itemsize:
        return None
    values = np.frombuffer(body, kind).reshape(shape)
    return values if np.isfinite(values).all() else None

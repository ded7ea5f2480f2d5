"""Changes of code that were seen to move nothing: a ledger beside the records, appended to, never edited.

A line says that one file's source may go from one hash to another, and which records were run again, bit for bit the
same, to find that out. So a record stays what its run wrote, and still counts as made by the present code.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from icrlib.files import write_bytes
from icrlib.records import sources
from icrlib.records.folder import root

NAME = "equivalences.jsonl"


def path() -> Path:
    """The ledger of the book's records."""
    return root() / NAME


def read() -> list[dict]:
    """Its lines: ``file``, ``old`` and ``new`` (hashes), ``records`` (those run again), ``versions``, ``device``."""
    return list(_lines(path(), path().stat().st_mtime_ns if path().is_file() else 0))


@cache
def _lines(file: Path, _time: int) -> tuple[dict, ...]:
    if not file.is_file():
        return ()
    found = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        try:
            entry = json.loads(line)
            found.append({key: entry[key] for key in ("file", "old", "new")} | entry)
        except (json.JSONDecodeError, KeyError, TypeError) as err:
            raise ValueError(f"{file}, line {number}: not an equivalence of sources ({err!r})") from err
    return tuple(found)


def append(lines: list[dict]) -> None:
    """Add equivalences; what was there stays, byte for byte."""
    old = path().read_bytes() if path().is_file() else b""
    new = "".join(json.dumps(line, ensure_ascii=False, sort_keys=True) + "\n" for line in lines).encode()
    write_bytes(path(), old + new)


def equivalent(file: str, old: str, new: str) -> bool:
    """Whether the ledger leads from one hash of a file to the other, in either direction and over several lines."""
    steps = [(line["old"], line["new"]) for line in read() if line["file"] == file]
    reached, before = {old}, 0
    while len(reached) > before:
        before = len(reached)
        reached |= {pair[1 - side] for pair in steps for side in (0, 1) if pair[side] in reached}
    return new in reached


def differing(listed: dict[str, str]) -> list[str]:
    """The files of a record's ``sources`` whose present source differs and is not known to be equivalent."""
    changed = {file: sources.now(file) for file, old in listed.items() if sources.now(file) != old}
    return [file for file, new in changed.items() if new is None or not equivalent(file, listed[file], new)]

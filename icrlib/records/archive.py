"""The records of a folder in one compressed file, as the wheel carries them: ``ntxent.jsonl.xz`` for ``ntxent/``.

A line is ``{"path": "KEY.json", "record": {…}}``, the record whole, as its run wrote it. Where the folder itself is
there, nobody looks at the archive.
"""

from __future__ import annotations

import json
import lzma
import re
from functools import lru_cache
from pathlib import Path

SUFFIX = ".jsonl.xz"
BEGIN = re.compile(rb'\{"path": "([^"]+)", "record": ')


def below(folder: Path) -> list[Path]:
    """The records in archives at or below ``folder``, by the paths of their files."""
    at = _archive_of(folder)
    archives = [at] if at.is_file() and not folder.is_dir() else sorted(folder.rglob(f"*{SUFFIX}"))
    folders = (one.with_name(one.name.removesuffix(SUFFIX)) for one in archives)
    return [place / name for place in folders if not place.is_dir() for name in _lines(place)]


def holds(path: Path) -> bool:
    """Whether an archive stands for the folder of ``path``, and has a record with this name."""
    return not path.parent.is_dir() and _archive_of(path.parent).is_file() and path.name in _lines(path.parent)


def read(path: Path) -> dict:
    """The record of ``path`` out of the archive that holds it."""
    return json.loads(_lines(path.parent)[path.name])["record"]


def _archive_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}{SUFFIX}")


@lru_cache(maxsize=8)
def _lines(folder: Path) -> dict[str, bytes]:
    """{file name: line} of the archive of a folder; of a line only its beginning is looked at.

    ``lzma.LZMAError`` or ``EOFError`` where the archive is damaged: install the package again.
    """
    with lzma.open(_archive_of(folder)) as file:
        return {BEGIN.match(line)[1].decode(): line for line in file}

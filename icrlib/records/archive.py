"""The records of a folder in one compressed file, as the wheel carries them: ``ntxent.jsonl.xz`` for ``ntxent/``.

A line is ``{"path": "KEY.json", "record": {…}}``, the record whole, as its run wrote it. Where the folder itself is
there, nobody looks at the archive.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from icrlib import parsing
from icrlib.records.form import RECORD

SUFFIX = ".jsonl.xz"
BEGIN = re.compile(rb'\{"path": "([^"]+)", "record": ')
LINE = {
    "type": "object",
    "required": ["path", "record"],
    "properties": {"path": {"type": "string"}, "record": RECORD},
}


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
    """The record of ``path`` out of the archive that holds it.

    :class:`icrlib.parsing.BadFile` with the archive and the line where this has another form.
    """
    number, line = _lines(path.parent)[path.name]
    return parsing.parsed(line, _archive_of(path.parent), LINE, "the line", number)["record"]


def _archive_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}{SUFFIX}")


@lru_cache(maxsize=8)
def _lines(folder: Path) -> dict[str, tuple[int, bytes]]:
    """{file name: (number, line)} of the archive of a folder; of a line only its beginning is looked at."""
    archive, found, number = _archive_of(folder), {}, 0
    try:
        with parsing.opened(archive) as file:
            for number, line in enumerate(file, 1):
                if not (begin := BEGIN.match(line)):
                    raise parsing.BadFile(archive, "no record in the line; install the package again", number)
                found[begin[1].decode()] = number, line
    except parsing.UNREADABLE as err:
        why = f"cut off or damaged behind this line ({err}); install the package again"
        raise parsing.BadFile(archive, why, number) from err
    return found

"""A study's records in one compressed file, as the wheel carries them: ``studies/NAME.jsonl.xz`` for ``studies/NAME``.

A line is ``{"path": "scenes/vsepp/ntxent/seed0.json", "record": {…}}``, the path below the study's folder, and the
record whole, as its run wrote it. Where the folder itself is there, nobody looks at the archive.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from icrlib import parsing
from icrlib.records.form import RECORD

SUFFIX = ".jsonl.xz"
LINE = {
    "type": "object",
    "required": ["path", "record"],
    "properties": {"path": {"type": "string"}, "record": RECORD},
}


def folder_of(archive: Path) -> Path:
    """The study's folder that an archive stands for."""
    return archive.with_name(archive.name.removesuffix(SUFFIX))


def _archive_of(folder: Path) -> Path:
    return folder.parent / f"{folder.name}{SUFFIX}"


def of(path: Path) -> Path | None:
    """The archive that stands for the folder in which ``path`` lies; None where there is none."""
    packed = (_archive_of(folder) for folder in path.parents if not folder.is_dir())
    return next((archive for archive in packed if archive.is_file()), None)


def below(folder: Path) -> list[Path]:
    """The archives in ``folder``, or the one that stands for it, whose folders are not there."""
    if not folder.is_dir():
        return [one for one in [_archive_of(folder)] if one.is_file()]
    return [one for one in sorted(folder.rglob(f"*{SUFFIX}")) if not folder_of(one).is_dir()]


def holds(path: Path) -> bool:
    """Whether the archive of its study has a record with this path."""
    archive = of(path)
    return archive is not None and path in _paths(archive, archive.stat().st_mtime_ns)


@lru_cache(maxsize=128)
def _paths(archive: Path, _time: int) -> frozenset[Path]:
    return frozenset(path for path, _ in read(archive))


def read(archive: Path, only: Path | None = None) -> Iterator[tuple[Path, dict]]:
    """(path, content) of each record in it, or of the ``only`` one with that path.

    :class:`icrlib.parsing.BadFile` with the file and the line where it is cut off, damaged, or has a line of another
    form. Where one is asked for, the other lines are not looked at.
    """
    folder, number = folder_of(archive), 0
    begins = only and f'{{"path": {json.dumps(only.relative_to(folder).as_posix(), ensure_ascii=False)},'.encode()
    try:
        with parsing.opened(archive) as file:
            for number, line in enumerate(file, 1):
                if not begins or line.startswith(begins):
                    entry = parsing.parsed(line, archive, LINE, "the line", number)
                    yield folder / entry["path"], entry["record"]
    except parsing.UNREADABLE as err:
        why = f"cut off or damaged behind this line ({err}); install the package again"
        raise parsing.BadFile(archive, why, number) from err

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
from icrlib.parsing import STREAM, UNREADABLE, NotPlain, TooLarge, opened
from icrlib.records.form import RECORD

SUFFIX = ".jsonl.xz"
LINE = {
    "type": "object",
    "required": ["path", "record"],
    "properties": {
        "path": {"type": "string"},
        "record": RECORD,
    },
}


def folder_of(archive: Path) -> Path:
    """The study's folder that an archive stands for."""
    return archive.with_name(archive.name.removesuffix(SUFFIX))


def of(path: Path) -> Path | None:
    """The archive that stands for the folder in which ``path`` lies; None where there is none."""
    above = (one.with_name(one.name + SUFFIX) for one in path.parents if one.name)
    return next((one for one in above if one.is_file() and not folder_of(one).is_dir()), None)


def below(folder: Path) -> list[Path]:
    """The archives in ``folder``, or that of the folder itself, whose folders are not there."""
    own = folder.with_name(folder.name + SUFFIX)
    found = sorted(folder.rglob(f"*{SUFFIX}")) if folder.is_dir() else [own] if own.is_file() else []
    return [one for one in found if not folder_of(one).is_dir()]


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
    folder, last = folder_of(archive), 0
    begins = only and f'{{"path": {json.dumps(only.relative_to(folder).as_posix(), ensure_ascii=False)},'.encode()
    try:
        with opened(archive, STREAM) as file:
            for line in file:
                last += 1
                if not begins or line.startswith(begins):
                    found = parsing.parsed(line.decode("utf-8"), archive, LINE, "the line")
                    yield folder / found["path"], found["record"]
    except (parsing.BadFile, UnicodeDecodeError) as err:
        raise parsing.BadFile(archive, getattr(err, "why", str(err)), last) from err
    except (NotPlain, TooLarge) as err:
        raise parsing.BadFile(archive, str(err), last) from err
    except UNREADABLE as err:
        why = f"cut off or damaged behind this line ({err}); install the package again"
        raise parsing.BadFile(archive, why, last) from err

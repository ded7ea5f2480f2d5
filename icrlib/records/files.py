"""Records: what a run leaves behind as one JSON file, written once, by the run itself."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

from icrlib import parsing
from icrlib.files import claim_path, write_bytes
from icrlib.records import archive
from icrlib.records.folder import root
from icrlib.records.form import RECORD

READ = ("path",)  # what reading adds to a record


def write(record: dict, path: str | Path) -> Path:
    """Write ``record`` atomically; ``ValueError`` if one is there, for records are never changed."""
    path = claim_path(path, "record")
    text = json.dumps(rounded(record), indent=1, ensure_ascii=False, allow_nan=False)
    write_bytes(path, (_packed(text) + "\n").encode())
    return path


def load(path: str | Path) -> dict:
    """Read one record, with its ``path``. Nothing that it names is imported or opened.

    Which code made it stands in it (``commit``, ``versions``, ``device``; older records list hashes of ``sources``
    instead, which nobody reads). Where there is no such file, the archive of its study is looked into
    (:mod:`icrlib.records.archive`). ``ValueError`` for what is no record, ``FileNotFoundError`` where there is none.
    """
    path = Path(path)
    if path.is_file():
        try:
            return parsing.of_json(path, RECORD, "the record") | {"path": str(path)}
        except parsing.BadFile as err:
            raise ValueError(f"{path}: not a record of a run, or damaged ({err.why}); get it or train again") from err
    if packed := archive.of(path):
        for place, content in archive.read(packed, only=path):
            return content | {"path": str(place)}
    raise FileNotFoundError(f"{path}: no record here")


def exists(path: Path) -> bool:
    """Whether a record is there, in a file of its own or in the archive of its study."""
    return path.is_file() or archive.holds(path)


def stored(folder: str | Path | None = None, study: str | None = None) -> list[Path]:
    """The files with the records that :func:`find` looks at: one each, or the archives of whole studies."""
    studies = root() / "studies"
    place = Path(folder or (studies / study if study not in (None, "*") else root()))
    tables = root()  # what lies in it directly is about all records
    paths = [path for path in sorted(place.rglob("*.json")) if path.parent != tables and path.name[:5] != "probe"]
    paths += archive.below(place)
    if folder is None and study is None:
        paths = [path for path in paths if studies not in path.parents]
    return paths


def read(path: Path) -> list[dict]:
    """The records in a file that :func:`stored` names; ``ValueError`` where one is damaged."""
    if path.name.endswith(archive.SUFFIX):
        return [content | {"path": str(place)} for place, content in archive.read(path)]
    return [load(path)]


def find(folder: str | Path | None = None, *, study: str | None = None, **wanted) -> list[dict]:
    """All records whose ``config`` agrees with ``wanted`` (``dataset=``, ``method=``, ``loss=``, ``seed=``, …).

    Sorted by path. ``folder`` defaults to the book's records: those that its tables are made of, or those of a
    ``study`` ("reading"), or all of them ("*"). An empty list where none agrees.
    """
    chosen = [record for path in stored(folder, study) for record in read(path) if agrees(record, wanted)]
    return sorted(chosen, key=lambda record: Path(record["path"]))


def agrees(record: dict, wanted: dict) -> bool:
    """Whether a record's configuration has these values."""
    return all(record["config"].get(key) == value for key, value in wanted.items())


def rounded(value):
    """Floats to eight significant digits, so that a record stays small and readable; NaN becomes None."""
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(item) for item in value]
    if isinstance(value, float):
        return float(f"{value:.8g}") if math.isfinite(value) else None
    return value


def _packed(text: str) -> str:
    """JSON with indents, but each list of numbers on one line."""
    numbers = re.compile(r"\[\s+((?:-?[\d.eE+-]+|null)(?:,\s+(?:-?[\d.eE+-]+|null))*)\s+\]")
    return numbers.sub(lambda match: "[" + re.sub(r"\s+", " ", match[1]) + "]", text)

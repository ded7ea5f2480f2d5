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
    path = claim_path(path)
    text = json.dumps(rounded(record), indent=1, ensure_ascii=False, allow_nan=False)
    write_bytes(path, (_packed(text) + "\n").encode())
    return path


def load(path: str | Path) -> dict:
    """Read one record, with its ``path``. Nothing that it names is imported or opened.

    Which code made it stands in it (``commit``, ``versions``, ``device``; older records list hashes of ``sources``
    instead, which nobody reads). In an installed package the file lies in an archive (:mod:`icrlib.records.archive`).
    ``ValueError`` for what is no record, ``FileNotFoundError`` where there is none.
    """
    path = Path(path)
    if not path.is_file():
        if archive.holds(path):
            return archive.read(path) | {"path": str(path)}
        raise FileNotFoundError(f"{path}: no record here")
    try:
        return parsing.of_json(path, RECORD, "the record") | {"path": str(path)}
    except parsing.BadFile as err:
        raise ValueError(f"{path}: not a record of a run, or damaged ({err.why}); get it or train again") from err


def exists(path: Path) -> bool:
    """Whether a record is there, in a file of its own or in an archive."""
    return path.is_file() or archive.holds(path)


def below(folder: str = "") -> list[Path]:
    """The paths of the book's records of a data set, a model, a loss (``"scenes/vsepp/ntxent"``), or of all; sorted.

    A run's second records, ``KEY.repeat-1.json``, are among them.
    """
    place = root() / folder
    files = [path for path in place.rglob("*.json") if path.parent != root()]  # in the root lie tables of all records
    return sorted([*files, *archive.below(place)])


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

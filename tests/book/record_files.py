"""Folders of records for chapters that read them: made-up runs, and studies of the book."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from icrlib import records
from icrlib.records.files import agrees
from icrlib.studies import studies as registered

REAL, find = records.root(), records.find


def put(folder: Path, study: str, record: dict, tag: str = "") -> Path:
    """Write a record as one of a study below ``folder``."""
    c = record["config"]
    path = folder / "studies" / study / c["dataset"] / c["method"] / c["loss"] / f"{tag}-seed{c['seed']}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({k: v for k, v in record.items() if k != "path"}))
    return path


def keep(folder: Path, *studies: str) -> None:
    """Let ``folder`` have the book's own records of these studies."""
    (folder / "studies").mkdir()
    for study in studies:
        (folder / "studies" / study).symlink_to(REAL / "studies" / study)


@cache
def real(study: str) -> list[dict]:
    """The book's own records of a study."""
    return find(study=study)


def one(study: str, **wanted) -> dict:
    """A copy of the book's own record of a study whose configuration has these values: the first."""
    return copy.deepcopy(next(record for record in real(study) if agrees(record, wanted)))


def answer_with(monkeypatch, studies: dict[str, list], same: Mapping[str, str] | None = None, others=real) -> None:
    """Let ``records.find`` give the runs of ``studies``, by name; those that are not named have what ``others`` gives.

    ``same``: studies that are kept under another name.
    """

    def fake(folder=None, *, study=None, **wanted):
        names = registered if study == "*" else [study]
        names = dict.fromkeys((same or {}).get(name, name) for name in names)
        found = [record for name in names for record in (studies[name] if name in studies else others(name))]
        return [record for record in found if agrees(record, wanted)]

    monkeypatch.setattr(records, "find", fake)

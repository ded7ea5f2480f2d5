"""Records from archives: the same as from the files."""

from __future__ import annotations

import json
import lzma
import shutil

import pytest

from icrlib import records
from icrlib.records import archive, files


def content(seed: int) -> dict:
    return {
        "schema": 2,
        "config": {"dataset": "scenes", "method": "bow", "loss": "ntxent", "seed": seed},
        "test": {"ranks": [1, 2, 3]},
    }


@pytest.fixture
def places(tmp_path, monkeypatch):
    """Three records of one loss and one of another; their paths."""
    monkeypatch.setattr(files, "root", lambda: tmp_path / "records")
    archive._lines.cache_clear()
    names = ("ntxent/a0", "ntxent/a1", "ntxent/a1.repeat-1", "triplet/b7")
    paths = [tmp_path / "records/scenes/bow" / f"{name}.json" for name in names]
    return [files.write(content(seed), path) for seed, path in enumerate(paths)]


def pack(folder) -> None:
    """Put a folder into an archive, in the form that setup.py writes."""
    lines = []
    for path in sorted(folder.glob("*.json")):
        line = {"path": path.name, "record": json.loads(path.read_text())}
        lines.append(json.dumps(line, ensure_ascii=False) + "\n")
    shutil.rmtree(folder)
    folder.with_name(f"{folder.name}{archive.SUFFIX}").write_bytes(lzma.compress("".join(lines).encode()))


def test_an_archive_is_read_as_its_files_were(places):
    before = [records.load(path) for path in places]
    assert records.below() == places
    pack(places[0].parent)
    assert records.below() == places and records.below("scenes/bow/ntxent") == places[:3]
    assert records.below("scenes/bow/triplet") == places[3:] and records.below("scenes/vsepp") == []
    assert [records.load(path) for path in places] == before and all(map(records.exists, places))
    other = places[0].with_name("a3.json")
    assert not records.exists(other)
    with pytest.raises(FileNotFoundError, match="a3.json: no record here"):
        records.load(other)
    new = files.write(content(5), other)  # files that are there count, and not the archive
    assert records.below("scenes/bow/ntxent") == [new] and records.below() == [new, places[3]]
    assert not records.exists(places[0])

"""Records from archives: the same as from the files, and never from bad ones."""

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
        "history": [{"update": 5, "val": {"rsum": 100.0, "i2t": {"r1": 3.0}}, "twins": {"swap": 51.0}}],
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


def pack(folder) -> list[str]:
    """Put a folder into an archive, in the form that setup.py writes; the archive and its lines."""
    lines = []
    for path in sorted(folder.glob("*.json")):
        line = {"path": path.name, "record": json.loads(path.read_text())}
        lines.append(json.dumps(line, ensure_ascii=False) + "\n")
    shutil.rmtree(folder)
    target = folder.with_name(f"{folder.name}{archive.SUFFIX}")
    target.write_bytes(lzma.compress("".join(lines).encode()))
    return target, lines


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


def test_files_that_are_there_count_and_not_the_archive(places):
    pack(places[0].parent)
    new = files.write(content(5), places[0].with_name("a5.json"))
    assert records.below("scenes/bow/ntxent") == [new] and records.below() == [new, places[3]]
    assert not records.exists(places[0])


def test_a_damaged_archive_is_named_with_its_line(places):
    target, lines = pack(places[0].parent)
    good, first = target.read_bytes(), lines[0].encode()
    for content, why in (
        (good[:-20], "cut off or damaged"),
        (b"", "cut off or damaged"),
        (lzma.compress(first + lines[1][:50].encode() + b"\n"), "line 2: not a whole JSON"),
        (lzma.compress(first + b'{"path": "a1.json"}\n'), "line 2: no record"),
        (lzma.compress(first + b'{"path": "a1.json", "record": {}}\n'), "line 2: .*has no schema"),
        (lzma.compress(first + b"\xff\xfe\n"), "line 2: no record"),
    ):
        target.write_bytes(content)
        archive._lines.cache_clear()
        with pytest.raises(ValueError, match=f"ntxent.jsonl.xz.*{why}"):
            records.load(places[1])

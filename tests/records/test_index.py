"""Outlines of records from an index, and records from archives: the same as from the files, and never from bad ones."""

from __future__ import annotations

import json
import lzma
import os

import pytest

from icrlib import records
from icrlib.records import archive, files, index


def content(seed: int, rsum: float = 100.0) -> dict:
    return {
        "schema": 2,
        "config": {"dataset": "scenes", "method": "bow", "loss": "ntxent", "seed": seed},
        "identity": f"{seed}" * 10,
        "wall_seconds": 1.5,
        "history": [{"update": 5, "val": {"rsum": rsum, "i2t": {"r1": 3.0}}, "twins": {"swap": 51.0}, "cocos": {}}],
        "chosen": {"update": 5, "val_rsum": rsum},
        "test": {"ranks": [1, 2, 3]},
    }


@pytest.fixture
def book(tmp_path, monkeypatch):
    """Three records of a study and one of another; an empty cache. ``reads``: the files that were read."""
    monkeypatch.setattr(files, "root", lambda: tmp_path / "records")
    monkeypatch.setenv("ICRLIB_CACHE", str(tmp_path / "cache"))
    for study, seeds in (("mine", (0, 1, 2)), ("other", (7,))):
        for seed in seeds:
            files.write(content(seed), files.path_for("scenes", "bow", "ntxent", seed, study=study))
    read, reads = files.read, []
    monkeypatch.setattr(files, "read", lambda path: reads.append(path.name) or read(path))
    return reads


def seeds(those: list[dict]) -> list[int]:
    return [record["config"]["seed"] for record in those]


def test_an_outline_is_the_part_of_a_record_that_is_planned_with(book):
    complete, outlined = records.find(study="*"), records.outlines()
    assert seeds(complete) == seeds(outlined) == [0, 1, 2, 7]
    for record, outline in zip(complete, outlined, strict=True):
        history = [{"update": 5, "val": {"rsum": 100.0}, "twins": {"swap": 51.0}}]
        assert outline == {name: record[name] for name in outline} | {"history": history}
        assert {"identity", "config", "chosen", "wall_seconds", "path"} < outline.keys() and "test" not in outline
    assert seeds(records.outlines("mine", seed=1)) == [1] and records.outlines("mine", loss="triplet") == []


def test_only_what_is_new_or_changed_is_read_again(book):
    paths = [record["path"] for record in records.outlines("mine")]
    book.clear()
    assert seeds(records.outlines("mine")) == [0, 1, 2] and book == []
    files.write(content(3), files.path_for("scenes", "bow", "ntxent", 3, study="mine"))
    os.unlink(paths[0])
    changed = json.dumps(content(1, rsum=101.0))
    with open(paths[1], "w") as file:
        file.write(changed)
    outlined = records.outlines("mine")
    assert seeds(outlined) == [1, 2, 3] and book == ["seed1.json", "seed3.json"]
    assert outlined[0]["chosen"]["val_rsum"] == 101.0
    about = os.stat(paths[1])  # as long as before, at another time
    with open(paths[1], "w") as file:
        file.write(changed.replace("101.0", "102.0"))
    os.utime(paths[1], ns=(about.st_atime_ns, about.st_mtime_ns + 1))
    assert records.outlines("mine")[0]["chosen"]["val_rsum"] == 102.0


def test_an_index_that_is_damaged_or_of_another_form_is_made_anew(book, tmp_path):
    good = records.outlines()
    (place,) = (tmp_path / "cache").rglob("*.json")
    for content in (place.read_bytes()[:-9], b"", b"[]", b'{"version": 1, "files": {"a": 0}}', b"\xff\xfe\x00"):
        place.write_bytes(content)
        index._kept.cache_clear()
        book.clear()
        assert records.outlines() == good and len(book) == 4
    assert records.outlines() == good and len(book) == 4


def test_no_index_is_needed(book, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ICRLIB_CACHE", str(tmp_path / "file"))
    assert seeds(records.outlines()) == [0, 1, 2, 7]


def test_a_damaged_record_is_named_each_time(book):
    bad = files.path_for("scenes", "bow", "ntxent", 1, study="mine")
    bad.write_text("{")
    for _ in range(2):
        with pytest.raises(ValueError, match="seed1.json: not a record"):
            records.outlines("mine")
        damaged = []
        assert seeds(records.outlines("mine", damaged=damaged)) == [0, 2] and len(damaged) == 1


def pack(study: str = "mine") -> tuple:
    """Move a study into an archive, in the form that setup.py writes; the archive and its lines."""
    folder = files.root() / "studies" / study
    lines = []
    for path in sorted(folder.rglob("*.json")):
        line = {"path": path.relative_to(folder).as_posix(), "record": json.loads(path.read_text())}
        lines.append(json.dumps(line, ensure_ascii=False) + "\n")
        path.unlink()
    for place in sorted((one for one in (folder, *folder.rglob("*")) if one.is_dir()), reverse=True):
        place.rmdir()
    target = folder.with_name(f"{study}{archive.SUFFIX}")
    target.write_bytes(lzma.compress("".join(lines).encode()))
    return target, lines


def test_an_archive_is_read_as_its_files_were(book):
    before, outlined = records.find(study="*"), records.outlines()
    paths = [files.path_for("scenes", "bow", "ntxent", seed, study="mine") for seed in range(4)]
    pack()
    assert records.find(study="*") == before and records.outlines() == outlined
    assert seeds(records.find(study="mine", seed=2)) == [2] and seeds(records.outlines("mine")) == [0, 1, 2]
    assert [records.exists(path) for path in paths] == [True, True, True, False]
    assert records.load(paths[1]) == before[1]
    with pytest.raises(FileNotFoundError, match="seed3.json: no record here"):
        records.load(paths[3])
    assert records.find(files.root() / "studies" / "mine") == before[:3]


def test_files_that_are_there_count_and_not_the_archive(book):
    pack()
    files.write(content(5), files.path_for("scenes", "bow", "ntxent", 5, study="mine"))
    assert seeds(records.find(study="mine")) == seeds(records.outlines("mine")) == [5]
    assert not records.exists(files.path_for("scenes", "bow", "ntxent", 0, study="mine"))


def test_a_damaged_archive_is_named_with_its_line(book):
    target, lines = pack()
    good, first = target.read_bytes(), lines[0].encode()
    for content, why in (
        (good[:-20], "cut off or damaged"),
        (b"", "cut off or damaged"),
        (lzma.compress(first + lines[1][:50].encode() + b"\n"), "line 2: not a whole JSON"),
        (lzma.compress(first + b'{"path": "a.json"}\n'), "line 2: .*no record"),
        (lzma.compress(first + b"\xff\xfe\n"), "line 2"),
    ):
        target.write_bytes(content)
        for read in (records.find, records.outlines):
            with pytest.raises(ValueError, match=f"mine.jsonl.xz.*{why}"):
                read(study="mine")

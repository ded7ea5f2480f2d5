"""Records from archives: the same as from the files, and never from bad ones."""

from __future__ import annotations

import json
import lzma
import shutil

import pytest

from icrlib import records
from icrlib.records import archive, files


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


def place(seed: int, study: str = "mine"):
    return files.root() / "studies" / study / "scenes/bow/ntxent" / f"seed{seed}.json"


@pytest.fixture
def book(tmp_path, monkeypatch):
    """Three records of a study and one of another."""
    monkeypatch.setattr(files, "root", lambda: tmp_path / "records")
    for study, seeds in (("mine", (0, 1, 2)), ("other", (7,))):
        for seed in seeds:
            files.write(content(seed), place(seed, study))


def seeds(those: list[dict]) -> list[int]:
    return [record["config"]["seed"] for record in those]


def pack(study: str = "mine") -> tuple:
    """Move a study into an archive, in the form that setup.py writes; the archive and its lines."""
    folder = files.root() / "studies" / study
    lines = []
    for path in sorted(folder.rglob("*.json")):
        line = {"path": path.relative_to(folder).as_posix(), "record": json.loads(path.read_text())}
        lines.append(json.dumps(line, ensure_ascii=False) + "\n")
    shutil.rmtree(folder)
    target = folder.with_name(f"{study}{archive.SUFFIX}")
    target.write_bytes(lzma.compress("".join(lines).encode()))
    return target, lines


def test_an_archive_is_read_as_its_files_were(book):
    before = records.find(study="*")
    assert seeds(before) == [0, 1, 2, 7]
    pack()
    assert records.find(study="*") == before and seeds(records.find(study="mine", seed=2)) == [2]
    assert [records.exists(place(seed)) for seed in range(4)] == [True, True, True, False]
    assert records.load(place(1)) == before[1]
    with pytest.raises(FileNotFoundError, match="seed3.json: no record here"):
        records.load(place(3))
    assert records.find(files.root() / "studies" / "mine") == before[:3]


def test_files_that_are_there_count_and_not_the_archive(book):
    pack()
    files.write(content(5), place(5))
    assert seeds(records.find(study="mine")) == [5]
    assert not records.exists(place(0))


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
        with pytest.raises(ValueError, match=f"mine.jsonl.xz.*{why}"):
            records.find(study="mine")

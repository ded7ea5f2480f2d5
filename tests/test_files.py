"""Atomic writes: the old file or the new one, on every fault."""

from __future__ import annotations

import errno
import hashlib
import os

import pytest

from icrlib.files import StorageError, alone, atomic_path, claim_path, sha256_of, write_bytes


def test_replaces_whole_and_leaves_nothing_behind(tmp_path):
    path = tmp_path / "deep" / "file.bin"
    write_bytes(path, b"old")
    write_bytes(path, b"new")
    assert path.read_bytes() == b"new" and os.listdir(path.parent) == ["file.bin"]


def test_an_error_inside_keeps_the_old_content(tmp_path):
    path = tmp_path / "file.bin"
    write_bytes(path, b"old")
    with pytest.raises(KeyError), atomic_path(path) as temporary:
        temporary.write_bytes(b"half")
        raise KeyError("x")
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["file.bin"]


def test_disk_faults_name_the_file_and_the_way_out(tmp_path, monkeypatch):
    path = tmp_path / "file.bin"
    write_bytes(path, b"old")

    def broken(_):
        raise OSError(errno.ENOSPC, "No space left")

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(StorageError, match=r"file\.bin: .*no space left.*another folder"):
        write_bytes(path, b"new")
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["file.bin"]


def test_a_folder_is_for_one_process_at_a_time(tmp_path):
    folder = tmp_path / "run"
    with alone(folder, "taken"), pytest.raises(ValueError, match="run: taken"), alone(folder, "taken"):
        pass
    with alone(folder, "taken"):
        pass


def test_a_path_is_claimed_before_the_work(tmp_path):
    assert claim_path(tmp_path / "deep" / "a.json") == tmp_path / "deep" / "a.json"
    assert os.listdir(tmp_path / "deep") == []
    (tmp_path / "b.json").write_text("older")
    with pytest.raises(ValueError, match="this record exists"):
        claim_path(tmp_path / "b.json")
    with pytest.raises(StorageError, match="cannot be written"):
        claim_path(tmp_path / "b.json" / "c.json")
    assert (tmp_path / "b.json").read_text() == "older"


def test_sha256_of_separates_its_parts(tmp_path):
    assert sha256_of("ab", "c") != sha256_of("a", "bc")
    (tmp_path / "f").write_bytes(b"abc")
    assert sha256_of(tmp_path / "f") == sha256_of(b"abc") == hashlib.sha256(b"abc\0").hexdigest()

"""Atomic writes: the old file or the new one, on every fault."""

from __future__ import annotations

import errno
import hashlib
import os

import pytest

from icrlib.files import StorageError, atomic_path, claim_path, sha256_of, write_bytes


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


@pytest.mark.parametrize(("number", "words"), [(errno.ENOSPC, "no space left"), (errno.EACCES, "cannot be written")])
def test_disk_faults_name_the_file_and_the_way_out(tmp_path, monkeypatch, number, words):
    path = tmp_path / "file.bin"
    write_bytes(path, b"old")

    def broken(_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(StorageError, match=rf"file\.bin: .*{words}"):
        write_bytes(path, b"new")
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["file.bin"]


def test_a_path_is_claimed_before_the_work(tmp_path):
    assert claim_path(tmp_path / "deep" / "a.json", "record") == tmp_path / "deep" / "a.json"
    assert os.listdir(tmp_path / "deep") == []
    (tmp_path / "b.json").write_text("older")
    with pytest.raises(ValueError, match="this probe exists, and a probe is written once"):
        claim_path(tmp_path / "b.json", "probe")
    with pytest.raises(StorageError, match="cannot be written"):
        claim_path(tmp_path / "b.json" / "c.json", "record")
    assert (tmp_path / "b.json").read_text() == "older"


def test_a_file_where_a_folder_should_be(tmp_path):
    (tmp_path / "taken").write_text("x")
    with pytest.raises(StorageError, match="cannot be written"):
        write_bytes(tmp_path / "taken" / "file", b"x")


def test_sha256_of_separates_its_parts(tmp_path):
    assert sha256_of("ab", "c") != sha256_of("a", "bc")
    (tmp_path / "f").write_bytes(b"abc")
    assert sha256_of(tmp_path / "f") == sha256_of(b"abc") == hashlib.sha256(b"abc\0").hexdigest()

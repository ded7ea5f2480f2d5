"""Atomic writes: the old file or the new one, on every fault."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import signal
import subprocess
import sys

import pytest

from icrlib import files
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


@pytest.mark.process
def test_what_a_killed_write_left_goes_with_the_next_one(tmp_path, monkeypatch):
    """However young it is; but not what another process is writing, nor another file's part."""
    path = tmp_path / "file [1].bin"
    script = (
        "import os, signal, sys; from icrlib.files import atomic_path\n"
        "with atomic_path(sys.argv[1]) as part:\n"
        "    part.write_bytes(b'half'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    for _ in range(2):
        assert subprocess.run([sys.executable, "-c", script, str(path)], check=False).returncode == -signal.SIGKILL
    (one,) = tmp_path.glob(".file*.part")  # the second took the first one away
    left = [one, tmp_path / ".file [1].bin.another.part"]
    left[1].touch()
    strange, another = tmp_path / ".file [1].bin2.x.part", tmp_path / ".file 1.bin.x.part"
    strange.touch(), another.touch()
    with open(left[1], "rb") as busy:
        fcntl.flock(busy, fcntl.LOCK_EX)
        write_bytes(path, b"new")
        assert not left[0].exists() and left[1].exists() and strange.exists() and another.exists()
    write_bytes(path, b"newer")
    assert not left[1].exists() and path.read_bytes() == b"newer" and another.exists()


def test_a_part_that_was_swept_before_its_lock_is_made_again(tmp_path, monkeypatch):
    """Another process comes between the making of a part and its lock, twice, and once while the lock is tried."""
    path, real, made = tmp_path / "file.bin", files.tempfile.mkstemp, []

    def swept(**options):
        handle, name = real(**options)
        made.append(name)
        if len(made) < 3:
            files._sweep(path)
            assert not os.path.exists(name)
        return handle, name

    monkeypatch.setattr(files.tempfile, "mkstemp", swept)
    write_bytes(path, b"new")
    assert path.read_bytes() == b"new" and len(made) == 3 and os.listdir(tmp_path) == ["file.bin"]
    monkeypatch.setattr(files.tempfile, "mkstemp", lambda **options: (made.clear(), swept(**options))[1])
    with pytest.raises(StorageError, match="other processes take away what is written beside file.bin"):
        write_bytes(path, b"newer")
    assert path.read_bytes() == b"new" and os.listdir(tmp_path) == ["file.bin"]


@pytest.mark.process
def test_two_processes_write_one_file_again_and_again(tmp_path):
    """Each sweeps beside the other; every write succeeds, and what is there is always whole."""
    path = tmp_path / "file.bin"
    script = (
        "import sys; from icrlib.files import write_bytes\n"
        "for number in range(300): write_bytes(sys.argv[1], sys.argv[2].encode() * 5000)"
    )
    both = [subprocess.Popen([sys.executable, "-c", script, str(path), word]) for word in ("a", "b")]
    while any(process.poll() is None for process in both):
        if path.exists():
            assert path.read_bytes() in (b"a" * 5000, b"b" * 5000)
    assert [process.returncode for process in both] == [0, 0] and os.listdir(tmp_path) == ["file.bin"]


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

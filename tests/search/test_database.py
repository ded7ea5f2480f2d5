"""What an album is made of is known, what is in it is checked, and what is only busy or full is not called damaged."""

from __future__ import annotations

import os
import sqlite3

import numpy as np
import pytest
import torch
from PIL import Image

from icrlib import files
from icrlib.search import database
from icrlib.search.album import Album
from icrlib.search.database import BusyAlbum, DamagedAlbum
from icrlib.search.encoders import Own, unit
from tests.test_cli import icr


class Colours:
    """Mean colours, in another order where ``turned``; ``size`` numbers."""

    def __init__(self, turned=False, size=3):
        self.turned, self.size = turned, size

    def encode_images(self, pictures):
        found = np.array([np.asarray(picture).mean((0, 1)) + 1 for picture in pictures])
        return np.tile(found[:, ::-1] if self.turned else found, 2)[:, : self.size]

    def encode_captions(self, texts):
        return np.tile([[1.0 + 9 * (c in text) for c in ("red", "green", "blue")] for text in texts], 2)[:, : self.size]


@pytest.fixture
def album(tmp_path):
    folder = tmp_path / "album"
    (folder / "sub").mkdir(parents=True)
    for name, colour in (("a.jpg", (250, 0, 0)), ("b.jpg", (0, 250, 0)), ("sub/c.jpg", (0, 0, 250))):
        Image.new("RGB", (40, 40), colour).save(folder / name)
    Album(folder).update(Own(Colours(), "mine"), progress=False)
    return folder


def place(album):
    return album / ".icr" / "album.sqlite"


def change(album, *words):
    base = sqlite3.connect(place(album))
    with base:
        base.execute(*words)
    base.close()


def search(album):
    return Album(album).index(Own(Colours(), "mine")).by_text("something red", 3)


@pytest.mark.parametrize("other", [Colours(turned=True), Colours(size=5)])
def test_another_encoder_of_the_same_name(album, other):
    said = []
    found = Album(album).update(Own(other, "mine"), progress=False, tell=said.append)
    assert (found.new, found.same) == (3, 0) and len(said) == 1 and "all are embedded again" in said[0]
    assert Album(album).update(Own(other, "mine"), progress=False, tell=said.append).same == 3 and len(said) == 1


def test_the_same_encoder_of_another_name(album):
    said = []
    assert Album(album).update(Own(Colours(), "renamed"), progress=False, tell=said.append).same == 3 and not said


def test_a_query_of_another_size(album):
    with pytest.raises(ValueError, match="mine makes 5 numbers of a query, and the index holds 3"):
        Album(album).index(Own(Colours(size=5), "mine")).by_text("red")


def test_a_folder_that_cannot_be_listed_for_a_while(album, monkeypatch):
    real = os.scandir

    def scandir(path):
        if str(path).endswith("sub"):
            raise PermissionError(13, "Permission denied", os.fspath(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    found = Album(album).update(Own(Colours(), "mine"), progress=False)
    assert found.gone == 0 and any("sub: this folder cannot be listed" in problem for problem in found.problems)
    monkeypatch.undo()
    assert Album(album).update(Own(Colours(), "mine"), progress=False).same == 3 and len(search(album)) == 3


def test_a_picture_that_could_not_be_read_once(album, monkeypatch):
    Image.new("RGB", (40, 40), (9, 9, 9)).save(album / "d.jpg")
    monkeypatch.setattr("icrlib.search.encoders.open_picture", lambda file: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        Album(album).update(Own(Colours(), "mine"), progress=False)
    monkeypatch.undo()
    change(
        album, "insert into pictures values (?, ?, ?, null, 'no plug-in', null)", (b"d.jpg", *stamp(album / "d.jpg"))
    )
    assert Album(album).update(Own(Colours(), "mine"), progress=False).problems == [] and len(search(album)) == 3
    assert len(Album(album).index(Own(Colours(), "mine"))) == 4


def stamp(file):
    about = file.stat()
    return about.st_size, about.st_mtime_ns


@pytest.mark.parametrize(
    "words",
    [
        ("update pictures set vector = 'text'",),
        ("update pictures set vector = ?", (b"f3:" + np.full(3, np.nan, np.float32).tobytes(),)),
        ("update pictures set vector = ?", (b"f4:" + bytes(12),)),
        ("update pictures set vector = ?", (b"f9999999,9999999:",)),
        ("update pictures set vector = ?", (b"x3:" + bytes(12),)),
        ("update pictures set vector = ? where name = cast('a.jpg' as blob)", (b"f2:" + bytes(8),)),
        ("update pictures set name = 'text' where name = cast('a.jpg' as blob)",),
        ("update about set value = 'many' where name = 'regions'",),
        ("delete from about where name = 'own'",),
        ("drop table pictures",),
        ("alter table pictures rename column vector to numbers",),
    ],
)
def test_edited_databases(album, words):
    change(album, *words)
    with pytest.raises(DamagedAlbum, match="album.sqlite: .*Your pictures are untouched: delete"):
        place_ = Album(album)
        place_.encoder(Colours())
        place_.index(Own(Colours(), "mine"))


def test_a_date_is_a_courtesy(album):
    change(album, "update pictures set taken = '9' || hex(zeroblob(500))")
    assert {hit.caption for hit in search(album)} == {""}


def test_pipes_folders_and_links(album, tmp_path):
    place(album).rename(tmp_path / "elsewhere.sqlite")
    os.symlink(tmp_path / "elsewhere.sqlite", place(album))
    with pytest.raises(DamagedAlbum, match="a link"):
        search(album)
    place(album).unlink()
    os.mkfifo(place(album))
    with pytest.raises(DamagedAlbum, match="no plain file"):
        search(album)
    place(album).unlink()
    place(album).write_bytes(b"")
    with pytest.raises(DamagedAlbum, match="of no album"):
        search(album)


def test_a_locked_one_is_not_damaged(album, monkeypatch):
    real = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *words, **more: real(*words, timeout=0, **more))
    other = real(place(album), isolation_level=None)
    other.execute("begin exclusive")
    with pytest.raises(BusyAlbum, match="another program.*nothing is damaged"):
        search(album)
    other.close()
    assert len(search(album)) == 3


@pytest.mark.parametrize(
    "code, told",
    [
        (sqlite3.SQLITE_FULL, "no space left"),
        (sqlite3.SQLITE_READONLY, "indexing has to write"),
        (sqlite3.SQLITE_CANTOPEN, "indexing has to write"),
    ],
)
def test_full_and_closed_disks_are_not_damaged(album, code, told):
    with pytest.raises(files.StorageError, match=told), database.opened(place(album), write=True):
        err = sqlite3.OperationalError("as SQLite says it")
        err.sqlite_errorcode = code
        raise err


def test_a_disk_that_may_only_be_read(album, monkeypatch):
    """Searching works; indexing says so."""
    monkeypatch.setattr(os, "access", lambda path, how: False)
    assert len(search(album)) == 3
    monkeypatch.setattr("filelock.FileLock.acquire", lambda *_, **__: (_ for _ in ()).throw(OSError(30, "Read-only")))
    with pytest.raises(files.StorageError, match="cannot be written"):
        Album(album).update(Own(Colours(), "mine"), progress=False)


@pytest.mark.parametrize("year", [-(10**9), 10**10])
def test_times_before_and_after_all_others(album, year):
    os.utime(album / "a.jpg", (year, year))
    Album(album).update(Own(Colours(), "mine"), progress=False)
    assert Album(album).update(Own(Colours(), "mine"), progress=False).same == 3


@pytest.mark.parametrize("length", [1e-300, 1e-20, 1e25, 1e300])
def test_lengths_that_single_precision_has_not(length):
    found = unit(np.array([[3.0, 4.0]]) * length, 1, "mine")
    torch.testing.assert_close(found, torch.tensor([[0.6, 0.8]]))


async def late():
    return [[1.0]]


@pytest.mark.parametrize(
    "answer", [None, "text", ["a"], [[1.0], [1.0, 2.0]], iter([1.0]), object(), [[1, 2]], [[1j, 2]]]
)
def test_answers_that_are_no_vectors(answer):
    with pytest.raises(ValueError, match="^mine: "):
        unit(answer, 1, "mine")


def test_sparse_ones_are_taken_and_late_ones_refused():
    torch.testing.assert_close(unit(torch.eye(2).to_sparse(), 2, "mine"), torch.eye(2))
    coming = late()
    with pytest.raises(ValueError, match="mine: no array of numbers but coroutine"):
        unit(coming, 1, "mine")
    coming.close()


def test_an_encoder_that_dies_is_named(album):
    class Dies(Colours):
        def encode_images(self, pictures):
            raise KeyError("weights")

    with pytest.raises(ValueError, match="mine.encode_images: KeyError: 'weights' .test_database.py, line"):
        Album(album).update(Own(Dies(), "mine"), progress=False)


def test_names_without_vectors(album, tmp_path):
    (tmp_path / "names.txt").write_text("a.jpg\n")
    result = icr("index", album, "--encoder", "tests.search.test_database:Colours", "--files", tmp_path / "names.txt")
    assert result.exit_code == 2 and "--files says whose rows" in result.output


def test_vectors_that_replace_others_say_so(album, tmp_path):
    np.save(tmp_path / "v.npy", np.eye(3, dtype=np.float32))
    result = icr("index", album, "--embeddings", tmp_path / "v.npy")
    assert result.exit_code == 0 and "what mine made of 3 pictures is replaced" in result.output
    again = icr("index", album, "--embeddings", tmp_path / "v.npy")
    assert "what v.npy made of 3 pictures is replaced" in again.output
    np.save(tmp_path / "v.npy", np.eye(4, dtype=np.float32))
    result = icr("index", album, "--embeddings", tmp_path / "v.npy")
    assert result.exit_code == 1 and "3 pictures for the 4 rows of" in result.output
    assert len(Album(album).index(Own(Colours(), "mine"))) == 3, "nothing is lost"


MODULES = {
    "syntax": ("load = 3 +\n", "SyntaxError: invalid syntax (own_syntax.py, line 1)"),
    "leaves": ("import sys\nsys.exit('no weights')\n", "SystemExit: no weights (own_leaves.py, line 2)"),
    "dies": ("x = 1\nx / 0\n", "ZeroDivisionError: division by zero (own_dies.py, line 2)"),
    "needs": ("def load(weights): ...\n", "TypeError: load() missing 1 required positional argument: 'weights'"),
    "goes": ("import sys\ndef load():\n    sys.exit(3)\n", "SystemExit: 3 (own_goes.py, line 3)"),
    "nothing": ("def load(): ...\n", "own_nothing:load has no encode_captions"),
    "imports": ("import no_such_thing\n", "there is no module 'no_such_thing'"),
}


@pytest.mark.parametrize("name", MODULES)
def test_modules_of_ones_own_that_do_not_work(album, tmp_path, monkeypatch, name):
    """One line, and what the module itself died of."""
    content, told = MODULES[name]
    (tmp_path / f"own_{name}.py").write_text(content)
    monkeypatch.syspath_prepend(tmp_path)
    result = icr("index", album, "--encoder", f"own_{name}:load")
    assert result.exit_code == 1 and told in result.output and f"own_{name}:load" in result.output, result.output
    assert "Traceback" not in result.output and len(result.output.splitlines()) <= 2


@pytest.mark.parametrize("place", [".mine:load", "./mine:load", "mine", "mine:", ":load", "a..b:c"])
def test_names_that_import_does_not_take(album, place):
    result = icr("index", album, "--encoder", place)
    assert result.exit_code == 1 and "PACKAGE.MODULE:NAME" in result.output


def test_a_query_that_looks_like_a_picture(album, tmp_path):
    np.save(tmp_path / "v.npy", np.eye(3, dtype=np.float32))
    words = ("--index", album, "--encoder", "tests.search.test_database:Colours")
    for query in ("nowhere/a.JPG", "red.heic"):
        assert f"{query}: no such picture; searched as words" in icr("search", query, *words).output
    assert "searched as words" not in icr("search", "a red jpg", *words).output
    assert "searched as words" not in icr("search", album / "a.jpg", *words).output

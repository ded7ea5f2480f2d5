"""An album: any folder of pictures, embedded once and kept up to date, in ``FOLDER/.icr``.

A small database holds for each picture its size and time of change, when it was taken, and what the network made of it.
Every few pictures are committed together, so a killed indexing goes on where it was, and the end is the same. Beside it
lies a copy of the model, so that a search needs nothing else.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath

import numpy as np

from icrlib.data import backbones
from icrlib.data.pictures import BadPicture, taken
from icrlib.files import alone, is_within, sha256_of
from icrlib.models.on_pictures import OnPictures
from icrlib.names import handed
from icrlib.progress import bar
from icrlib.search.encoders import Encoder, Own, Trained, unit
from icrlib.search.index import Index
from icrlib.training.saved import load_model

PLACE, DATABASE, MODEL = ".icr", "album.sqlite", "model"
ENDINGS = (".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".heic", ".heif")
TOGETHER = 16  # pictures in a commit: a kill costs their seconds
TABLES = """
create table if not exists about (name text primary key, value text not null);
create table if not exists pictures (
    name blob primary key, size integer not null, changed integer not null, taken text, problem text, vector blob);
"""


class DamagedAlbum(ValueError):
    """The album's own files are not as they were written; the pictures are never touched."""


@dataclass(frozen=True)
class Update:
    """What an indexing found: how many pictures are new, changed, gone and unchanged, and those that cannot be read."""

    new: int
    changed: int
    gone: int
    same: int
    problems: list[str]


class Album:
    """The pictures below ``folder``, but for hidden ones. :meth:`update` reads them, :meth:`index` searches them."""

    def __init__(self, folder: str | os.PathLike) -> None:
        folder = Path(folder)
        self.folder = folder.parent if folder.name == PLACE else folder
        if not self.folder.is_dir():
            raise FileNotFoundError(f"{self.folder}: no such folder")
        self.place = self.folder / PLACE

    @property
    def exists(self) -> bool:
        return (self.place / DATABASE).is_file()

    def update(self, encoder: Encoder, model: Path | None = None, progress: bool = True) -> Update:
        """Embed what is new or has changed, and forget what is gone.

        ``model``: the folder of the trained model, which is copied; an encoder of one's own has to be handed over at
        each search. With another network than before all pictures are embedded again.
        """
        encoder.ready()
        with self._alone(), self._open() as base:
            if model is not None:
                self._keep(model)
            if self._about(base).get("key") != encoder.key:
                with base:
                    base.execute("delete from pictures")
            with base:
                told = {
                    "key": encoder.key,
                    "name": encoder.name,
                    "backbone": getattr(encoder, "backbone", None) or "",
                    "regions": str(getattr(encoder, "regions", 0)),
                    "own": str(int(model is None)),
                }
                base.executemany("insert or replace into about values (?, ?)", told.items())
            known = {
                name: (size, changed)
                for name, size, changed in base.execute("select name, size, changed from pictures")
            }
            there = dict(self._files())
            gone, new = set(known) - set(there), set(there) - set(known)
            changed = {name for name in set(known) & set(there) if known[name] != there[name]}
            with base:
                base.executemany("delete from pictures where name = ?", [(name,) for name in gone])
            wanted = sorted(new | changed)
            with bar(
                None,
                f"embedding {self.folder.name or self.folder}",
                progress,
                total=len(there),
                initial=len(there) - len(wanted),
                unit=" photos",
            ) as shown:
                for first in range(0, len(wanted), TOGETHER):
                    some = wanted[first : first + TOGETHER]
                    rows = []
                    for name in some:
                        rows.append((name, *there[name], *self._embedded(name, encoder)))
                        shown.update(1)
                    with base:
                        base.executemany("insert or replace into pictures values (?, ?, ?, ?, ?, ?)", rows)
            bad = [problem for (problem,) in base.execute("select problem from pictures where problem is not null")]
        return Update(len(new), len(changed), len(gone), len(there) - len(wanted), bad)

    def take(self, vectors: np.ndarray, names: list[str], source: str) -> None:
        """Vectors that were made elsewhere, a row for each of ``names`` (paths below the folder), instead of others.

        ``ValueError`` where they are no vectors, or a name is none of the folder's pictures.
        """
        there = dict(self._files())
        coded = [os.fsencode(name) for name in names]
        lost = [name for name, code in zip(names, coded, strict=True) if code not in there]
        if lost or len(set(coded)) != len(coded):
            what = f"{lost[0]!r} is no picture below {self.folder}" if lost else "a name stands there twice"
            raise ValueError(f"{source}: {what}; name each picture once, by its path from the folder")
        rows = unit(vectors, len(names), source).numpy()
        with self._alone(), self._open() as base, base:
            base.execute("delete from pictures")
            told = {"key": "embeddings", "name": Path(source).name, "backbone": "", "regions": "0", "own": "1"}
            base.executemany("insert or replace into about values (?, ?)", told.items())
            base.executemany(
                "insert into pictures values (?, ?, ?, ?, ?, ?)",
                [
                    (code, *there[code], taken(self.folder / name), None, _packed(row))
                    for name, code, row in zip(names, coded, rows, strict=True)
                ],
            )

    def encoder(self, own: object | None = None, **handed: str | None) -> Encoder:
        """The encoder that the album was made with; ``own``: that object, where it is one of the reader's.

        ``handed``: ``method``, ``backbone`` and ``teacher`` of one's own, as :func:`icrlib.load_model` takes them.
        """
        with self._open() as base:
            about = self._about(base)
        if own is not None:
            return Own(own, about["name"])
        if about["own"] == "1":
            raise ValueError(
                f"{self.place} was made with {about['name']}, which is not of this library; hand over "
                "what reads the captions, --encoder package.module:name"
            )
        return of_model(self.place / MODEL, about["name"], about["backbone"] or None, int(about["regions"]), **handed)

    def index(self, encoder: Encoder) -> Index:
        """All pictures that could be read, ready for queries; their captions are the dates when they were taken."""
        with self._open() as base:
            rows = base.execute("select name, taken, vector from pictures where vector is not null order by name")
            rows = rows.fetchall()  # a statement that is left open keeps the file locked
            found = [(self._own(name), when, _unpacked(vector)) for name, when, vector in rows]
        if not found:
            raise ValueError(f"{self.folder}: no picture is indexed yet; icr index {self.folder} does it")
        notes = {row: when for row, (_, when, _) in enumerate(found) if when}
        return Index(
            encoder,
            encoder.finish(np.stack([vector for *_, vector in found])),
            [str(self.folder / name) for name, *_ in found],
            notes=notes,
            within=self.folder,
        )

    def _own(self, name: bytes) -> str:
        """A picture's path from the folder. Indexing writes no other than that of a picture below it, so one that leads
        elsewhere was written by somebody: nothing of such an album is shown."""
        path = PurePath(os.fsdecode(name))
        if path.is_absolute() or not path.parts or any(part.startswith(".") or "\0" in part for part in path.parts):
            raise DamagedAlbum(
                f"{self.place / DATABASE}: names {str(path)!r}, which is no picture of this folder. Your pictures are "
                f"untouched: delete {self.place} and index them again"
            )
        return str(path)

    def names(self) -> list[str]:
        """The pictures below the folder by their path from it, in order."""
        return sorted(os.fsdecode(name) for name, _ in self._files())

    def _alone(self) -> contextlib.AbstractContextManager:
        return alone(self.place, "another process is indexing this folder; wait for it")

    @contextlib.contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        if not self.exists and not self.place.is_dir():
            raise FileNotFoundError(f"{self.folder}: no index here; icr index {self.folder} --model FOLDER makes one")
        base = sqlite3.connect(self.place / DATABASE)
        try:
            base.executescript(TABLES)
            yield base
        except sqlite3.DatabaseError as err:
            raise DamagedAlbum(
                f"{self.place / DATABASE}: damaged, or no album ({err}). Your pictures are untouched: "
                f"delete {self.place} and index them again"
            ) from err
        finally:
            base.close()

    def _about(self, base: sqlite3.Connection) -> dict[str, str]:
        return dict(base.execute("select name, value from about"))

    def _files(self) -> Iterator[tuple[bytes, tuple[int, int]]]:
        """Pictures below the folder by their path from it, as the system spells it, with size and time of change."""
        for top, folders, files in os.walk(self.folder):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for file in files:
                path = Path(top, file)
                if path.suffix.lower() in ENDINGS and not file.startswith("."):
                    with contextlib.suppress(OSError):  # gone meanwhile, or a link that leads nowhere
                        about = path.stat()
                        yield os.fsencode(path.relative_to(self.folder)), (about.st_size, about.st_mtime_ns)

    def _embedded(self, name: bytes, encoder: Encoder) -> tuple[str | None, str | None, bytes | None]:
        """When a picture was taken, what is wrong with it, and its vector."""
        path = self.folder / os.fsdecode(name)
        if not is_within(path, self.folder):
            return None, f"{path}: a link that leads out of the folder; put the picture itself there", None
        try:
            vector = encoder.pictures([path])[0]
        except (BadPicture, FileNotFoundError) as err:
            return None, str(err), None
        return taken(path), None, _packed(vector)

    def _keep(self, model: Path) -> None:
        """Copy the model, both files or none of them new: a search checks that they belong together."""
        fresh = self.place / f"{MODEL}.new"
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(parents=True)
        for file in ("model.json", "model.safetensors"):
            shutil.copyfile(model / file, fresh / file)
        shutil.rmtree(self.place / MODEL, ignore_errors=True)
        os.replace(fresh, self.place / MODEL)


def of_model(folder: Path, name: str, noted: str | None, regions: int = 0, **own: str | None) -> Trained:
    """A saved model as encoder. ``noted``: the network as a file names it; ``own``: the code that the caller hands
    over, ``method``, ``backbone`` and ``teacher``."""
    model, network = load_model(folder, **own), own.get("backbone")
    if isinstance(model, OnPictures):
        return Trained(model, name, key=f"model {sha256_of(folder / 'model.json')[:16]}")
    if noted:
        network = handed(folder, "backbone", noted, network, backbones.NAMES)
    return Trained(model, name, network, regions)


def _packed(vector: np.ndarray) -> bytes:
    """A vector, or the rows of regions, with its shape and type."""
    kind = "h" if vector.dtype == np.float16 else "f"
    return f"{kind}{','.join(map(str, vector.shape))}:".encode() + np.ascontiguousarray(vector).tobytes()


def _unpacked(raw: bytes) -> np.ndarray:
    head, _, body = raw.partition(b":")
    shape = tuple(map(int, head[1:].split(b",")))
    return np.frombuffer(body, np.float16 if head[:1] == b"h" else np.float32).reshape(shape)

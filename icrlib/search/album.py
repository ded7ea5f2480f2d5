"""An album: any folder of pictures, embedded once and kept up to date, in ``FOLDER/.icr``.

A small database holds for each picture its size and time of change, when it was taken, and what the network made of it.
Every few pictures are committed together, so a killed indexing goes on where it was, and the end is the same. Beside it
lies a copy of the model, so that a search needs nothing else.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath

import numpy as np
from PIL import Image

from icrlib.data import backbones
from icrlib.data.pictures import ENDINGS, BadPicture, taken
from icrlib.files import alone, is_within, sha256_of
from icrlib.models.on_pictures import OnPictures
from icrlib.names import handed
from icrlib.progress import bar
from icrlib.search import database
from icrlib.search.database import BusyAlbum, DamagedAlbum  # noqa: F401
from icrlib.search.encoders import Encoder, Own, Trained, unit
from icrlib.search.index import Index
from icrlib.training.saved import load_model

log = logging.getLogger(__name__)
PLACE, DATABASE, MODEL = ".icr", "album.sqlite", "model"
TOGETHER = 16  # pictures in a commit: a kill costs their seconds
PROBED = 64  # numbers of a probe picture that are kept
TIMES = -(2**63), 2**63 - 1  # nanoseconds that a database holds: from 1677 to 2262


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
    def model(self) -> Path:
        """Where the copy of the model lies, if it was one that embedded the pictures."""
        return self.place / MODEL

    @property
    def begun(self) -> bool:
        """Whether something has embedded pictures here; :meth:`encoder` is what."""
        if not os.path.lexists(self.place / DATABASE):
            return False
        with self._open() as base:
            return bool(self._about(base))

    def update(
        self,
        encoder: Encoder,
        model: Path | None = None,
        progress: bool = True,
        tell: Callable[[str], None] = log.warning,
    ) -> Update:
        """Embed what is new or has changed, and forget what is gone.

        ``model``: the folder of the trained model, which is copied; an encoder of one's own has to be handed over at
        each search. With another network than before, also one of the same name, all pictures are embedded again:
        ``tell`` is told so before. Which it is, two fixed pictures are asked.
        """
        encoder.ready()
        probe = _probe(encoder)
        with self._alone(), self._open(write=True) as base:
            if model is not None:
                self._keep(model)
            before = self._about(base)
            if before and not _same(before, encoder.key, probe):
                tell(
                    f"{self.place}: holds what {before['name']} made of the pictures; {encoder.name} makes something "
                    "else of them; all are embedded again"
                )
                with base:
                    base.execute("delete from pictures")
            with base:
                told = {
                    "key": encoder.key,
                    "name": encoder.name,
                    "backbone": getattr(encoder, "backbone", None) or "",
                    "regions": str(getattr(encoder, "regions", 0)),
                    "own": str(int(model is None)),
                    "probe": json.dumps(probe),
                }
                base.executemany("insert or replace into about values (?, ?)", told.items())
            asked = "select name, size, changed, problem is not null from pictures"
            known = {name: (size, changed) for name, size, changed, _ in base.execute(asked)}
            again = {name for name, *_, bad in base.execute(asked) if bad}  # a plug-in, a permission may have come
            closed: list[str] = []
            there = dict(self._files(closed))
            lost = {name for name in set(known) - set(there) if _below(name, closed)}  # not seen, which is not gone
            gone, new = set(known) - set(there) - lost, set(there) - set(known)
            changed = {name for name in set(known) & set(there) if known[name] != there[name]}
            with base:
                base.executemany("delete from pictures where name = ?", [(name,) for name in gone])
            wanted = sorted(new | changed | (again & set(there)))
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
                    found = self._embedded(some, encoder)
                    rows = [(name, *there[name], *about) for name, about in zip(some, found, strict=True)]
                    with base:
                        base.executemany("insert or replace into pictures values (?, ?, ?, ?, ?, ?)", rows)
                    shown.update(len(some))
            bad = [problem for (problem,) in base.execute("select problem from pictures where problem is not null")]
        bad += [
            f"{self.folder / name}: this folder cannot be listed; what was indexed of it is kept" for name in closed
        ]
        return Update(len(new), len(changed), len(gone), len(there) - len(new | changed), bad)

    def take(
        self,
        vectors: np.ndarray,
        names: list[str],
        source: str,
        listed: str = "",
        tell: Callable[[str], None] = log.warning,
    ) -> None:
        """Vectors that were made elsewhere, a row for each of ``names`` (paths below the folder), instead of others;
        ``tell`` is told whose they are, where there are others. ``source``, ``listed``: the files of both.

        ``ValueError`` where they are no vectors, or a name is none of the folder's pictures.
        """
        there = dict(self._files())
        coded = [os.fsencode(name) for name in names]
        lost = [name for name, code in zip(names, coded, strict=True) if code not in there]
        if lost or len(set(coded)) != len(coded):
            what = f"{lost[0]!r} is no picture below {self.folder}" if lost else "a name stands there twice"
            raise ValueError(f"{listed or source}: {what}; name each picture once, by its path from the folder")
        if np.ndim(vectors) and len(vectors) != len(names):
            raise ValueError(
                f"{listed or source}: {len(names):,} pictures for the {len(vectors):,} rows of {source}, so nobody "
                "knows whose row is which; give a row for each name"
            )
        rows = unit(vectors, len(names), source).numpy()
        with self._alone(), self._open(write=True) as base, base:
            before, (count,) = self._about(base), next(base.execute("select count(vector) from pictures"))
            if before and count:
                tell(f"{self.place}: what {before['name']} made of {count:,} pictures is replaced")
            base.execute("delete from pictures")
            base.execute("delete from about")  # nothing of another encoder, above all not its probe
            told = {"key": "embeddings", "name": Path(source).name, "backbone": "", "regions": "0", "own": "1"}
            base.executemany("insert or replace into about values (?, ?)", told.items())
            base.executemany(
                "insert into pictures values (?, ?, ?, ?, ?, ?)",
                [
                    (code, *there[code], taken(self.folder / name), None, database.packed(row))
                    for name, code, row in zip(names, coded, rows, strict=True)
                ],
            )

    def encoder(self, own: object | None = None, **handed: str | None) -> Encoder:
        """The encoder that the album was made with; ``own``: that object, where it is one of the reader's.

        ``handed``: ``method``, ``backbone`` and ``teacher`` of one's own, as :func:`icrlib.load_model` takes them.
        """
        with self._open() as base:
            about = self._about(base)
        if not about:
            raise FileNotFoundError(
                f"{self.folder}: nothing is indexed yet; icr index {self.folder} --model FOLDER does it"
            )
        if own is not None:
            return Own(own, about["name"])
        if about["own"] == "1":
            raise ValueError(
                f"{self.place} was made with {about['name']}, which is not of this library; hand over "
                "what reads the captions, --encoder package.module:name"
            )
        return of_model(self.model, about["name"], about["backbone"] or None, int(about["regions"]), **handed)

    def index(self, encoder: Encoder) -> Index:
        """All pictures that could be read, ready for queries; their captions are the dates when they were taken."""
        with self._open() as base:
            found = database.rows(base, self.place / DATABASE)
        if not found:
            raise ValueError(f"{self.folder}: no picture is indexed yet; icr index {self.folder} does it")
        return Index(
            encoder,
            encoder.finish(np.stack([row.vector for row in found])),
            [str(self.folder / row.name) for row in found],
            notes={number: row.taken for number, row in enumerate(found) if row.taken},
            within=self.folder,
        )

    def names(self) -> list[str]:
        """The pictures below the folder by their path from it, in order."""
        return sorted(os.fsdecode(name) for name, _ in self._files())

    def _alone(self) -> contextlib.AbstractContextManager:
        return alone(self.place, "another process is indexing this folder; wait for it")

    @contextlib.contextmanager
    def _open(self, write: bool = False) -> Iterator[sqlite3.Connection]:
        if not write and not os.path.lexists(self.place / DATABASE):
            raise FileNotFoundError(f"{self.folder}: no index here; icr index {self.folder} --model FOLDER makes one")
        with database.opened(self.place / DATABASE, write) as base:
            yield base

    def _about(self, base: sqlite3.Connection) -> dict[str, str]:
        return database.about(base, self.place / DATABASE)

    def _files(self, closed: list[str] | None = None) -> Iterator[tuple[bytes, tuple[int, int]]]:
        """Pictures below the folder by their path from it, as the system spells it, with size and time of change.

        ``closed``: to this the folders are added that cannot be listed.
        """

        def refused(err: OSError) -> None:
            if closed is not None and err.filename is not None:
                closed.append(os.path.relpath(os.fsdecode(err.filename), self.folder))

        for top, folders, files in os.walk(self.folder, onerror=refused):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for file in files:
                path = Path(top, file)
                if path.suffix.lower() in ENDINGS and not file.startswith("."):
                    with contextlib.suppress(OSError):  # gone meanwhile, or a link that leads nowhere
                        about = path.stat()
                        time = min(max(about.st_mtime_ns, TIMES[0]), TIMES[1])
                        yield os.fsencode(path.relative_to(self.folder)), (about.st_size, time)

    def _embedded(self, names: list[bytes], encoder: Encoder) -> list[tuple[str | None, str | None, bytes | None]]:
        """Of each picture: when it was taken, what is wrong with it, its vector."""
        paths = [self.folder / os.fsdecode(name) for name in names]
        found = self._vectors([path for path in paths if is_within(path, self.folder)], encoder)
        outside = "{}: a link that leads out of the folder; put the picture itself there"
        told = [found.get(path, outside.format(path)) for path in paths]
        return [
            (None, about, None) if isinstance(about, str) else (taken(path), None, database.packed(about))
            for path, about in zip(paths, told, strict=True)
        ]

    def _vectors(self, paths: list[Path], encoder: Encoder) -> dict[Path, np.ndarray | str]:
        """The vector of each picture, or what is wrong with it: all in one call, and each half where one is bad."""
        if not paths:
            return {}
        try:
            return dict(zip(paths, encoder.pictures(paths), strict=True))
        except (BadPicture, FileNotFoundError) as err:
            if len(paths) == 1:
                return {paths[0]: str(err)}
        half = len(paths) // 2
        return self._vectors(paths[:half], encoder) | self._vectors(paths[half:], encoder)

    def _keep(self, model: Path) -> None:
        """Copy the model, both files or none of them new: a search checks that they belong together."""
        fresh = self.place / f"{MODEL}.new"
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(parents=True)
        for file in ("model.json", "model.safetensors"):
            shutil.copyfile(model / file, fresh / file)
        shutil.rmtree(self.model, ignore_errors=True)
        os.replace(fresh, self.model)


def _probe(encoder: Encoder) -> dict:
    """What the encoder makes of two fixed pictures: the shape, and the first numbers of each."""
    ramp = np.arange(64, dtype=np.uint8) * 4
    across, down = np.broadcast_to(ramp[None], (64, 64)), np.broadcast_to(ramp[:, None], (64, 64))
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, f"{number}.png") for number in (0, 1)]
        for file, bands in zip(files, ((across, down, 255 - across), (down // 2, 255 - down, across)), strict=True):
            Image.fromarray(np.stack(bands, 2)).save(file)
        found = np.asarray(encoder.pictures(files), np.float64).reshape(2, -1)
    return {"size": found.shape[1], "numbers": [[float(f"{x:.5g}") for x in row[:PROBED]] for row in found]}


def _same(about: dict[str, str], key: str, probe: dict) -> bool:
    """Whether the album was made by what makes ``probe``; one of an earlier version says its ``key`` only."""
    try:
        was = json.loads(about["probe"])
        old, new = (np.array(one["numbers"], float) for one in (was, probe))
        return was["size"] == probe["size"] and bool(np.linalg.norm(old - new) <= 0.01 * np.linalg.norm(old))
    except KeyError:
        return about.get("key") == key
    except (ValueError, TypeError):
        return False


def _below(name: bytes, folders: list[str]) -> bool:
    path = PurePath(os.fsdecode(name))
    return any(path.is_relative_to(folder) for folder in folders)


def of_model(folder: Path, name: str, noted: str | None, regions: int = 0, **own: str | None) -> Trained:
    """A saved model as encoder. ``noted``: the network as a file names it; ``own``: the code that the caller hands
    over, ``method``, ``backbone`` and ``teacher``."""
    model, network = load_model(folder, **own), own.get("backbone")
    if isinstance(model, OnPictures):
        return Trained(model, name, key=f"model {sha256_of(folder / 'model.json')[:16]}")
    if noted:
        network = handed(folder, "backbone", noted, network, backbones.NAMES)
    return Trained(model, name, network, regions)

"""An album: any folder of pictures, embedded once and kept up to date, in ``FOLDER/.icr``.

``album.npz`` there holds what the encoder made of each picture, with its name, size, time of change, and when it was
taken. Beside it lies a copy of the model, so that a search needs nothing else.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import shutil
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import NamedTuple

import numpy as np

from icrlib.data import backbones
from icrlib.data.pictures import ENDINGS, BadPicture, taken
from icrlib.files import alone, atomic_path, is_within, sha256_of
from icrlib.models.on_pictures import OnPictures
from icrlib.names import handed
from icrlib.progress import bar
from icrlib.search.encoders import Encoder, Own, Trained, unit
from icrlib.search.index import Index
from icrlib.training.saved import load_model

log = logging.getLogger(__name__)
PLACE, FILE, MODEL = ".icr", "album.npz", "model"
TOGETHER = 16  # pictures that an encoder gets at once
EVERY = 60  # seconds between two writes: what a killed indexing has to do again


class Row(NamedTuple):
    """A picture: its size in bytes and time of change (nanoseconds), when it was taken, and what was made of it."""

    size: int
    changed: int
    taken: str
    vector: np.ndarray


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
        self.model = self.place / MODEL  # the copy, if it was a model that embedded the pictures

    @property
    def begun(self) -> bool:
        """Whether something has embedded pictures here; :meth:`encoder` is what."""
        return (self.place / FILE).is_file()

    def update(
        self,
        encoder: Encoder,
        model: Path | None = None,
        progress: bool = True,
        tell: Callable[[str], None] = log.warning,
    ) -> Update:
        """Embed what is new or has changed, and forget what is gone.

        ``model``: the folder of the trained model, which is copied; an encoder of one's own has to be handed over at
        each search. With another encoder than before all pictures are embedded again: ``tell`` is told so before.
        """
        encoder.ready()
        with alone(self.place, "another process is indexing this folder; wait for it"):
            if model is not None:
                self._keep(model)
            before, known = self._read() if self.begun else ({}, {})
            if before and before["key"] != encoder.key:
                tell(
                    f"{self.place}: holds what {before['name']} made of the pictures; {encoder.name} makes something "
                    "else of them; all are embedded again"
                )
                known = {}
            about = {
                "key": encoder.key,
                "name": encoder.name,
                "backbone": getattr(encoder, "backbone", None) or "",
                "regions": getattr(encoder, "regions", 0),
                "own": model is None,
            }
            closed: list[str] = []
            there = dict(self._files(closed))
            unseen = {name for name in set(known) - set(there) if _below(name, closed)}  # which is not gone
            held = {
                name: row for name, row in known.items() if name in unseen or there.get(name) == (row.size, row.changed)
            }
            wanted, problems = sorted(set(there) - set(held)), []
            title, done = f"embedding {self.folder.name or self.folder}", len(there) - len(wanted)
            written = time.monotonic()
            with bar(None, title, progress, total=len(there), initial=done, unit=" photos") as shown:
                for first in range(0, len(wanted), TOGETHER):
                    some = wanted[first : first + TOGETHER]
                    for name, found in self._embedded(some, encoder).items():
                        if isinstance(found, str):
                            problems.append(found)
                        else:
                            held[name] = Row(*there[name], taken(self.folder / name) or "", found)
                    shown.update(len(some))
                    if time.monotonic() - written > EVERY:
                        self._write(about, held)
                        written = time.monotonic()
            self._write(about, held)
        problems += [f"{self.folder / name}: this folder cannot be listed; what it held is kept" for name in closed]
        new, gone = len(set(there) - set(known)), len(set(known) - set(there) - unseen)
        changed = sum(name in there and there[name] != (row.size, row.changed) for name, row in known.items())
        return Update(new, changed, gone, len(there) - new - changed, problems)

    def take(
        self, vectors: np.ndarray, names: list[str], source: str, tell: Callable[[str], None] = log.warning
    ) -> None:
        """Vectors that were made elsewhere, a row for each of ``names`` (paths below the folder), instead of others;
        ``tell`` is told whose they are, where there are others. ``source``: the file that they are from.

        ``ValueError`` where they are no vectors, or a name is none of the folder's pictures.
        """
        there = dict(self._files())
        lost = [name for name in names if name not in there]
        if lost or len(set(names)) != len(names):
            what = f"{lost[0]!r} is no picture below {self.folder}" if lost else "a name stands there twice"
            raise ValueError(f"{source}: {what}; name each picture once, by its path from the folder")
        if np.ndim(vectors) and len(vectors) != len(names):
            raise ValueError(
                f"{source}: {len(vectors):,} rows for {len(names):,} pictures, so nobody knows whose row is which; "
                "give a row for each name"
            )
        rows = unit(vectors, len(names), source).numpy()
        with alone(self.place, "another process is indexing this folder; wait for it"):
            before, known = self._read() if self.begun else ({}, {})
            if known:
                tell(f"{self.place}: what {before['name']} made of {len(known):,} pictures is replaced")
            about = {"key": "embeddings", "name": Path(source).name, "backbone": "", "regions": 0, "own": True}
            held = zip(names, rows, strict=True)
            self._write(about, {n: Row(*there[n], taken(self.folder / n) or "", row) for n, row in held})

    def encoder(self, own: object | None = None, **handed: str | None) -> Encoder:
        """The encoder that the album was made with; ``own``: that object, where it is one of the reader's.

        ``handed``: ``method``, ``backbone`` and ``teacher`` of one's own, as :func:`icrlib.load_model` takes them.
        """
        about, _ = self._read()
        if own is not None:
            return Own(own, about["name"])
        if about["own"]:
            raise ValueError(
                f"{self.place} was made with {about['name']}, which is not of this library; hand over "
                "what reads the captions, --encoder package.module:name"
            )
        return of_model(self.model, about["name"], about["backbone"] or None, about["regions"], **handed)

    def index(self, encoder: Encoder) -> Index:
        """All pictures that could be read, ready for queries; their captions are the dates when they were taken."""
        held = sorted(self._read()[1].items())
        if not held:
            raise ValueError(f"{self.folder}: no picture is indexed yet; icr index {self.folder} does it")
        return Index(
            encoder,
            encoder.finish(np.stack([row.vector for _, row in held])),
            [str(self.folder / name) for name, _ in held],
            notes={number: row.taken for number, (_, row) in enumerate(held) if row.taken},
        )

    def names(self) -> list[str]:
        """The pictures below the folder by their path from it, in order."""
        return sorted(name for name, _ in self._files())

    def _read(self) -> tuple[dict, dict[str, Row]]:
        """What the album is made of, and its pictures by their path from the folder."""
        path = self.place / FILE
        if not path.is_file():
            raise FileNotFoundError(f"{self.folder}: no index here; icr index {self.folder} --model FOLDER makes one")
        try:
            with np.load(path, allow_pickle=False) as held:
                about = json.loads(str(held["about"]))
                names, *columns = (held[name].tolist() for name in ("names", "sizes", "times", "taken"))
                if strange := [name for name in names if PurePath(name).is_absolute() or ".." in PurePath(name).parts]:
                    raise ValueError(f"{strange[0]!r} is no picture of this folder")
                rows = map(Row, *columns, held["vectors"])
                return dict(about), dict(zip(names, rows, strict=True))
        except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as err:
            raise ValueError(f"{path}: damaged ({err}); delete it, and icr index {self.folder} makes it anew") from err

    def _write(self, about: dict, held: dict[str, Row]) -> None:
        with atomic_path(self.place / FILE) as temporary, open(temporary, "wb") as file:
            np.savez(
                file,
                about=json.dumps(about),
                names=np.array(list(held), str),
                sizes=np.array([row.size for row in held.values()], np.int64),
                times=np.array([row.changed for row in held.values()], np.int64),
                taken=np.array([row.taken for row in held.values()], str),
                vectors=np.array([row.vector for row in held.values()]),
            )

    def _files(self, closed: list[str] | None = None) -> Iterator[tuple[str, tuple[int, int]]]:
        """Pictures below the folder by their path from it, with size and time of change.

        ``closed``: to this the folders are added that cannot be listed.
        """

        def refused(err: OSError) -> None:
            if closed is not None and err.filename is not None:
                closed.append(os.path.relpath(err.filename, self.folder))

        for top, folders, files in os.walk(self.folder, onerror=refused):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for file in files:
                path = Path(top, file)
                if path.suffix.lower() in ENDINGS and not file.startswith("."):
                    with contextlib.suppress(OSError):  # gone meanwhile, or a link that leads nowhere
                        about = path.stat()
                        yield str(path.relative_to(self.folder)), (about.st_size, about.st_mtime_ns)

    def _embedded(self, names: list[str], encoder: Encoder) -> dict[str, np.ndarray | str]:
        """The vector of each picture, or what is wrong with it: all in one call, and each half where one is bad."""
        paths = [self.folder / name for name in names]
        if len(names) == 1 and not is_within(paths[0], self.folder):
            return {names[0]: f"{paths[0]}: a link that leads out of the folder; put the picture itself there"}
        if all(is_within(path, self.folder) for path in paths):
            try:
                return dict(zip(names, encoder.pictures(paths), strict=True))
            except (BadPicture, FileNotFoundError) as err:
                if len(names) == 1:
                    return {names[0]: str(err)}
        half = len(names) // 2
        return self._embedded(names[:half], encoder) | self._embedded(names[half:], encoder)

    def _keep(self, model: Path) -> None:
        """Copy the model, both files or none of them new: a search checks that they belong together."""
        if model.resolve() == self.model.resolve():
            return
        fresh = self.place / f"{MODEL}.new"
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(parents=True)
        for file in ("model.json", "model.safetensors"):
            shutil.copyfile(model / file, fresh / file)
        shutil.rmtree(self.model, ignore_errors=True)
        os.replace(fresh, self.model)


def _below(name: str, folders: list[str]) -> bool:
    return any(PurePath(name).is_relative_to(folder) for folder in folders)


def of_model(folder: Path, name: str, noted: str | None, regions: int = 0, **own: str | None) -> Trained:
    """A saved model as encoder. ``noted``: the network as a file names it; ``own``: the code that the caller hands
    over, ``method``, ``backbone`` and ``teacher``."""
    model, network = load_model(folder, **own), own.get("backbone")
    if isinstance(model, OnPictures):
        return Trained(model, name, key=f"model {sha256_of(folder / 'model.json')[:16]}")
    if noted:
        network = handed(folder, "backbone", noted, network, backbones.NAMES)
    return Trained(model, name, network, regions)

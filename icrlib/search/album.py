"""An album: any folder of pictures, embedded once and kept up to date, in ``FOLDER/.icr``.

``album.npz`` there holds what the encoder made of each picture, with its name, size and time of change. Beside it lies
a copy of the model, so that a search needs nothing else.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
import zipfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from icrlib.data import backbones
from icrlib.data.pictures import ENDINGS, BadPicture
from icrlib.files import alone, atomic_path, sha256_of, write_bytes
from icrlib.models.on_pictures import OnPictures
from icrlib.names import handed
from icrlib.progress import bar
from icrlib.search.encoders import TOGETHER, Encoder, Own, Trained
from icrlib.search.index import Index
from icrlib.training.saved import load_model

PLACE, FILE, MODEL = ".icr", "album.npz", "model"
EVERY = 60  # seconds between two writes: what a killed indexing has to do again


class Row(NamedTuple):
    """An indexed picture: its size in bytes and time of change in nanoseconds; and what the encoder made of it."""

    state: tuple[int, int]
    vector: np.ndarray


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
        self, encoder: Encoder, model: Path | None = None, progress: bool = True
    ) -> tuple[dict[str, int], list[str]]:
        """Embed what is new or has changed, and forget what is gone: how many of each, and what cannot be read.

        ``model``: the folder of the trained model, which is copied; an encoder of one's own has to be handed over at
        each search. With another encoder than before all pictures are embedded again.
        """
        encoder.ready()
        with alone(self.place, "another process is indexing this folder; wait for it"):
            before, known = self._read() if self.begun else ({}, {})
            if before.get("key") != encoder.key:
                known = {}
            files, problems = self._files()
            rows = {name: row for name, row in known.items() if files.get(name) == row.state}
            todo, written = sorted(files.keys() - rows.keys()), time.monotonic()
            title = f"embedding {self.folder.name or self.folder}"
            for first in bar(range(0, len(todo), TOGETHER), title, progress, unit=" photos", unit_scale=TOGETHER):
                vectors = self._vectors(todo[first : first + TOGETHER], encoder, problems)
                rows |= {name: Row(files[name], vector) for name, vector in vectors.items()}
                if len({row.vector.shape for row in rows.values()}) > 1:
                    raise ValueError(f"{encoder.name} is not as it was when it made {self.place / FILE}; delete that")
                if time.monotonic() - written > EVERY:
                    self._write(encoder, model, rows)
                    written = time.monotonic()
            self._write(encoder, model, rows)
        changed = sum(name in rows and rows[name].state != row.state for name, row in known.items())
        new, gone = len(rows.keys() - known.keys()), len(known.keys() - files.keys())
        return {"new": new, "changed": changed, "gone": gone, "as before": len(rows) - new - changed}, problems

    def encoder(self, own: object | None = None, name: str = "", **handed: str | None) -> Encoder:
        """The encoder that the album was made with; ``own``: that object, where it is one of the reader's, of ``name``.

        ``handed``: ``method``, ``backbone`` and ``teacher`` of one's own, as :func:`icrlib.load_model` takes them.
        """
        about, _ = self._read()
        if own is not None and about["own"] and name in ("", about["name"]):
            return Own(own, about["name"])
        if about["own"] or own is not None:
            way = "hand over that, --encoder package.module:name" if about["own"] else "leave out --encoder"
            raise ValueError(f"{self.place} was made with {about['name']}: {way}")
        return of_model(self.model, about["name"], about["backbone"] or None, about["regions"], **handed)

    def index(self, encoder: Encoder) -> Index:
        """All pictures that could be read, ready for queries."""
        rows = sorted(self._read()[1].items())
        if not rows:
            raise ValueError(f"{self.folder}: no picture is indexed yet; icr index {self.folder} does it")
        vectors = np.stack([row.vector for _, row in rows])
        return Index(encoder, encoder.finish(vectors), [str(self.folder / name) for name, _ in rows])

    def _files(self) -> tuple[dict[str, tuple[int, int]], list[str]]:
        """Size and time of the pictures below the folder by their path from it; and folders that cannot be listed."""
        states, problems = {}, []
        for top, folders, files in os.walk(self.folder, onerror=lambda err: problems.append(str(err))):
            folders[:] = [name for name in folders if not name.startswith(".")]
            for file in files:
                path = Path(top, file)
                if path.suffix.lower() in ENDINGS and not file.startswith("."):
                    with contextlib.suppress(OSError):  # gone meanwhile, or a link that leads nowhere
                        about = path.stat()
                        states[str(path.relative_to(self.folder))] = (about.st_size, about.st_mtime_ns)
        return states, problems

    def _vectors(self, names: list[str], encoder: Encoder, problems: list[str]) -> dict[str, np.ndarray]:
        """The vector of each picture: all in one call, or each in its own where one is bad, which is a problem."""
        try:
            return dict(zip(names, encoder.pictures([self.folder / name for name in names]), strict=True))
        except (BadPicture, FileNotFoundError) as err:
            if len(names) == 1:
                problems.append(str(err))
                return {}
        return {key: vector for name in names for key, vector in self._vectors([name], encoder, problems).items()}

    def _read(self) -> tuple[dict, dict[str, Row]]:
        """What the album is made of, and its pictures by their path from the folder."""
        path = self.place / FILE
        if not path.is_file():
            raise FileNotFoundError(f"{self.folder}: no index here; icr index {self.folder} --model FOLDER makes one")
        try:
            with np.load(path, allow_pickle=False) as file:
                about = json.loads(str(file["about"]))
                names, sizes, times = (file[column].tolist() for column in ("names", "sizes", "times"))
                rows = map(Row, zip(sizes, times, strict=True), file["vectors"])
                return about, dict(zip(names, rows, strict=True))
        except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as err:
            raise ValueError(f"{path}: damaged ({err}); delete it, and index anew with what made it") from err

    def _write(self, encoder: Encoder, model: Path | None, rows: dict[str, Row]) -> None:
        if model is not None and model.resolve() != self.model.resolve():
            if self.begun and self._read()[0]["key"] != encoder.key:
                (self.place / FILE).unlink()  # never a new model beside old vectors
            for file in ("model.json", "model.safetensors"):
                write_bytes(self.model / file, (model / file).read_bytes())
        about = {"key": encoder.key, "name": encoder.name, "own": model is None}
        about |= {"backbone": getattr(encoder, "backbone", ""), "regions": getattr(encoder, "regions", 0)}
        path, vectors = self.place / FILE, [row.vector for row in rows.values()]
        states = np.array([row.state for row in rows.values()], np.int64).reshape(-1, 2)
        columns = {"names": np.array(list(rows), str), "sizes": states[:, 0], "times": states[:, 1]}
        with atomic_path(path) as temporary, open(temporary, "wb") as file:
            np.savez(file, about=json.dumps(about), **columns, vectors=np.array(vectors))


def of_model(folder: Path, name: str, noted: str | None, regions: int = 0, **own: str | None) -> Trained:
    """A saved model as encoder. ``noted``: the network as a file names it; ``own``: the code that the caller hands
    over, ``method``, ``backbone`` and ``teacher``."""
    model, network = load_model(folder, **own), own.get("backbone")
    if isinstance(model, OnPictures):
        return Trained(model, name, key=f"model {sha256_of(folder / 'model.json')[:16]}")
    if noted:
        network = handed(folder, "backbone", noted, network, backbones.NAMES)
    return Trained(model, name, network, regions)

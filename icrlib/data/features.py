"""Photos once through a frozen network, into a folder of features that `load_dataset` reads.

What the folder holds: :mod:`icrlib.data.precomputed`. It is never half of two: ``features.json`` is written before all
other files, as unfinished, and again at the end. Finished parts of the work are kept in its ``.parts/``: a killed
extraction goes on where it was.
"""

from __future__ import annotations

import json
import os
import shutil
from concurrent.futures import Executor, ThreadPoolExecutor
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from icrlib import devices
from icrlib.data import backbones, karpathy
from icrlib.data.cache import array_bytes, read_arrays, write_arrays
from icrlib.data.pictures import BadPicture, open_picture
from icrlib.data.precomputed import MARK, PARTS, REST, UNFINISHED, noted
from icrlib.errors import at_least
from icrlib.files import alone, sha256_of, write_bytes
from icrlib.progress import bar

BATCH = {"cpu": 4, "cuda": 32}  # on a CPU larger ones outgrow its cache, and a photo takes up to four times as long
PART = 256  # photos in a part, so that a kill costs seconds


class OtherFeatures(ValueError):
    """The folder holds features of other photos, captions or another network."""


def extract(
    root: str | os.PathLike,
    folder: str | os.PathLike,
    *,
    backbone: str = "resnet50",
    regions: int = 0,
    skip_bad: bool = False,
    device: str = "auto",
    workers: int = 4,
    progress: bool = True,
) -> Path:
    """Features of all photos of ``root`` (Karpathy's format) into ``folder``; returns it.

    ``backbone``: a name of :func:`icrlib.data.backbones.load`. ``regions=c``: c × c grid cells instead of one pooled
    vector. float16, in the order of the JSON. Done work is not repeated. Photos that cannot be decoded are collected
    and named together in one :class:`BadPicture`, after all others; ``skip_bad`` leaves them out. A folder that
    holds features of other photos or captions, or by another network, is a ``ValueError``.
    """
    at_least("regions", regions, 0)
    at_least("workers", workers, 1)
    folder, splits = Path(folder), karpathy.read(root, complete=False)
    plans = [_key(split.files, backbone, regions) for split in splits.values()]
    key = sha256_of(*plans, *(repr((split.ids, split.captions)) for split in splits.values()))[:16]
    # The backbone under the name that was asked for: a network of one's own is found again by it alone.
    about = {"root": Path(root).name, "backbone": backbone, "regions": regions, "key": key}
    if _ready(folder, key, skip_bad):
        return folder
    with alone(folder, "another process is computing features here; wait for it, or choose another folder"):
        if not _ready(folder, key, skip_bad):  # that process may have left before we came in
            work = _Work(folder, about, devices.device(device), workers, progress)
            work.finish(splits, skip_bad)
    return folder


def _key(files: list[Path], backbone: str, regions: int) -> str:
    """A hash of what decides the features: the network, the layout and the pictures' names, sizes and times."""
    stats = [file.stat() if file.is_file() else None for file in files]
    known = [(f.name, s.st_size, s.st_mtime_ns) if s else (f.name, 0, 0) for f, s in zip(files, stats, strict=True)]
    return sha256_of(json.dumps([backbone, regions, known]))[:16]


class _Work:
    """The parts of the work that ``about`` describes, those that lie in ``folder`` and those still to be computed."""

    def __init__(self, folder: Path, about: dict, device: str, workers: int, progress: bool) -> None:
        self.folder, self.about, self.device, self.workers, self.progress = folder, about, device, workers, progress
        self.network = backbones.load(about["backbone"], device)

    def finish(self, splits: dict[str, karpathy.Photos], skip_bad: bool) -> None:
        """Compute what is missing and write the folder; :class:`BadPicture`."""
        parts = {name: self._parts(name, split.files, skip_bad) for name, split in splits.items() if len(split)}
        bad = [str(message) for some in parts.values() for part in some for message in part["bad"]]
        if bad and not skip_bad:
            listed = "\n  ".join(bad[:20]) + (f"\n  … and {len(bad) - 20} more" if len(bad) > 20 else "")
            raise BadPicture(
                f"{len(bad)} photos cannot be used:\n  {listed}\nMend them, or leave them out with --skip-bad "
                "(skip_bad=True). The features of the others are kept; run this again."
            )
        features_of = {}
        for name, some in parts.items():
            kept = np.concatenate([part["kept"] for part in some])
            if not len(kept):
                raise BadPicture(f"no usable photo is left in {name!r}; mend some of its photos")
            features_of[name] = kept, np.concatenate([part["features"] for part in some if len(part["kept"])])
        _replace(self.folder, splits, features_of, self.about | {"left_out": len(bad)})
        shutil.rmtree(self.folder / ".parts", ignore_errors=True)

    def _parts(self, name: str, files: list[Path], skip_bad: bool) -> list[dict]:
        """All parts of one split: those that are kept, and those that are missing, or had bad photos, computed now."""
        made = []
        with (
            ThreadPoolExecutor(self.workers) as pool,
            bar(None, f"{self.network.name}: {name}", self.progress, total=len(files), unit=" photos") as counter,
        ):
            for start in range(0, len(files), PART):
                some = files[start : start + PART]
                key = _key(some, self.about["backbone"], self.about["regions"])
                path = self.folder / ".parts" / f"{name}-{start:07d}-{key}.npz"
                part = read_arrays(path)
                if part is None or len(part["bad"]) and not skip_bad:
                    part = self._compute(start, some, pool)
                    write_arrays(path, part)
                made.append(part)
                counter.update(len(some))
        return made

    def _compute(self, start: int, files: list[Path], pool: Executor) -> dict:
        """Features of some files, float16; ``kept``: the numbers of those that could be read, from ``start`` on.

        Threads decode the next pictures while the network works on a batch.
        """
        size = BATCH.get(self.device.partition(":")[0], 32)
        prepared = enumerate(pool.map(self._prepared, files), start)
        kept, bad, rows = [], [], []
        while batch := list(islice(prepared, size)):
            pictures = {number: one for number, one in batch if isinstance(one, Tensor)}
            bad += [one for _, one in batch if isinstance(one, str)]
            if pictures:
                values = self.network(torch.stack(list(pictures.values())).to(self.device), self.about["regions"])
                rows.append(values.cpu().numpy().astype(np.float16))
                kept += pictures
        features = np.concatenate(rows) if rows else np.zeros((0, 1), np.float16)
        return {"features": features, "kept": np.array(kept, dtype=np.int64), "bad": np.array(bad, dtype=np.str_)}

    def _prepared(self, file: Path) -> Tensor | str:
        """The picture as the network takes it, or what is wrong with it."""
        try:
            return self.network.prepare(open_picture(file))
        except (BadPicture, FileNotFoundError) as err:
            return str(err)


def _ready(folder: Path, key: str, skip_bad: bool) -> bool:
    """Whether the folder is finished, with as many photos left out as allowed, or is still to be filled.

    :class:`OtherFeatures` where it holds features that were not made with this ``key``: they are not written over.
    """
    about = noted(folder)
    if about is None and not any(folder.glob("*_ims.npy")):
        return False
    if about is None or about["key"] != key:
        raise OtherFeatures(
            f"{folder} holds features of other photos, captions or another network. Choose another folder, or remove it"
        )
    complete = all((folder / f"{part}_ims.npy").is_file() for part in about.get("photos", PARTS.values()))
    return complete and not about.get(UNFINISHED) and (skip_bad or not about.get("left_out"))


def _replace(
    folder: Path, splits: dict[str, karpathy.Photos], features_of: dict[str, tuple[np.ndarray, np.ndarray]], about: dict
) -> None:
    """Write all files, from the mark that says "unfinished" to the one that does not.

    ``features_of``: of each split the numbers of the photos that are kept, and their features. Whatever ends this in
    between leaves a folder that is refused by name, and finished by the same command.
    """
    write_bytes(folder / MARK, json.dumps(about | {UNFINISHED: True}, indent=1).encode())
    rest, left, photos = karpathy.Photos(), [], {}
    for name, (kept, features) in features_of.items():
        split = splits[name]
        captioned = np.array([any(text.split() for text in split.captions[i]) for i in kept], dtype=bool)
        _write_part(folder, PARTS[name], split, kept[captioned], features[captioned])
        photos[PARTS[name]] = int(captioned.sum())
        for i in kept[~captioned]:
            rest.files.append(split.files[i])
            rest.ids.append(split.ids[i])
            rest.captions.append([])
        left.append(features[~captioned])
    _write_part(folder, REST, rest, np.arange(len(rest)), np.concatenate(left))
    photos = {part: count for part, count in (photos | {REST: len(rest)}).items() if count}
    write_bytes(folder / MARK, json.dumps(about | {"photos": photos}, indent=1).encode())


def _write_part(folder: Path, part: str, split: karpathy.Photos, kept: np.ndarray, features: np.ndarray) -> None:
    """The files of one split, or none where no photo is left in it.

    Each image's captions stand together; ids, one a caption line, say whose they are. Without captions: one an image.
    """
    if not len(kept):
        return
    lines = [(split.ids[i], text) for i in kept for text in split.captions[i] if text.split()]
    write_bytes(folder / f"{part}_ims.npy", array_bytes(features))
    texts = {
        "files": [os.path.abspath(split.files[i]) for i in kept],
        "ids": [i for i, _ in lines] or [split.ids[i] for i in kept],
        "caps": [text for _, text in lines],
    }
    for end, some in texts.items():
        if some:
            write_bytes(folder / f"{part}_{end}.txt", ("\n".join(some) + "\n").encode())

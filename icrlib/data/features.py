"""Photos once through a frozen network, into a folder of features that `load_dataset` reads.

What the folder holds: :mod:`icrlib.data.feature_folder`. Finished parts of the work are kept in its ``.parts/``: a
killed extraction goes on where it was.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from icrlib import devices
from icrlib.data import backbones, feature_folder, karpathy
from icrlib.data.cache import arrays_of, read_arrays, write_arrays
from icrlib.data.pictures import BadPicture, one_ahead, open_picture
from icrlib.errors import at_least
from icrlib.files import alone, sha256_of
from icrlib.progress import bar

BATCH = {"cpu": 4, "cuda": 32}  # on a CPU larger ones outgrow its cache, and a photo takes up to four times as long
PART = 256  # photos in a part, so that a kill costs seconds


class BadPhotos(ValueError):
    """Some photos cannot be used. The work on the others is kept."""


@dataclass(frozen=True)
class Plan:
    """What decides the features: the network, the layout and the pictures' names, sizes and times."""

    backbone: str
    cells: int
    files: tuple[Path, ...]

    def key(self) -> str:
        """A hash that changes with any of them."""
        there = [(f, f.stat() if f.is_file() else None) for f in self.files]
        known = [(f.name, s.st_size, s.st_mtime_ns) if s else (f.name, 0, 0) for f, s in there]
        return sha256_of(json.dumps([self.backbone, self.cells, known]))[:16]


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
    force: bool = False,
) -> Path:
    """Features of all photos of ``root`` (Karpathy's format) into ``folder``; returns it.

    ``backbone``: a name of :func:`icrlib.data.backbones.load`. ``regions=c``: c × c grid cells instead of one pooled
    vector. float16, in the order of the JSON. Done work is not repeated unless the photos or
    captions change. Photos that cannot be decoded are collected and named together in one :class:`BadPhotos`, after all
    others are done; ``skip_bad`` leaves them out.

    Earlier features of the same photos, network and layout are replaced where photos or captions have changed since;
    any other features in ``folder`` are a ``ValueError``, unless ``force`` says that they may go.
    """
    if isinstance(regions, bool) or regions < 0:
        raise ValueError(f"regions must be 0 (pooled) or the cells a side, such as 4; got {regions!r}")
    at_least("workers", workers, 1)
    folder, splits = Path(folder), karpathy.read(root, whole=False)
    about = {
        "root": Path(root).name,
        "place": sha256_of(str(Path(root).resolve()))[:16],
        "backbone": backbone,
        "regions": regions,
        "key": _key(splits, backbone, regions),
    }
    if feature_folder.done(folder, about["key"], skip_bad):
        return folder
    with alone(folder, "another process is computing features here; wait for it, or choose another folder"):
        if not force:
            feature_folder.refuse_others(folder, about)
        _extract(splits, folder, skip_bad, devices.device(device), workers, progress, about)
    return folder


def _extract(
    splits: dict[str, karpathy.Photos],
    folder: Path,
    skip_bad: bool,
    device: str,
    workers: int,
    progress: bool,
    about: dict,
) -> None:
    network = backbones.load(about["backbone"], device)
    bad: list[str] = []
    done = {}
    for name, split in splits.items():
        if not len(split):
            continue
        # Under the name that was asked for: a network of one's own is found again by it alone.
        parts = _parts(
            folder, name, split.files, about["backbone"], network, about["regions"], device, workers, progress
        )
        kept = np.concatenate([part["kept"] for part in parts])
        bad += [str(message) for part in parts for message in part["bad"]]
        done[name] = kept, parts
    if bad and not skip_bad:
        listed = "\n  ".join(bad[:20]) + (f"\n  … and {len(bad) - 20} more" if len(bad) > 20 else "")
        raise BadPhotos(
            f"{len(bad)} photos cannot be used:\n  {listed}\nMend them, or leave them out with --skip-bad "
            "(skip_bad=True). The features of the others are kept; run this again."
        )
    for name, (kept, _) in done.items():
        if not len(kept):
            raise BadPhotos(f"no usable photo is left in {name!r}; mend some of its photos")
    found = {
        name: (kept, np.concatenate([part["features"] for part in parts if len(part["kept"])]))
        for name, (kept, parts) in done.items()
    }
    feature_folder.replace(folder, splits, found, about | {"left_out": len(bad)})
    shutil.rmtree(folder / ".parts", ignore_errors=True)


def _key(splits: dict[str, karpathy.Photos], backbone: str, regions: int) -> str:
    """A hash of everything that decides what the folder holds."""
    plans = [Plan(backbone, regions, tuple(split.files)).key() for split in splits.values()]
    return sha256_of(*plans, *(repr((split.ids, split.captions)) for split in splits.values()))[:16]


def _parts(
    folder: Path,
    name: str,
    files: list[Path],
    backbone: str,
    network: backbones.Backbone,
    regions: int,
    device: str,
    workers: int,
    progress: bool,
) -> list[dict]:
    """All parts of one split: those that are there, and those that are missing computed now.

    The bar counts photos, batch by batch. Those of parts that are there count from the start and not for its rate.
    """
    parts = {start: files[start : start + PART] for start in range(0, len(files), PART)}
    keys = {start: Plan(backbone, regions, tuple(some)).key() for start, some in parts.items()}
    paths = {start: folder / ".parts" / f"{name}-{start:07d}-{key}.npz" for start, key in keys.items()}
    found = {start: read_arrays(path, "these features", "computing them") for start, path in paths.items()}
    missing = [start for start, part in found.items() if part is None]
    there = len(files) - sum(len(parts[start]) for start in missing)
    said = f"{network.name}: {name}"
    with (
        ThreadPoolExecutor(workers) as pool,
        bar(None, said, progress, total=len(files), initial=there, unit=" photos") as shown,
    ):
        for start in missing:
            made = _compute(start, parts[start], network, regions, device, pool, shown.update)
            write_arrays(paths[start], made)
            found[start] = arrays_of(paths[start])
    return list(found.values())


def _compute(
    start: int,
    files: list[Path],
    network: backbones.Backbone,
    regions: int,
    device: str,
    pool: Executor,
    count: Callable[[int], object],
) -> dict:
    """Features of some files, float16; ``kept``: the numbers of those that could be read.

    ``count`` is told the number of photos of each batch when it is done, bad ones included.
    """
    kept, bad, rows = [], [], []
    for numbers, pictures, messages in _batches(start, files, network, BATCH.get(device.partition(":")[0], 32), pool):
        bad += messages
        if pictures:
            found = network(torch.stack(pictures).to(device), regions).cpu().numpy()
            rows.append(found.astype(np.float16))
            kept += numbers
        count(len(numbers) + len(messages))
    features = np.concatenate(rows) if rows else np.zeros((0, 1), np.float16)
    return {"features": features, "kept": np.array(kept, dtype=np.int64), "bad": np.array(bad, dtype=np.str_)}


def _batches(start: int, files: list[Path], network: backbones.Backbone, size: int, pool: Executor) -> Iterator[tuple]:
    """Batches of decoded pictures; threads decode the next one while the network works on this one."""

    def submit(first: int) -> list[tuple[int, Future]]:
        some = enumerate(files[first : first + size], start + first)
        return [(number, pool.submit(lambda f: network.prepare(open_picture(f)), file)) for number, file in some]

    for jobs in one_ahead(submit(first) for first in range(0, len(files), size)):
        numbers, pictures, messages = [], [], []
        for number, future in jobs:
            try:
                pictures.append(future.result())
                numbers.append(number)
            except (BadPicture, FileNotFoundError) as err:
                messages.append(str(err))
        yield numbers, pictures, messages

"""Fewer photos to train on: a folder of features with some of the training photos of another one."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import numpy as np

from icrlib import parsing
from icrlib.data.precomputed import read_features

SEED = 100  # which photos these are is drawn once, for all runs


def fewer(folder: Path, count: int, into: Path) -> Path:
    """A folder of features in ``into`` with ``count`` of the training photos in ``folder``; the rest is as it is there.

    ``ValueError`` where a photo is not one row with as many caption lines as every other, there are not so many, or a
    file is damaged; ``FileNotFoundError``.
    """
    features, lengths = read_features(folder, "train")
    names = {"train_caps.txt", *(path.name for path in folder.glob("train_*.txt"))}
    lines = {name: parsing.lines(folder / name) for name in sorted(names)}
    each, rest = divmod(len(lines["train_caps.txt"]), len(features))
    if rest or not each or count > len(features):
        raise ValueError(
            f"{folder}: {count} photos are wanted of {len(features)} rows, with captions on "
            f"{len(lines['train_caps.txt'])} lines; a row a photo is needed, and that many"
        )
    place = into / f"{folder.resolve().name}-{count}"
    if place.is_dir():
        return place
    rows = np.sort(np.random.default_rng(SEED).choice(len(features), count, replace=False))
    into.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(dir=into))
    for part in ("dev", "test"):
        for path in folder.glob(f"{part}_*"):
            shutil.copyfile(path, made / path.name)
    np.save(made / "train_ims.npy", features[rows])
    if (folder / "train_lens.npy").is_file():
        np.save(made / "train_lens.npy", lengths[rows])
    for name, text in lines.items():
        times = len(text) // len(features)
        (made / name).write_text(
            "".join(f"{line}\n" for row in rows for line in text[row * times : (row + 1) * times]), encoding="utf-8"
        )
    try:
        os.replace(made, place)
    except OSError:  # another process was quicker
        shutil.rmtree(made)
    return place

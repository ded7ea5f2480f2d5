"""Datasets: ``load_dataset`` and what it returns."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from pathlib import Path

import platformdirs

from icrlib.data.splits import Dataset, Split
from icrlib.data.text import Vocabulary, tokenize
from icrlib.errors import choose

__all__ = ["DATASETS", "Dataset", "Split", "Vocabulary", "cache_dir", "load_dataset", "tokenize"]

DATASETS = ("scenes", "flickr8k", "flickr30k", "coco")


def cache_dir() -> Path:
    """Where generated data is kept: ``$ICRLIB_CACHE``, else the user's cache folder. Safe to delete."""
    return Path(os.environ.get("ICRLIB_CACHE") or platformdirs.user_cache_dir("icrlib"))


def load_dataset(
    name: str = "scenes", *, root: str | os.PathLike | None = None, features: str | os.PathLike | None = None,
    smoke: bool = False, **options,
) -> Dataset:  # fmt: skip
    """Load a dataset by name.

    ``"scenes"`` is generated in seconds and cached (:func:`icrlib.data.scenes.load` lists its options).
    ``"flickr8k"``, ``"flickr30k"`` and ``"coco"``, and your own data under one of these names, come from ``root``, a
    folder of photos with one ``dataset*.json`` in Karpathy's format (:func:`icrlib.data.photos.load`), or from
    ``features``, a folder of pre-computed features (:func:`icrlib.data.precomputed.load`); with both, the features of
    the photos are kept there. ``smoke`` keeps a small part, for trying things out.

    Raises ``ValueError`` for an unknown name or option, ``FileNotFoundError`` for a missing folder or file.
    """
    choose(name, DATASETS, "dataset")
    if name == "scenes":
        from icrlib.data import scenes

        if features is not None or root is not None:
            raise ValueError("the dataset 'scenes' makes its own pictures and features; leave root= and features= out")
        _check_options(scenes.load, options, name)
        return scenes.load(smoke=smoke, **options)
    if root is not None:
        from icrlib.data import photos

        _check_options(photos.load, options, name)
        return photos.load(root, name=name, features=features, smoke=smoke, **options)
    from icrlib.data import precomputed

    if features is None:
        raise ValueError(
            f"the dataset {name!r} needs root=FOLDER with dataset*.json and the photos, or features=FOLDER with "
            "train_ims.npy, train_caps.txt, dev_…, test_… (the layout of SCAN and VSRN)"
        )
    _check_options(precomputed.load, options, name)
    return precomputed.load(features, name=name, smoke=smoke, **options)


def _check_options(loader: Callable, options: dict, name: str) -> None:
    given = ("root", "features", "folder", "name", "smoke")  # these come from load_dataset's own arguments
    allowed = [option for option in inspect.signature(loader).parameters if option not in given]
    for option in options:
        choose(option, allowed, f"option of the dataset {name!r}")

"""What a run would be, from what a person asks for: its whole configuration, without drawing or reading the data.

How many updates an epoch has follows from the data. Where features lie in a folder they are read; of photos the list is
read; and where nothing is given, the sizes are those that the data set was published with, or of drawn data those of
its options.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import torch

from icrlib.data import karpathy
from icrlib.data.load import DRAWN, OUTLINES, USUAL, load_dataset
from icrlib.data.splits import Dataset, Outline, Split
from icrlib.names import LOSSES, METHODS
from icrlib.training.config import resolve
from icrlib.training.settings import checked

EACH = 5  # captions an image has, where nobody can count them
MACHINE = ("device", "precision")  # taken as they are given: the run may be for another machine than this one


class Unseen:
    """As many pictures, of which nothing is known but the size of their features, (N, D)."""

    def __init__(self, images: int, feature_dim: int) -> None:
        self.shape = (images, feature_dim)

    def __len__(self) -> int:
        return self.shape[0]


def configuration(
    dataset: str = USUAL,
    method: str = METHODS.usual,
    loss: str = LOSSES.usual,
    *,
    seed: int = 0,
    data_seed: int | None = None,
    smoke: bool = False,
    source: Mapping | None = None,
    given: Mapping | None = None,
) -> tuple[dict, Dataset]:
    """(configuration as a record holds it, its data or what is known of them) of a run with the settings ``given``.

    ``source``: options of :func:`icrlib.load_dataset`; a folder that is not there counts as not given. The
    ``data_hash`` is "" where the data was not read. ``ValueError`` for what no run takes.
    """
    given = dict(given or {})
    data = unread(dataset, method, seed if data_seed is None else data_seed, smoke, source)
    here = {name: value for name, value in given.items() if name not in MACHINE}
    asked = {name: checked(name, given[name]) for name in MACHINE if given.get(name) not in (None, "auto")}
    return resolve(data, method, loss, seed=seed, smoke=smoke, given=here).flat() | asked, data


def misfit(method: str, shape: tuple[int, ...]) -> str:
    """What is wrong with one image's features of this shape for a method: a sentence, or "" where they fit."""
    takes = METHODS.find(method).takes
    if not takes or (takes == "regions") == (len(shape) == 2):
        return ""
    wanted = "regions" if takes == "regions" else "one vector an image"
    return f"{method} takes {wanted}, and the features here are {tuple(shape)} for each image"


def unread(dataset: str, method: str, seed: int = 0, smoke: bool = False, source: Mapping | None = None) -> Dataset:
    """The data where that is cheap to read, else data of its size and defaults that hold nothing."""
    source = {name: value for name, value in (source or {}).items() if value not in (None, "")}
    folder, root = source.get("features"), source.get("root")
    if dataset not in DRAWN and folder and not root and Path(folder).is_dir():
        more = {name: source[name] for name in ("vocabulary", "min_count", "train") if name in source}
        changed = max((file.stat().st_mtime_ns for file in Path(folder).iterdir()), default=0)
        return _of_folder(dataset, str(folder), smoke, tuple(more.items()), changed)
    regions = METHODS.find(method).takes == "regions"
    if dataset in DRAWN:
        return _unseen(dataset, OUTLINES[dataset](source, seed=seed, smoke=smoke, regions=regions))
    options = {"vocabulary": "train", "min_count": 4, "smoke": smoke}
    if source.get("images") == "published":
        options |= {"images": "published", "backbone": source.get("backbone", "resnet50")}
    images, each = _sizes(dataset, root)
    images = images | {"train": min(images["train"], source.get("train", images["train"]))}
    images = {name: min(n, 200) if smoke else n for name, n in images.items()}
    shape = (36, 2048) if regions and not root else (2048,)  # as SCAN's; of photos on the way one vector an image
    return _unseen(dataset, Outline(images, shape, "images" in options, options=options), each)


@lru_cache(maxsize=1)  # a table has eighty runs on one folder, whose checksum takes minutes where it is large
def _of_folder(dataset: str, folder: str, smoke: bool, more: tuple, changed: int) -> Dataset:
    return load_dataset(dataset, features=folder, smoke=smoke, **dict(more))


def _unseen(dataset: str, outline: Outline, each: Mapping | None = None) -> Dataset:
    """Data of that outline that hold nothing."""
    splits = {}
    for name, images in outline.images.items():
        captions = images * (EACH if each is None else each[name])
        image_of = torch.arange(max(images, round(captions))) % images
        # Splits that take no memory worth speaking of: every number is the same zero.
        shape, pictures = outline.shape, outline.pictures
        features = Unseen(images, shape[-1]) if pictures else torch.zeros(1).expand(images, *shape)
        splits[name] = Split(name, features, [""] * len(image_of), image_of, [""] * images)
    about = {name: dict(getattr(outline, name)) for name in ("options", "defaults", "tuned")}
    return Dataset(
        dataset, **splits, vocabulary=None, fingerprint="", drawn=dataset in DRAWN, foils=outline.foils, **about
    )


def _sizes(dataset: str, root: str | None) -> tuple[dict[str, int], dict[str, float] | None]:
    """Images of each split, and captions an image: of the photos in ``root``, else as published (None: five)."""
    if root and Path(root).is_dir():
        photos = karpathy.read(root)
        each = {name: sum(map(len, split.captions)) / len(split) for name, split in photos.items()}
        return {name: len(split) for name, split in photos.items()}, each
    return karpathy.PUBLISHED[dataset], None

"""A folder of photos as a dataset: through features that are computed once, or as pictures that a model sees anew."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from icrlib.data import backbones, karpathy, precomputed
from icrlib.data.features import OtherFeatures, extract
from icrlib.data.pictures import open_picture
from icrlib.data.splits import Dataset, Split, draw_images
from icrlib.errors import choose
from icrlib.files import cache_dir, sha256_of

PIPELINES = ("cached", "published")
AT_ONCE = 64  # pictures that an evaluation holds in memory


def load(
    root: str | os.PathLike,
    *,
    name: str,
    images: str = "cached",
    backbone: str = "resnet50",
    features: str | os.PathLike | None = None,
    vocabulary: str = "train",
    min_count: int = 4,
    train: int | None = None,
    smoke: bool = False,
) -> Dataset:
    """The photos and captions in ``root`` (Karpathy's JSON beside an image folder).

    ``images="cached"``: each photo goes through ``backbone`` once, into the folder ``features`` (default: one in the
    cache); training then takes seconds an epoch. ``"published"``: photos are opened at every use and training sees a
    fresh crop each time, as the releases do it; the network is part of the model (:class:`icrlib.models.OnPictures`)
    and every step pays for it. ``vocabulary``, ``min_count``, ``train``, ``smoke`` as in
    :func:`icrlib.data.precomputed.load`.
    """
    choose(images, PIPELINES, "images")
    if images == "cached":
        folder = extract(root, features, backbone=backbone) if features else _in_cache(root, name, backbone)
        return precomputed.load(folder, name=name, vocabulary=vocabulary, min_count=min_count, train=train, smoke=smoke)
    if features is not None:
        raise ValueError("images='published' computes no features; leave features= out, or use images='cached'")
    choose(vocabulary, ("train", "all"), "vocabulary")
    network = backbones.load(backbone)
    parts = karpathy.read(root)
    if train is not None:
        parts["train"] = _only(parts["train"], draw_images(len(parts["train"]), train).tolist())
    digest = [
        sha256_of(backbone, *(f"{file.name} {file.stat().st_size}" for file in photos.files), repr(photos.captions))
        for photos in parts.values()
    ]  # FileNotFoundError for a photo that is missing
    if smoke:
        parts = {part: _only(photos, range(min(precomputed.SMOKE, len(photos)))) for part, photos in parts.items()}
    splits = {part: _split(part, photos, network) for part, photos in parts.items()}
    options = {"vocabulary": vocabulary, "min_count": min_count, "smoke": smoke, "images": images, "backbone": backbone}
    return precomputed.dataset(name, splits, digest, options)


def _in_cache(root: str | os.PathLike, name: str, backbone: str) -> Path:
    """The folder of features in the cache; what lies there of photos that have changed since is thrown away."""
    place = sha256_of(str(Path(root).resolve()), backbone)[:10]
    folder = cache_dir() / "features" / f"{name}-{place}"
    try:
        return extract(root, folder, backbone=backbone)
    except OtherFeatures:
        shutil.rmtree(folder)
        return extract(root, folder, backbone=backbone)


def _only(photos: karpathy.Photos, rows: Iterable[int]) -> karpathy.Photos:
    columns = (photos.files, photos.ids, photos.captions)
    return karpathy.Photos(*([column[row] for row in rows] for column in columns))


def _split(name: str, photos: karpathy.Photos, network: backbones.Backbone) -> Split:
    captions = [(row, text) for row, texts in enumerate(photos.captions) for text in texts if text.split()]
    alone = set(range(len(photos))) - {row for row, _ in captions}
    if alone:
        raise ValueError(
            f"{photos.files[min(alone)]}: no caption; give it one, or remove it from the JSON "
            "(icr data make --leave-out)"
        )
    image_of = torch.tensor([row for row, _ in captions])
    return Split(name, Pictures(photos.files, network), [text for _, text in captions], image_of, photos.ids)


class Pictures:
    """The images of a split as files, where other splits hold features; a network in the model makes those.

    ``shape`` is that of the features, (N, D), for the network's D channels. Iterating over :meth:`split` opens the
    pictures as evaluation wants them; :meth:`stream` as training does.
    """

    def __init__(self, files: list[Path], backbone: backbones.Backbone, workers: int = 4) -> None:
        if backbone.crop is None:
            raise ValueError(
                f"the backbone {backbone.name!r} says nothing about training crops; give it crop=, or use "
                "images='cached'"
            )
        self.files, self.backbone, self.workers = files, backbone, workers
        self.shape = (len(files), backbone.channels())

    def __len__(self) -> int:
        return len(self.files)

    def split(self, size: int) -> Iterator[Tensor]:
        """All pictures, prepared alike each time: (at most ``size``, 3, H, W) float32, the next ones decoded ahead."""
        size = min(size, AT_ONCE)
        return self._decoded([(file, None) for file in self.files[i : i + size]] for i in range(0, len(self), size))

    def stream(self, batches: Iterable[tuple[int, Tensor]], seed: int) -> Iterator[Tensor]:
        """Pictures (B, 3, H, W) of each of the ``batches``, (number, rows) pairs; the next ones are decoded ahead.

        A crop depends on the seed, the batch's number and the place in it alone: an image that comes twice in a batch
        has two crops, as published, and a run that was killed goes on with the same ones.
        """
        return self._decoded(
            [(self.files[row], (seed, number, place)) for place, row in enumerate(rows.tolist())]
            for number, rows in batches
        )

    def _decoded(self, groups: Iterable[list[tuple]]) -> Iterator[Tensor]:
        """The pictures of each group of (file, dice of its crop, or None); threads decode the next group meanwhile."""
        with ThreadPoolExecutor(self.workers) as pool:
            waiting: list = []
            for group in groups:
                waiting.append([pool.submit(self._prepared, *one) for one in group])
                if len(waiting) == 2:
                    yield torch.stack([job.result() for job in waiting.pop(0)])
            for jobs in waiting:
                yield torch.stack([job.result() for job in jobs])

    def _prepared(self, file: Path, key: tuple[int, int, int] | None) -> Tensor:
        picture = open_picture(file)
        return self.backbone.crop(picture, np.random.default_rng(key)) if key else self.backbone.prepare(picture)

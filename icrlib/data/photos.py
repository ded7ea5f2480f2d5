"""A folder of photos as a dataset: through features that are computed once, or as pictures that a model sees anew."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

import torch

from icrlib.data import backbones, karpathy, precomputed
from icrlib.data.crops import Pictures
from icrlib.data.feature_folder import OtherFeatures
from icrlib.data.features import extract
from icrlib.data.splits import Dataset, Split, draw_images
from icrlib.errors import choose
from icrlib.files import cache_dir, sha256_of

PIPELINES = ("cached", "published")


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

"""A folder of photos as a dataset: through features that are computed once, or as pictures that a model sees anew."""

from __future__ import annotations

import os
from pathlib import Path

import torch

from icrlib.data import backbones, karpathy, precomputed
from icrlib.data.crops import Pictures
from icrlib.data.features import extract
from icrlib.data.splits import Dataset, Split
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
    smoke: bool = False,
) -> Dataset:
    """The photos and captions in ``root`` (Karpathy's JSON beside an image folder).

    ``images="cached"``: each photo goes through ``backbone`` once, into the folder ``features`` (default: one in the
    cache); training then takes seconds an epoch. ``"published"``: photos are opened at every use and training sees a
    fresh crop each time, as the releases do it; the network is part of the model (:class:`icrlib.models.OnPictures`)
    and every step pays for it. ``vocabulary``, ``min_count``, ``smoke`` as in :func:`icrlib.data.precomputed.load`.
    """
    choose(images, PIPELINES, "images")
    if images == "cached":
        folder = _cached(root, name, backbone, features)
        return precomputed.load(folder, name=name, vocabulary=vocabulary, min_count=min_count, smoke=smoke)
    if features is not None:
        raise ValueError("images='published' computes no features; leave features= out, or use images='cached'")
    choose(vocabulary, ("train", "all"), "vocabulary")
    network = backbones.load(backbone)
    read = karpathy.read(root)
    missing = [str(file) for photos in read.values() for file in photos.files if not file.is_file()]
    if missing:
        raise FileNotFoundError(
            f"{len(missing)} photos are missing, first {missing[0]}; `icr data check {root}` lists every problem"
        )
    digest = [
        sha256_of(backbone, *(f"{file.name} {file.stat().st_size}" for file in photos.files), repr(photos.captions))
        for photos in read.values()
    ]
    splits = {part: _split(part, photos, network, 200 if smoke else None) for part, photos in read.items()}
    options = {"vocabulary": vocabulary, "min_count": min_count, "smoke": smoke, "images": images, "backbone": backbone}
    return precomputed.dataset(name, splits, digest, options)


def _cached(root: str | os.PathLike, name: str, backbone: str, folder: str | os.PathLike | None) -> Path:
    """The folder of features, extracted now unless it is there and of these photos and this network."""
    place = sha256_of(str(Path(root).resolve()), backbone)[:10]
    folder = Path(folder) if folder else cache_dir() / "features" / f"{name}-{place}"
    return extract(root, folder, backbone=backbone)


def _split(name: str, photos: karpathy.Photos, network: backbones.Backbone, keep: int | None) -> Split:
    files, ids, texts = photos.files[:keep], photos.ids[:keep], photos.captions[:keep]
    captions = [(row, text) for row, own in enumerate(texts) for text in own if text.split()]
    alone = set(range(len(files))) - {row for row, _ in captions}
    if alone:
        raise ValueError(
            f"{files[min(alone)]}: no caption; give it one, or remove it from the JSON (icr data make --leave-out)"
        )
    image_of = torch.tensor([row for row, _ in captions])
    return Split(name, Pictures(files, network), [text for _, text in captions], image_of, ids)

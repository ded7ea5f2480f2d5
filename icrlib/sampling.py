"""Which images and captions make up the batch of an update: a pure function of the seed and the update."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import count

import numpy as np
import torch
from torch import Tensor

from icrlib.data.regions import Regions
from icrlib.data.splits import Split
from icrlib.errors import choose

BATCHES = ("pairs", "images")
POSITIVES = ("diagonal", "image", "text")


@dataclass(frozen=True)
class Batch:
    """Rows of the split: ``images`` (B,), ``captions`` (M,) int64, and which belong together, bool (B, M)."""

    images: Tensor
    captions: Tensor
    positives: Tensor


class Sampler:
    """Batches of one split, epoch after epoch, each epoch in a new order drawn from (seed, epoch).

    ``batches="pairs"``: ``batch_size`` (image, caption) pairs, as published for the losses on pairs; an image can
    come twice. ``positives="diagonal"`` then counts its other caption as a negative, as the published code does;
    ``"image"`` uses the true mask, but in a batch of one image alone. ``batches="images"``: ``batch_size`` images with
    all their captions.
    ``positives="text"``, with either: an image is a positive of every caption whose text one of its own captions has,
    equal after the one normalisation (:func:`icrlib.data.text.plain`). A batch in which somebody has no negative then
    goes on with the items that follow, until everybody has one.
    A last batch of one pair, or of one image, joins the one before.
    Since a batch depends on its number alone, (seed, update) is all the state there is to save.
    """

    def __init__(self, split: Split, seed: int, batch_size: int, batches: str = "pairs", positives: str = "diagonal"):
        self.batches = choose(batches, BATCHES, "batches")
        self.positives = choose(positives, POSITIVES, "positives")
        if batch_size < 2:
            raise ValueError(f"batch_size must be at least 2 (a positive needs a negative); got {batch_size}")
        if len(split) < 2:
            raise ValueError(f"the split {split.name!r} has {len(split)} image; training needs at least two")
        if positives == "text":
            split.check_texts("positives")
        self.seed, self.image_of, self.split = seed, split.image_of, split
        self.items = len(split.captions) if batches == "pairs" else len(split)
        self.batch_size = min(batch_size, self.items)
        full, rest = divmod(self.items, self.batch_size)
        self.per_epoch = full + (rest >= 2)
        self._epoch, self._order = -1, torch.empty(0)

    @cached_property
    def _captions_of(self) -> tuple[Tensor, ...]:
        """The captions of each image, in order."""
        return self.image_of.argsort(stable=True).split(self.image_of.bincount().tolist())

    def __getitem__(self, update: int) -> Batch:
        """The batch of the given update, counted from 0."""
        epoch, position = divmod(update, self.per_epoch)
        if epoch != self._epoch:
            # NumPy mixes both numbers into the stream; torch's CPU generator would keep 32 bits of one seed.
            order = np.random.default_rng([self.seed, epoch]).permutation(self.items)
            self._epoch, self._order = epoch, torch.from_numpy(order)
        last = position == self.per_epoch - 1
        start = position * self.batch_size
        rows = self._order[start : None if last else start + self.batch_size]
        if self.positives == "text":
            return self._by_text(rows, start + len(rows))
        return self._batch(rows)

    def _by_text(self, rows: Tensor, after: int) -> Batch:
        """The batch of ``rows`` with equal texts as positives, and with the items from ``after`` on that it needs."""
        for doublings in count():
            plain = self._batch(rows)
            mask = self.split.share_text(plain.images, plain.captions)
            if not (mask.all(0).any() or mask.all(1).any()):
                return Batch(plain.images, plain.captions, mask)
            more = torch.arange(after, after + (1 << doublings)) % self.items
            rows, after = torch.cat([rows, self._order[more]]), after + len(more)

    def _batch(self, rows: Tensor) -> Batch:
        if self.batches == "images":
            captions = torch.cat([self._captions_of[row] for row in rows.tolist()])
            return Batch(rows, captions, self.image_of[captions][None] == rows[:, None])
        images = self.image_of[rows]
        if self.positives == "image" and int(images.min()) < int(images.max()):
            return Batch(images, rows, images[None] == images[:, None])
        return Batch(images, rows, torch.eye(len(rows), dtype=torch.bool))


def feed(split: Split, sampler: Sampler, start: int) -> Iterator[tuple[Batch, Tensor | Regions]]:
    """The sampler's batches from number ``start`` on, without end, each with its images' features, or pictures."""
    if isinstance(split.features, (Tensor, Regions)):
        for number in count(start):
            batch = sampler[number]
            yield batch, split.features[batch.images]
    waiting: deque[Batch] = deque()

    def rows() -> Iterator[tuple[int, Tensor]]:
        for number in count(start):
            waiting.append(sampler[number])
            yield number, waiting[-1].images

    for pictures in split.features.stream(rows(), sampler.seed):
        yield waiting.popleft(), pictures

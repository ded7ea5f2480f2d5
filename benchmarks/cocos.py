"""Counting over a whole training set: every query of every batch, both directions, against a loop over queries."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn.functional import normalize

from benchmarks.timing import Row, race, show
from icrlib import cocos, losses
from icrlib.sampling import Batch

IMAGES, EACH, DIMENSIONS, BATCH, EPS, PART = 5_800, 5, 1024, 128, 0.01, 3
OPTIONS = {"convention": "exact", "eps": EPS, "progress": False}
OWNER = torch.arange(IMAGES).repeat_interleave(EACH)


def encodings(device: str) -> tuple[Tensor, Tensor]:
    """Unit vectors of 5,800 images and 29,000 captions near them, so that some queries have a gradient and some not."""
    generator = torch.Generator().manual_seed(0)
    images = normalize(torch.randn(IMAGES, DIMENSIONS, generator=generator), dim=1)
    noise = normalize(torch.randn(IMAGES * EACH, DIMENSIONS, generator=generator), dim=1)
    return images.to(device), normalize(images[OWNER] + 4 * noise, dim=1).to(device)


def epoch() -> Iterator[Batch]:
    """Shuffled batches of 128 (image, caption) pairs."""
    for rows in torch.randperm(len(OWNER), generator=torch.Generator().manual_seed(1)).split(BATCH):
        yield Batch(OWNER[rows], rows, torch.eye(len(rows), dtype=torch.bool))


def count(loss: losses.Loss, queries: Tensor, candidates: Tensor, positives: Tensor) -> tuple[float, int, int]:
    """Exact counts C_q, C_B and C_0 of one direction of a batch, a query at a time: its scores, its weights."""
    counts = [
        int((loss.weights((candidates @ query)[None], own[None])[0].abs() > EPS).sum())
        for query, own in zip(queries, positives, strict=True)
    ]
    some = [n for n in counts if n]
    return sum(some) / max(1, len(some)), sum(counts), counts.count(0)


def loop(loss: losses.Loss, images: Tensor, captions: Tensor, part: list[Batch]) -> dict[str, list[tuple]]:
    """Both directions of each batch."""
    parts = [(images[b.images], captions[b.captions], b.positives.to(images.device)) for b in part]
    return {"i2t": [count(loss, x, y, p) for x, y, p in parts], "t2i": [count(loss, y, x, p.T) for x, y, p in parts]}


def against_loop(name: str, images: Tensor, captions: Tensor) -> Row:
    """Equal counts on a part first; then the whole set at once in turns with the loop over that part, scaled up."""
    loss, batches = losses.by_name(name), list(epoch())
    part = batches[:PART]
    fast = cocos.per_batch(loss, images, captions, part, **OPTIONS)
    for side, counts in loop(loss, images, captions, part).items():
        for key, values in zip(("C_q", "C_B", "C_0"), zip(*counts, strict=True), strict=True):
            assert [round(float(value), 6) for value in fast[side][key]] == [round(v, 6) for v in values], (name, key)
    ours, looped = race(
        [lambda: cocos.over(loss, images, captions, batches, **OPTIONS), lambda: loop(loss, images, captions, part)]
    )
    queries, timed = (sum(2 * len(b.images) for b in some) for some in (batches, part))
    against = f"a loop over queries ({timed:,} of them, scaled up)"
    return Row(f"{name}, {queries:,} queries", ours, looped * queries / timed, against, "at least 50")


def main(device: str) -> None:
    """The table of counting."""
    images, captions = encodings(device)
    rows = [against_loop(name, images, captions) for name in ("triplet", "triplet_sh", "ntxent", "smoothap")]
    show(f"COCOS over a training set, {len(captions):,} captions, d = {DIMENSIONS}, batches of {BATCH}", rows)

"""Counting over a whole training set: every query of every batch, both directions, against a loop over queries."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import mean

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


def epoch(mode: str) -> Iterator[Batch]:
    """Batches of 128 (image, caption) pairs, or of 128 images with all their captions, shuffled."""
    generator = torch.Generator().manual_seed(1)
    if mode == "pairs":
        for rows in torch.randperm(len(OWNER), generator=generator).split(BATCH):
            yield Batch(OWNER[rows], rows, torch.eye(len(rows), dtype=torch.bool))
    else:
        for rows in torch.randperm(IMAGES, generator=generator).split(BATCH):
            captions = (rows[:, None] * EACH + torch.arange(EACH)).flatten()
            yield Batch(rows, captions, OWNER[captions][None] == rows[:, None])


def loop(loss: losses.Loss, queries: Tensor, candidates: Tensor, positives: Tensor) -> dict[str, float]:
    """Exact counts of one direction of a batch, a query at a time: its scores, its weights, its numbers."""
    counts, several, shares = [], [], []
    for query, own in zip(queries, positives, strict=True):
        weights = loss.weights((candidates @ query)[None], own[None])[0].abs()
        negatives = weights[~own]
        counts.append(int((weights > EPS).sum()))
        if float(largest := negatives.max()):
            several.append(float((negatives / largest).sum() ** 2 / ((negatives / largest) ** 2).sum()))
        if isinstance(loss, losses.NTXent):
            large = negatives[negatives > EPS]
            shares.append((len(large), float(large.sum()), float(weights[own].sum())))
    some = [count for count in counts if count]
    found = {
        "C_q": mean(some) if some else 0.0,
        "C_B": sum(counts),
        "C_0": counts.count(0),
        "n_eff": mean(several) if several else 0.0,
    }
    return found | dict(zip(("C_neg", "W_neg", "W_pos"), map(mean, zip(*shares, strict=True)), strict=False))


def both(loss: losses.Loss, images: Tensor, captions: Tensor, batch: Batch) -> dict[str, dict[str, float]]:
    """The loop in both directions of a batch."""
    x, y, own = images[batch.images], captions[batch.captions], batch.positives.to(images.device)
    return {"i2t": loop(loss, x, y, own), "t2i": loop(loss, y, x, own.T)}


def check(loss: losses.Loss, images: Tensor, captions: Tensor, part: list[Batch]) -> None:
    """Equal counts, and equal sums up to rounding, or an ``AssertionError``."""
    fast = cocos.per_batch(loss, images, captions, part, **OPTIONS)
    for k, batch in enumerate(part):
        for side, numbers in both(loss, images, captions, batch).items():
            for key, value in numbers.items():
                same = 0 if key in ("C_q", "C_B", "C_0", "C_neg") else 1e-4
                if abs(float(fast[side][key][k]) - value) > same * abs(value) + 1e-9:
                    raise AssertionError(f"{loss}, batch {k}, {side}: {key} is {fast[side][key][k]}, not {value}")


def against_loop(name: str, mode: str, images: Tensor, captions: Tensor, goal: str = "") -> Row:
    """Equal counts on a part first; then the whole set at once in turns with the loop over that part, scaled up."""
    loss, batches = losses.by_name(name), list(epoch(mode))
    part = batches[:PART]
    check(loss, images, captions, part)
    ours, looped = race(
        [
            lambda: cocos.over(loss, images, captions, batches, **OPTIONS),
            lambda: [both(loss, images, captions, batch) for batch in part],
        ]
    )
    queries, timed = (sum(len(b.images) + len(b.captions) for b in some) for some in (batches, part))
    what = f"{name}, {mode}, {queries:,} queries"
    return Row(what, ours, looped * queries / timed, f"a loop over queries ({timed:,} of them, scaled up)", goal)


def main(device: str) -> None:
    """The table of counting."""
    images, captions = encodings(device)
    names = ("triplet", "triplet_sh", "ntxent", "smoothap")
    rows = [against_loop(name, "pairs", images, captions, "at least 50") for name in names]
    rows.append(against_loop("smoothap", "images", images, captions))
    show(f"COCOS over a training set, {len(captions):,} captions, d = {DIMENSIONS}, batches of {BATCH}", rows)

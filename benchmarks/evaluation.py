"""Evaluation at COCO's size: both directions against the bare matrix product, and against a NumPy loop."""

from __future__ import annotations

import time

import numpy as np
import torch
from torch.nn.functional import normalize

from benchmarks.timing import Row, race, show
from icrlib.data.splits import Split
from icrlib.evaluation import measure

IMAGES, EACH, DIMENSIONS = 5_000, 5, 1024


def loop(images: torch.Tensor, captions: torch.Tensor, rows: range) -> list[int]:
    """Best rank of each image's captions by a NumPy argsort a query, as evaluation code often has it."""
    a, b = images.cpu().numpy(), captions.cpu().numpy()
    found = []
    for row in rows:
        order = np.argsort(-(a[row] @ b.T), kind="stable")
        places = np.empty(len(order), dtype=int)
        places[order] = np.arange(len(order))
        found.append(int(places[EACH * row : EACH * (row + 1)].min()) + 1)
    return found


def main(device: str) -> None:
    """The table of evaluation."""
    generator = torch.Generator().manual_seed(0)
    images = normalize(torch.randn(IMAGES, DIMENSIONS, generator=generator), dim=1)
    noise = torch.randn(IMAGES * EACH, DIMENSIONS, generator=generator)
    captions = normalize(images.repeat_interleave(EACH, 0) + 0.35 * normalize(noise, dim=1) * 6, dim=1).to(device)
    images = images.to(device)
    owner = torch.arange(IMAGES).repeat_interleave(EACH)
    split = Split("bench", images, [""] * len(captions), owner, [str(i) for i in range(IMAGES)])

    def bare() -> None:
        for rows in images.split(512):
            _ = rows @ captions.T

    some = range(0, 200)
    small = Split("bench", images[:200], [""] * 1000, owner[:1000], [str(i) for i in some])
    ranks = loop(images[:200], captions[:1000], some)
    r1 = 100 * np.mean([rank <= 1 for rank in ranks])
    assert abs(measure(images[:200], captions[:1000], small)["i2t"]["r1"] - r1) < 1e-9
    ours, product = race([lambda: measure(images, captions, split), bare], repeats=3)
    start = time.perf_counter()
    loop(images, captions, some)
    naive = (time.perf_counter() - start) * (IMAGES + IMAGES * EACH / 3) / len(some)
    what = f"evaluation, {IMAGES:,} x {IMAGES * EACH:,}, both directions"
    show(
        "Evaluation",
        [
            Row(what, ours, product, "the bare matrix product", "at most 1.4", False),
            Row(what, ours, naive, "a NumPy loop over queries (200 of them, scaled up)", "at least 10"),
        ],
    )

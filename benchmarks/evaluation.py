"""Evaluation at COCO's size: both directions against the bare matrix product, and against a NumPy loop."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn.functional import normalize

from benchmarks.timing import Row, race, show
from icrlib.data.splits import Split
from icrlib.evaluation import measure

IMAGES, EACH, DIMENSIONS, SOME = 5_000, 5, 1024, 200


def loop(images: torch.Tensor, captions: torch.Tensor) -> list[int]:
    """Best rank of each image's captions by a NumPy argsort a query, as evaluation code often has it."""
    a, b = images.cpu().numpy(), captions.cpu().numpy()
    ranks = []
    for row, query in enumerate(a):
        order = np.argsort(-(query @ b.T), kind="stable")
        places = np.empty(len(order), dtype=int)
        places[order] = np.arange(len(order))
        ranks.append(int(places[EACH * row : EACH * (row + 1)].min()) + 1)
    return ranks


def main(device: str) -> None:
    """The table of evaluation."""
    generator = torch.Generator().manual_seed(0)
    images = normalize(torch.randn(IMAGES, DIMENSIONS, generator=generator), dim=1)
    noise = torch.randn(IMAGES * EACH, DIMENSIONS, generator=generator)
    captions = normalize(images.repeat_interleave(EACH, 0) + 0.35 * normalize(noise, dim=1) * 6, dim=1).to(device)
    images = images.to(device)

    def split(size: int) -> Split:
        owner = torch.arange(size).repeat_interleave(EACH)
        return Split("bench", images[:size], [""] * len(owner), owner, [str(i) for i in range(size)])

    def bare() -> None:
        for rows in images.split(512):
            _ = rows @ captions.T

    few = images[:SOME], captions[: SOME * EACH]
    r1 = 100 * np.mean([rank <= 1 for rank in loop(*few)])
    assert abs(measure(*few, split(SOME))["i2t"]["r1"] - r1) < 1e-9
    full = split(IMAGES)
    ours, product, looped = race(
        [lambda: measure(images, captions, full), bare, lambda: loop(images[:SOME], captions)], repeats=3
    )
    naive = looped * (IMAGES + IMAGES * EACH / 3) / SOME
    what = f"{IMAGES:,} x {IMAGES * EACH:,}, both directions"
    price = Row(what, ours, product, "the bare matrix product", "at most 1.4", price=True)
    against = f"a NumPy loop over queries ({SOME} of them, scaled up)"
    show("Evaluation", [price, Row(what, ours, naive, against, "at least 10")])

"""Evaluation at COCO's size: both directions against the bare matrix product."""

from __future__ import annotations

import torch
from torch.nn.functional import normalize

from benchmarks.timing import Row, race, show
from icrlib.data.splits import Split
from icrlib.evaluation import measure

IMAGES, EACH, DIMENSIONS, SOME = 5_000, 5, 1024, 200


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

    few, full = (images[:SOME], captions[: SOME * EACH]), split(IMAGES)
    found = (few[0] @ few[1].T).argmax(1).cpu() // EACH == torch.arange(SOME)
    assert abs(measure(*few, split(SOME))["i2t"]["r1"] - 100 * found.double().mean()) < 1e-9
    ours, product = race([lambda: measure(images, captions, full), bare], repeats=3)
    what = f"{IMAGES:,} x {IMAGES * EACH:,}, both directions"
    show("Evaluation", [Row(what, ours, product, "the bare matrix product", "at most 1.2", price=True)])

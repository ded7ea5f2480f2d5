"""A folder of features of images that have unequally many regions, padded."""

from __future__ import annotations

from pathlib import Path

import numpy as np

PARTS = {"train": 12, "dev": 4, "test": 5}
MOST, SIZE = 4, 6
WORDS = ("red", "blue", "green", "pink", "grey")


def lengths(images: int) -> np.ndarray:
    return np.arange(images) % MOST + 1


def make(folder: Path, said: bool = True, junk: float = 0.0, most: int = MOST) -> Path:
    """``said``: with the files of lengths; ``junk``: what stands in the padding; ``most``: regions of an array."""
    folder.mkdir(exist_ok=True)
    for seed, (part, images) in enumerate(PARTS.items()):
        regions = np.random.default_rng(seed).random((images, most, SIZE), dtype=np.float32)
        regions[..., 1:3] *= 0.5  # behind one number of looks a box: x0, y0, x1, y1, area
        regions[..., 3:5] = 0.5 + 0.5 * regions[..., 3:5]
        regions[np.arange(most) >= lengths(images)[:, None]] = junk
        np.save(folder / f"{part}_ims.npy", regions)
        if said:
            np.save(folder / f"{part}_lens.npy", lengths(images))
        lines = [f"A {word} dog number{i} .\n" for i in range(images) for word in WORDS]
        (folder / f"{part}_caps.txt").write_text("".join(lines), encoding="utf-8")
    return folder

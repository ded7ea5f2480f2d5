"""From a scene graph to a 64 x 64 picture, with integers and exact arithmetic only.

Masks use sums, products, comparisons and square roots, which IEEE 754 rounds the same way everywhere; colours
and noise are integers. So a picture has the same bytes on every machine.
"""

from __future__ import annotations

import numpy as np

from icrlib.data.scenes.graph import Scene, Thing

SIDE = 64
CELL = 21  # pixels; three of them leave a margin of half a pixel on every side
RADIUS = {"small": 5.5, "large": 9.0}
RGB = {
    "red": (217, 38, 38),
    "green": (38, 166, 51),
    "blue": (38, 76, 217),
    "yellow": (230, 204, 38),
    "purple": (140, 51, 178),
    "orange": (242, 128, 26),
    "cyan": (51, 191, 204),
    "brown": (115, 71, 31),
}
BACKGROUND = {"light": 217, "grey": 140, "dark": 51}
STRIPE = 242
NOISE = 9  # two uniform integers in [-9, 9] are added to every value: standard deviation 7.7 of 255


def centre(thing: Thing) -> tuple[float, float]:
    """Centre (x, y) of a thing in pixels; x grows to the right, y downwards."""
    return CELL * thing.column + 11 + thing.dx, CELL * thing.row + 11 + thing.dy


def inside(shape: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Which points belong to ``shape``; ``x`` and ``y`` in units of its radius, result within [-1, 1]²."""
    ax, ay, squared = abs(x), abs(y), x * x + y * y
    if shape == "circle":
        return squared < 1
    if shape == "square":
        return np.maximum(ax, ay) < 0.85
    if shape == "triangle":
        return (y < 0.8) & (ax < 0.95 * (y + 1) / 1.8)
    if shape == "diamond":
        return ax + ay < 1
    if shape == "ring":
        return (squared < 1) & (squared > 0.25)
    if shape == "cross":
        return (np.minimum(ax, ay) < 0.3) & (np.maximum(ax, ay) < 1)
    if shape == "bar":
        return (ax < 1) & (ay < 0.4)
    if shape == "star":
        # radius 0.6 + 0.4 cos(5(a + 90°)) = 0.6 - 0.4 sin(5a), and sin(5a) = T5(sin a), a Chebyshev polynomial
        radius = np.sqrt(squared)
        sine = y / np.where(radius > 0, radius, 1)
        square = sine * sine
        return radius < 0.6 - 0.4 * sine * ((16 * square - 20) * square + 5)
    raise ValueError(f"unknown shape {shape!r}")


def mask(thing: Thing) -> np.ndarray:
    """Pixels of a thing, bool (64, 64). A pixel belongs to it if the pixel's centre does."""
    cx, cy = centre(thing)
    first_x, first_y = CELL * thing.column, CELL * thing.row
    pixels = np.arange(CELL + 1) + 0.5
    radius = RADIUS[thing.size]
    patch = inside(thing.shape, (pixels[None] + first_x - cx) / radius, (pixels[:, None] + first_y - cy) / radius)
    whole = np.zeros((SIDE, SIDE), bool)
    whole[first_y : first_y + CELL + 1, first_x : first_x + CELL + 1] = patch
    return whole


_STRIPES = (np.add.outer(np.arange(SIDE), np.arange(SIDE)) % 4) >= 2


def render(scene: Scene, rng: np.random.Generator) -> np.ndarray:
    """The picture of a scene, uint8 (64, 64, 3). ``rng`` draws the noise and nothing else."""
    picture = np.full((SIDE, SIDE, 3), BACKGROUND[scene.background], np.int64)
    for thing in scene.things:
        pixels = mask(thing)
        picture[pixels] = np.array(RGB[thing.colour]) * (100 + thing.tint) // 100
        if thing.fill == "striped":
            picture[pixels & _STRIPES] = STRIPE
    picture += rng.integers(-NOISE, NOISE + 1, (2, *picture.shape)).sum(0)
    return picture.clip(0, 255).astype(np.uint8)


def box(thing: Thing) -> tuple[int, int, int, int]:
    """Tight bounding box (x0, y0, x1, y1) in pixels; x1 and y1 are exclusive."""
    pixels = mask(thing)
    xs, ys = np.flatnonzero(pixels.any(0)), np.flatnonzero(pixels.any(1))
    return int(xs[0]), int(ys[0]), int(xs[-1]) + 1, int(ys[-1]) + 1


def regions(scene: Scene, rng: np.random.Generator, count: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """Boxes of all things and distractors, shuffled: (count, 4) uint8, and the thing in each (count,) int8 or -1.

    A distractor is a random box of 8 to 24 pixels a side, inside the picture.
    """
    things = len(scene.things)
    boxes = [box(thing) for thing in scene.things]
    for _ in range(count - things):
        width, height = rng.integers(8, 25, 2)
        x, y = rng.integers(SIDE - width + 1), rng.integers(SIDE - height + 1)
        boxes.append((x, y, x + width, y + height))
    which = list(range(things)) + [-1] * (count - things)
    order = rng.permutation(count)
    return np.array(boxes, np.uint8)[order], np.array(which, np.int8)[order]

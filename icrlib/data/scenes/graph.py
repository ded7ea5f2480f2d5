"""Scene graphs: what is in a picture, how one is sampled, and how its twin is made.

Randomness comes from NumPy generators alone and every number of a graph is an integer or a multiple of 1/8,
so that one seed gives the same graphs on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

SHAPES = ("circle", "square", "triangle", "diamond", "ring", "cross", "star", "bar")
COLOURS = ("red", "green", "blue", "yellow", "purple", "orange", "cyan", "brown")
SIZES = ("small", "large")
FILLS = ("plain", "striped")
BACKGROUNDS = ("light", "grey", "dark")
VALUES = {"shape": SHAPES, "colour": COLOURS, "size": SIZES, "fill": FILLS}
GRID = 3
COUNT_SHARES = {2: 0.2, 3: 0.35, 4: 0.3, 5: 0.15}
STRIPED_SHARE = 0.3
SWAP_SHARE = 0.6
JITTER = {"small": 24, "large": 12}  # eighths of a pixel: either size then stays inside its cell
TINT = 10  # percent


@dataclass(frozen=True)
class Thing:
    """One object: four attributes, its cell 0..8 (row by row), jitter in pixels, brightness in percent."""

    shape: str
    colour: str
    size: str
    fill: str
    cell: int
    dx: float = 0.0
    dy: float = 0.0
    tint: int = 0

    @property
    def row(self) -> int:
        return self.cell // GRID

    @property
    def column(self) -> int:
        return self.cell % GRID


@dataclass(frozen=True)
class Scene:
    """A background and two to five things in different cells."""

    background: str
    things: tuple[Thing, ...]

    @property
    def content(self) -> tuple:
        """Equal for two scenes that no caption can tell apart: attributes and cells, without jitter and tint."""
        things = sorted((one.shape, one.colour, one.size, one.fill, one.cell) for one in self.things)
        return self.background, tuple(things)

    @classmethod
    def from_json(cls, data: dict) -> Scene:
        return cls(data["background"], tuple(Thing(**thing) for thing in data["things"]))


def pick(rng: np.random.Generator, values):
    """One of ``values``, each equally likely."""
    return values[int(rng.integers(len(values)))]


def sample(rng: np.random.Generator) -> Scene:
    """A random scene: attributes independent and uniform (but for ``fill``), cells without repetition."""
    draw, below = rng.random(), np.cumsum(list(COUNT_SHARES.values()))
    count = list(COUNT_SHARES)[min(int((draw >= below).sum()), len(below) - 1)]
    things = [
        Thing(
            shape=pick(rng, SHAPES),
            colour=pick(rng, COLOURS),
            size=pick(rng, SIZES),
            fill=FILLS[int(rng.random() < STRIPED_SHARE)],
            cell=int(cell),
        )
        for cell in rng.permutation(GRID * GRID)[:count]
    ]
    return jittered(Scene(pick(rng, BACKGROUNDS), tuple(things)), rng)


def jittered(scene: Scene, rng: np.random.Generator) -> Scene:
    """The same scene with new places inside the cells and new tints."""
    things = []
    for thing in scene.things:
        dx, dy = (float(v) / 8 for v in rng.integers(-JITTER[thing.size], JITTER[thing.size] + 1, 2))
        things.append(replace(thing, dx=dx, dy=dy, tint=int(rng.integers(-TINT, TINT + 1))))
    return replace(scene, things=tuple(things))


def swaps(scene: Scene, attribute: str) -> list[Scene]:
    """All scenes in which two things exchanged ``attribute`` ("colour", "shape" or "cell") and that differ."""
    found = []
    for (i, a), (j, b) in combinations(enumerate(scene.things), 2):
        things = list(scene.things)
        things[i] = replace(a, **{attribute: getattr(b, attribute)})
        things[j] = replace(b, **{attribute: getattr(a, attribute)})
        swapped = replace(scene, things=tuple(things))
        if swapped.content != scene.content:
            found.append(swapped)
    return found


def twin(scene: Scene, rng: np.random.Generator) -> tuple[Scene, str]:
    """A scene that differs a little, and how: ``"swap"`` (60 %) or ``"attribute"``.

    A swap exchanges the colours, shapes or cells of two things: the same words describe both scenes, in
    another order. Where the drawn kind of swap changes nothing another kind is taken, and where none does
    the twin changes an attribute. The kind returned is what was done. Jitter and tint are drawn anew.
    """
    if rng.random() < SWAP_SHARE:
        for attribute in rng.permutation(["colour", "shape", "cell"]):
            if candidates := swaps(scene, str(attribute)):
                return jittered(pick(rng, candidates), rng), "swap"
    return jittered(_changed(scene, rng), rng), "attribute"


def _changed(scene: Scene, rng: np.random.Generator) -> Scene:
    """One thing with one other attribute, or moved to a free cell."""
    things = list(scene.things)
    which = int(rng.integers(len(things)))
    attribute = pick(rng, (*VALUES, "cell"))
    if attribute == "cell":
        taken = {thing.cell for thing in things}
        values = [cell for cell in range(GRID * GRID) if cell not in taken]
    else:
        values = [value for value in VALUES[attribute] if value != getattr(things[which], attribute)]
    things[which] = replace(things[which], **{attribute: pick(rng, values)})
    return replace(scene, things=tuple(things))

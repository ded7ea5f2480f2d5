"""Scene graphs, their pictures, boxes and twins."""

import hashlib
import json
from collections import Counter
from itertools import product

import numpy as np

from icrlib.data.scenes import generate, graph, pictures
from icrlib.data.scenes.graph import Scene, Thing

# SHA-256 of what draw_split(40, seed 7) makes; a change of the data on any machine or NumPy version shows here.
DIGEST = "f7bea559c10acd415dcdb08f78461c0e306e2e4faf03f0284d7dff9437de7b12"


def digest(drawn: dict) -> str:
    text = json.dumps([drawn[name] for name in ("captions", "forms", "graphs", "twin_of", "twin_kind", "region_of")])
    return hashlib.sha256(drawn["images"].tobytes() + drawn["boxes"].tobytes() + text.encode()).hexdigest()


def test_data_are_the_same_on_every_machine():
    made = digest(generate.draw_split(40, np.random.default_rng(7)))
    assert made == DIGEST, "the data changed: every record made on scenes belongs to the old ones"


def test_things_stay_in_their_cell_and_do_not_touch():
    """At every size and the largest jitter, nothing is cut off and no two cells can claim one pixel."""
    along = np.arange(-20, 84) + 0.5
    reach = np.zeros((9, 64, 64), bool)  # pixels that a thing of each cell may cover
    for shape, size in product(graph.SHAPES, graph.SIZES):
        most = graph.JITTER[size] / 8
        for dx, dy in product((-most, 0, most), repeat=2):
            things = [Thing(shape, "red", size, "plain", cell, dx, dy) for cell in range(9)]
            masks = np.stack([pictures.mask(thing) for thing in things])
            reach |= masks
            # Drawn without the patch of its cell, the shape has as many pixels.
            (cx, cy), radius = pictures.centre(things[4]), pictures.RADIUS[size]
            free = pictures.inside(shape, (along[None] - cx) / radius, (along[:, None] - cy) / radius)
            assert free.sum() == masks[4].sum() > 0
    assert reach.sum(0).max() == 1


def test_star_is_the_cosine_it_stands_for():
    along = np.linspace(-1.1, 1.1, 101)
    x, y = along[None] + 0 * along[:, None], along[:, None] + 0 * along[None]
    angle, radius = np.arctan2(y, x), np.hypot(x, y)
    edge = 0.6 + 0.4 * np.cos(5 * (angle + np.pi / 2))
    clear = abs(radius - edge) > 1e-9
    assert (pictures.inside("star", x, y) == (radius < edge))[clear].all()


def test_boxes_are_tight_and_distractors_inside(drawn):
    for scene, boxes, which in zip(drawn.graphs, drawn.boxes.astype(int), drawn.region_of.tolist(), strict=True):
        assert sorted(which) == [-1] * (8 - len(scene.things)) + list(range(len(scene.things)))
        assert (boxes[:, :2] < boxes[:, 2:]).all() and boxes.max() <= 64
        for (x0, y0, x1, y1), index in zip(boxes, which, strict=True):
            if index >= 0:
                pixels = pictures.mask(scene.things[index])
                inner = pixels[y0:y1, x0:x1]
                assert inner.sum() == pixels.sum()
                assert inner[0].any() and inner[-1].any() and inner[:, 0].any() and inner[:, -1].any()
    first = drawn.region_of[:, 0].tolist()
    assert -1 in first and 0 in first, "the order of the regions must not tell what is in them"


def test_twins_differ_in_one_field_and_swaps_say_the_same_words(drawn):
    made = list(zip(drawn.twin_of.tolist(), drawn.twin_kind, drawn.twin_field, strict=True))
    for row, (other, kind, field) in enumerate(made):
        assert (kind == "") == (other == -1) == (field == "")
        if other < 0:
            continue
        assert other == row - 1, "a twin follows its original"
        scene, original = drawn.graphs[row], drawn.graphs[other]
        values = {
            name: [[getattr(thing, name) for thing in one.things] for one in (scene, original)]
            for name in (*graph.VALUES, "cell", "dx")
        }
        (name,) = {name for name, (a, b) in values.items() if a != b} - {"dx"}
        assert field == (name if name in ("shape", "colour", "cell") else "other")
        assert (sorted(values[name][0]) == sorted(values[name][1])) == (kind == "swap")
        assert scene.content != original.content and scene.background == original.background
        assert values["dx"][0] != values["dx"][1], "jitter is drawn anew"
    kinds = Counter(drawn.twin_kind)
    assert kinds[""] > kinds["swap"] > kinds["attribute"] > 0
    swapped = {("swap", "shape"), ("swap", "colour"), ("swap", "cell"), ("attribute", "other")}
    assert swapped <= {(kind, field) for _, kind, field in made}


def test_a_swap_that_changes_nothing_is_never_called_a_swap():
    same = Scene("dark", tuple(Thing("ring", "red", "small", "plain", cell) for cell in (0, 5)))
    assert not any(graph.swaps(same, name) for name in ("colour", "shape", "cell"))
    for seed in range(30):
        assert graph.twin(same, np.random.default_rng(seed))[1] == "attribute"

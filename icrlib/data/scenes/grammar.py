"""Captions with their logical form, and the truth of a form in a scene.

A form is plain JSON: ``{"things": [{"shape": "ring", "colour": "red"}, ...], "relation": "left of" | None,
"count": 3 | None, "background": "dark" | None}``. It says: there are *different* things in the scene that match the
descriptions one by one; if there is a relation, the first stands in it to the second; the scene holds so many
things; its background is so.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import permutations

import numpy as np

from icrlib.data.scenes.graph import VALUES, Scene, Thing, pick

CAPTIONS_PER_IMAGE = 5
RELATIONS = ("left of", "right of", "above", "below")
SYNONYMS = {
    "circle": ("circle", "disc"),
    "square": ("square", "box"),
    "triangle": ("triangle",),
    "diamond": ("diamond",),
    "ring": ("ring", "hoop"),
    "cross": ("cross", "plus"),
    "star": ("star",),
    "bar": ("bar", "stick"),
    "small": ("small", "little"),
    "large": ("large", "big"),
}
NUMBERS = ("no", "one", "two", "three", "four", "five")
ORDER = ("first", "second", "third")
_MOST = len(NUMBERS) - 1


def related(a: Thing, relation: str, b: Thing) -> bool:
    """Whether ``a`` stands in ``relation`` to ``b``: by grid columns or rows, never by jitter."""
    if relation == "left of":
        return a.column < b.column
    if relation == "right of":
        return a.column > b.column
    if relation == "above":
        return a.row < b.row
    if relation == "below":
        return a.row > b.row
    raise ValueError(f"unknown relation {relation!r}; allowed: {', '.join(RELATIONS)}")


# -- captions ------------------------------------------------------------------------------------------------


def _mention(thing: Thing, rng: np.random.Generator, colour: float, size: float, fill: float) -> dict:
    """Some of the facts about a thing; the numbers are how likely each is told. Plain is never told."""
    told = {"shape": thing.shape}
    if rng.random() < colour:
        told["colour"] = thing.colour
    if rng.random() < size:
        told["size"] = thing.size
    if thing.fill == "striped" and rng.random() < fill:
        told["fill"] = "striped"
    return told


def _attributes(told: dict, rng: np.random.Generator, keys: Sequence[str] = ("size", "fill", "colour", "shape")) -> str:
    """What is told of a thing, in the order of ``keys``; synonyms drawn at random."""
    return " ".join(pick(rng, SYNONYMS.get(told[key], (told[key],))) for key in keys if key in told)


def _words(told: dict, rng: np.random.Generator) -> str:
    """A mention in English: article, size, fill, colour, shape."""
    text = _attributes(told, rng)
    return ("an " if text[0] in "aeiou" else "a ") + text


def _joined(mentions: list[str], relation: str | None) -> str:
    """Two mentions with a relation between them, or a list of two or three."""
    return f" {relation} ".join(mentions) if relation else ", ".join(mentions[:-1]) + " and " + mentions[-1]


def caption(scene: Scene, rng: np.random.Generator) -> tuple[str, dict]:
    """A caption that is true of ``scene``, and its form.

    55 % relations between two things, 30 % lists of two or three, 15 % single things, most of which say how many
    things there are; one caption in five names the background.
    """
    form = {"things": [], "relation": None, "count": None, "background": None}
    order = [scene.things[i] for i in rng.permutation(len(scene.things))]
    kind = rng.random()
    if kind < 0.55:
        choices = [(a, name, b) for a, b in permutations(scene.things, 2) for name in RELATIONS if related(a, name, b)]
        a, form["relation"], b = pick(rng, choices)
        form["things"] = [_mention(a, rng, 0.9, 0.45, 0.8), _mention(b, rng, 0.9, 0.45, 0.8)]
        text = _joined([_words(told, rng) for told in form["things"]], form["relation"])
    elif kind < 0.85:
        some = order[: 2 + int(rng.random() < 0.5)]
        form["things"] = [_mention(thing, rng, 0.9, 0.5, 0.8) for thing in some]
        text = _joined([_words(told, rng) for told in form["things"]], None)
    else:
        form["things"] = [_mention(order[0], rng, 1.0, 0.8, 1.0)]
        text = pick(rng, ("there is ", "we see ")) + _words(form["things"][0], rng)
        if rng.random() < 0.6:
            form["count"] = len(scene.things)
            text += f" among {NUMBERS[form['count']]} things"
    if rng.random() < 0.2:
        form["background"] = scene.background
        text += f" on a {scene.background} background"
    return text, form


def told_plainly(form: dict, rng: np.random.Generator) -> str:
    """A form in words as :func:`caption` puts it, attributes before their shape; synonyms drawn at random."""
    words = [_words(thing, rng) for thing in form["things"]]
    text = _joined(words, form["relation"]) if len(words) > 1 else pick(rng, ("there is ", "we see ")) + words[0]
    text += f" among {NUMBERS[form['count']]} things" if form["count"] is not None else ""
    return text + (f" on a {form['background']} background" if form["background"] is not None else "")


def told_apart(form: dict, rng: np.random.Generator) -> str:
    """The same form with the things first, and then what each of them is, far from its shape: "a disc left of a star,
    the first green, the second big brown"; "we see a disc among four things, and it is green".

    No run of up to four words (a comma is one) holds an attribute and a shape, so which of them belong together is
    told by no n-gram, where in a plain caption a pair of neighbours says it.
    """
    heads = ["a " + _attributes(told, rng, ("shape",)) for told in form["things"]]
    facts = [_attributes(told, rng, ("size", "fill", "colour")) for told in form["things"]]
    if len(heads) == 1:
        text = pick(rng, ("there is ", "we see ")) + heads[0]
        text += f" among {NUMBERS[form['count']]} things" if form["count"] is not None else ""
        text += f", and it is {facts[0]}" if facts[0] else ""
    else:
        told = [f", the {which} {what}" for which, what in zip(ORDER, facts, strict=False) if what]
        text = _joined(heads, form["relation"]) + "".join(told)
    return text + (f" on a {form['background']} background" if form["background"] is not None else "")


def label(form: dict) -> tuple[str, dict]:
    """Shape and colour of the first thing of a form, "a red ring", as in a catalogue, and the form of that alone.

    There are so few of them that many pictures share each, and no two ways to say one.
    """
    told = {key: value for key, value in form["things"][0].items() if key in ("shape", "colour")}
    text = " ".join(told[key] for key in ("colour", "shape") if key in told)
    return f"{'an' if text[0] in 'aeiou' else 'a'} {text}", form | {
        "things": [told],
        "relation": None,
        "count": None,
        "background": None,
    }


# -- truth ---------------------------------------------------------------------------------------------------


def truth(form: dict, scene: Scene) -> bool:
    """Whether a logical form holds in a scene. Written to be read; :func:`truth_matrix` is the fast way."""
    if form["background"] is not None and form["background"] != scene.background:
        return False
    if form["count"] is not None and form["count"] != len(scene.things):
        return False
    for chosen in permutations(scene.things, len(form["things"])):
        matches = all(
            getattr(thing, attribute) == value
            for thing, told in zip(chosen, form["things"], strict=True)
            for attribute, value in told.items()
        )
        if matches and (form["relation"] is None or related(chosen[0], form["relation"], chosen[1])):
            return True
    return False


def truth_matrix(forms: Sequence[dict], scenes: Sequence[Scene]) -> np.ndarray:
    """``truth`` of every form in every scene, bool (len(forms), len(scenes)).

    The things that match a description are the bits of one byte per scene. A relation holds if some thing that
    stands in it to a matching first thing matches second. Descriptions without a relation need different things:
    by Hall's theorem those exist if any k descriptions together match at least k things.
    """
    facts = _Facts(scenes)
    found = np.empty((len(forms), len(scenes)), bool)
    seen: dict[str, int] = {}
    for row, form in enumerate(forms):
        key = json.dumps(form, sort_keys=True)
        found[row] = found[seen[key]] if key in seen else facts.holds(form)
        seen.setdefault(key, row)
    return found


class _Facts:
    """The scenes as arrays: per attribute a code for each thing, (N, 5), padded with -1."""

    _ones = np.array([bin(bits).count("1") for bits in range(1 << _MOST)], np.uint8)

    def __init__(self, scenes: Sequence[Scene]) -> None:
        shape = (len(scenes), _MOST)
        self.codes = {name: np.full(shape, -1, np.int8) for name in (*VALUES, "row", "column")}
        self.count = np.array([len(scene.things) for scene in scenes], np.int64)
        self.background = np.array([scene.background for scene in scenes], dtype=object)
        for i, scene in enumerate(scenes):
            for j, thing in enumerate(scene.things):
                for name, codes in self.codes.items():
                    value = getattr(thing, name)
                    codes[i, j] = VALUES[name].index(value) if name in VALUES else value
        self.here = self.codes["row"] >= 0
        self.matches: dict[tuple, np.ndarray] = {}
        self.reach = {name: self._reach(name) for name in RELATIONS}

    @staticmethod
    def _bits(flags: np.ndarray) -> np.ndarray:
        return (flags << np.arange(_MOST, dtype=np.uint8)).sum(-1, dtype=np.uint8)

    def _reach(self, relation: str) -> np.ndarray:
        """For every scene and set of things (as bits): the things to which one of the set stands in ``relation``."""
        place = self.codes["column" if relation in ("left of", "right of") else "row"]
        first, second = place[:, :, None], place[:, None, :]
        holds = first < second if relation in ("left of", "above") else first > second
        single = self._bits(holds & self.here[:, :, None] & self.here[:, None, :])
        reach = np.zeros((len(place), 1 << _MOST), np.uint8)
        for bits in range(1 << _MOST):
            for thing in range(_MOST):
                if bits >> thing & 1:
                    reach[:, bits] |= single[:, thing]
        return reach

    def match(self, told: dict) -> np.ndarray:
        """Things that a description fits, as bits, uint8 (N,)."""
        key = tuple(sorted(told.items()))
        if key not in self.matches:
            flags = self.here.copy()
            for attribute, value in key:
                flags &= self.codes[attribute] == VALUES[attribute].index(value)
            self.matches[key] = self._bits(flags)
        return self.matches[key]

    def holds(self, form: dict) -> np.ndarray:
        """Truth of one form in all scenes, bool (N,)."""
        things = [self.match(told) for told in form["things"]]
        if form["relation"] is not None:
            first, second = things
            reached = self.reach[form["relation"]][np.arange(len(first)), first]
            result = (reached & second) != 0
        else:
            result = np.ones(len(self.count), bool)
            for chosen in range(1, 1 << len(things)):
                some = [bits for k, bits in enumerate(things) if chosen >> k & 1]
                result &= self._ones[np.bitwise_or.reduce(some)] >= len(some)
        if form["count"] is not None:
            result &= self.count == form["count"]
        if form["background"] is not None:
            result &= self.background == form["background"]
        return result

"""Captions with their logical form, and the truth of a form in a scene.

A form is plain JSON: ``{"things": [{"shape": "ring", "colour": "red"}, ...], "relation": "left of" | None,
"count": 3 | None, "background": "dark" | None}``. It says: there are *different* things in the scene that match the
descriptions one by one; if there is a relation, the first stands in it to the second; the scene holds so many
things; its background is so.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import combinations, permutations

import numpy as np

from icrlib.data.scenes.graph import VALUES, Scene, Thing, pick

CAPTIONS_PER_IMAGE = 5
RELATIONS = {
    "left of": ("column", operator.lt),
    "right of": ("column", operator.gt),
    "above": ("row", operator.lt),
    "below": ("row", operator.gt),
}
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
LEADS = ("there is ", "we see ")  # before a single thing
_MOST = len(NUMBERS) - 1


def related(a: Thing, relation: str, b: Thing) -> bool:
    """Whether ``a`` stands in ``relation`` to ``b``: by grid columns or rows, never by jitter."""
    axis, before = RELATIONS[relation]
    return before(getattr(a, axis), getattr(b, axis))


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


def with_article(words: str) -> str:
    return f"{'an' if words[0] in 'aeiou' else 'a'} {words}"


def sentence(mentions: list[str], form: dict, lead: str = "") -> str:
    """A caption of these mentions, with relation, count and background of its ``form``; ``lead`` stands in front."""
    if form["relation"] is not None:
        text = f" {form['relation']} ".join(mentions)
    else:
        text = lead + " and ".join(part for part in (", ".join(mentions[:-1]), mentions[-1]) if part)
    if form["count"] is not None:
        text += f" among {NUMBERS[form['count']]} things"
    return text + (f" on a {form['background']} background" if form["background"] is not None else "")


def caption(scene: Scene, rng: np.random.Generator) -> tuple[str, dict]:
    """A caption that is true of ``scene``, and its form.

    55 % relations between two things, 30 % lists of two or three, 15 % single things, most of which say how many
    things there are; one caption in five names the background.
    """
    form = {"things": [], "relation": None, "count": None, "background": None}
    order = [scene.things[i] for i in rng.permutation(len(scene.things))]
    kind, lead = rng.random(), ""
    if kind < 0.55:
        choices = [(a, name, b) for a, b in permutations(scene.things, 2) for name in RELATIONS if related(a, name, b)]
        a, form["relation"], b = pick(rng, choices)
        form["things"] = [_mention(a, rng, 0.9, 0.45, 0.8), _mention(b, rng, 0.9, 0.45, 0.8)]
    elif kind < 0.85:
        some = order[: 2 + int(rng.random() < 0.5)]
        form["things"] = [_mention(thing, rng, 0.9, 0.5, 0.8) for thing in some]
    else:
        form["things"] = [_mention(order[0], rng, 1.0, 0.8, 1.0)]
        lead = pick(rng, LEADS)
    mentions = [with_article(_attributes(told, rng)) for told in form["things"]]
    if lead and rng.random() < 0.6:
        form["count"] = len(scene.things)
    if rng.random() < 0.2:
        form["background"] = scene.background
    return sentence(mentions, form, lead), form


def told_plainly(form: dict, rng: np.random.Generator) -> str:
    """A form in words as :func:`caption` puts it, attributes before their shape; synonyms drawn at random."""
    mentions = [with_article(_attributes(told, rng)) for told in form["things"]]
    return sentence(mentions, form, "" if mentions[1:] else pick(rng, LEADS))


def told_apart(form: dict, rng: np.random.Generator) -> str:
    """The same form with the things first, and then what each of them is, far from its shape: "a disc left of a star,
    the first green, the second big brown"; "we see a disc among four things, and it is green".

    No run of up to four words (a comma is one) holds an attribute and a shape, so which of them belong together is
    told by no n-gram, where in a plain caption a pair of neighbours says it.
    """
    heads = ["a " + _attributes(told, rng, ("shape",)) for told in form["things"]]
    facts = [_attributes(told, rng, ("size", "fill", "colour")) for told in form["things"]]
    text = sentence(heads, form | {"background": None}, "" if heads[1:] else pick(rng, LEADS))
    subjects = [f", the {which} " for which in ORDER] if heads[1:] else [", and it is "]
    text += "".join(subject + fact for subject, fact in zip(subjects, facts, strict=False) if fact)
    return text + (f" on a {form['background']} background" if form["background"] is not None else "")


def label(form: dict) -> dict:
    """A form that keeps shape and colour of the first thing alone; there are so few that many pictures share each."""
    told = {key: value for key, value in form["things"][0].items() if key in ("shape", "colour")}
    return {"things": [told], "relation": None, "count": None, "background": None}


def told_as_label(form: dict, rng: np.random.Generator) -> str:
    """The first thing of a form as in a catalogue, "a red ring": no other way to say it, so nothing is drawn."""
    told = form["things"][0]
    return with_article(" ".join(told[key] for key in ("colour", "shape") if key in told))


PHRASINGS = {"plain": told_plainly, "apart": told_apart, "label": told_as_label}


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
    """:func:`truth` of every form in every scene, bool (len(forms), len(scenes)).

    What :func:`truth` asks of one choice of things after the other stands in arrays with an axis of five for each thing
    that is chosen, and the scenes along the last axis.
    """
    codes = {name: np.full((_MOST, len(scenes)), -1, np.int8) for name in (*VALUES, "row", "column")}
    for i, scene in enumerate(scenes):
        for j, thing in enumerate(scene.things):
            for name, code in codes.items():
                value = getattr(thing, name)
                code[j, i] = VALUES[name].index(value) if name in VALUES else value
    exists = codes["row"] >= 0
    count = exists.sum(0)
    background = np.array([scene.background for scene in scenes], dtype=object)
    allowed: dict = {name: before(codes[axis][:, None], codes[axis]) for name, (axis, before) in RELATIONS.items()}
    for things in (1, 2, 3):  # without a relation: different ones
        allowed[things] = np.zeros((_MOST,) * things + (1,), bool)
        allowed[things][tuple(zip(*permutations(range(_MOST), things), strict=True))] = True

    @cache
    def matching(told: frozenset) -> np.ndarray:
        """Which things a description fits, bool (5, N)."""
        fits = [codes[attribute] == VALUES[attribute].index(value) for attribute, value in told]
        return np.logical_and.reduce([exists, *fits])

    def holds(form: dict) -> np.ndarray:
        things = form["things"]
        ways = allowed[form["relation"] or len(things)]
        for axis, told in enumerate(things):
            others = [other for other in range(len(things)) if other != axis]
            ways = ways & np.expand_dims(matching(frozenset(told.items())), others)
        found = ways.reshape(-1, len(scenes)).any(0)
        if form["count"] is not None:
            found &= count == form["count"]
        if form["background"] is not None:
            found &= background == form["background"]
        return found

    return np.array([holds(form) for form in forms]).reshape(len(forms), len(scenes))


# -- foils: captions of the same words that are false of the picture, as negatives in training ---------------------


def exchanges(things: Sequence[dict], keys: Sequence[str]) -> Iterator[list[dict]]:
    """The things with one of the ``keys`` exchanged between two that differ in it, one exchange after the other."""
    for (i, a), (j, b) in combinations(enumerate(things), 2):
        for key in keys:
            if key in a and key in b and a[key] != b[key]:
                changed = list(things)
                changed[i], changed[j] = {**a, key: b[key]}, {**b, key: a[key]}
                yield changed


def false_forms(form: dict, scene: Scene) -> list[dict]:
    """Forms that are false of the ``scene``, of which ``form`` is true, and that the same words tell.

    Two things exchange shape, colour or size, or the two sides of a relation are exchanged. Where none of these is
    false, as of a single thing, the first thing gets another colour, or another shape where none was told.
    """
    things = form["things"]
    found = list(exchanges(things, ("shape", "colour", "size")))
    if form["relation"] is not None:
        found.append(things[::-1])

    def false(some: Iterable[list[dict]]) -> list[dict]:
        return [made for changed in some if not truth(made := {**form, "things": changed}, scene)]

    # A scene has fewer things than there are shapes or colours, so one of the others is always false.
    key = "colour" if "colour" in things[0] else "shape"
    return false(found) or false([{**things[0], key: value}, *things[1:]] for value in VALUES[key])

"""What captions and pictures of scenes state, as questions with one right answer: for probes of what a model keeps.

A fact is asked of encodings, such as "which colour has the first thing?". Some are asked as a choice between two
answers that the same caption or picture both holds, "which of its colours has the ring?": whoever knows only *that*
there is a ring, something red and something blue, is right half of the time. So a choice tells knowing who has what
from knowing what is there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from icrlib.data.scenes.grammar import RELATIONS
from icrlib.data.scenes.graph import BACKGROUNDS, COLOURS, COUNT_SHARES, GRID, SHAPES, VALUES, Scene

KINDS = ("caption", "picture")
COUNTS = tuple(COUNT_SHARES)  # of things in a scene


@dataclass(frozen=True)
class Fact:
    """A question about the rows of an encoded split.

    ``known`` (T, 3) int64: row, group, right answer, for fitting; each group has a probe of its own, such as one for
    each shape. ``asked`` (Q, 4): the same, and the one wrong answer that stands to choice, or -1: any of ``answers``.
    """

    name: str
    answers: int
    known: Tensor
    asked: Tensor

    @property
    def choice(self) -> bool:
        """Whether it is asked between two answers, so that chance is one half."""
        return bool((self.asked[:, 3] >= 0).any())


def facts(split, of: str) -> list[Fact]:
    """All facts of the captions or of the pictures of a scenes ``split``; ``of`` is "caption" or "picture"."""
    made = []
    for name, answers, known, *asked in _of_captions(split.forms) if of == "caption" else _of_pictures(split.graphs):
        cases = torch.tensor(known, dtype=torch.long).view(-1, 3)
        if asked:
            questions = torch.tensor(asked[0], dtype=torch.long).view(-1, 4)
        else:
            questions = torch.nn.functional.pad(cases, (0, 1), value=-1)
        made.append(Fact(name, answers, cases, questions))
    return made


def _of_captions(forms: list[dict]) -> Iterator[tuple]:
    named = [form["things"] for form in forms]
    for place, which in enumerate(("first", "second")):
        there = [(row, things[place]) for row, things in enumerate(named) if len(things) > place]
        for attribute in ("shape", "colour", "size"):
            values = VALUES[attribute]
            known = [(row, 0, values.index(thing[attribute])) for row, thing in there if attribute in thing]
            yield f"{attribute} of the {which}", len(values), known
        # Plain is never told, so the question is whether striped is.
        yield f"is the {which} striped?", 2, [(row, 0, "fill" in thing) for row, thing in there]
    for key, values in (("relation", tuple(RELATIONS)), ("count", COUNTS), ("background", BACKGROUNDS)):
        known = [(row, 0, values.index(form[key])) for row, form in enumerate(forms) if form[key] is not None]
        yield key, len(values), known
    for attribute in ("shape", "colour"):
        told = [[thing.get(attribute) for thing in things] for things in named]
        yield f"{attribute}s named", 2, _presence(attribute, told)
    coloured = [[(thing["shape"], thing.get("colour")) for thing in things] for things in named]
    yield "whose colour", len(COLOURS), *_whose(coloured, COLOURS)
    for name, straight, turned in (("who is left", "left of", "right of"), ("who is above", "above", "below")):
        pairs = []
        for row, form in enumerate(forms):
            if form["relation"] in (straight, turned):
                one, other = (SHAPES.index(thing["shape"]) for thing in form["things"])
                pairs.append((row, 0, one, other) if form["relation"] == straight else (row, 0, other, one))
        yield name, len(SHAPES), [pair[:3] for pair in pairs], [pair for pair in pairs if pair[2] != pair[3]]


def _of_pictures(graphs: list[Scene]) -> Iterator[tuple]:
    yield "count", len(COUNTS), [(row, 0, COUNTS.index(len(scene.things))) for row, scene in enumerate(graphs)]
    grounds = [(row, 0, BACKGROUNDS.index(scene.background)) for row, scene in enumerate(graphs)]
    yield "background", len(BACKGROUNDS), grounds
    for attribute in ("shape", "colour"):
        held = [[getattr(thing, attribute) for thing in scene.things] for scene in graphs]
        yield f"{attribute}s there", 2, _presence(attribute, held)
    for attribute in ("size", "fill", "colour", "column", "row"):
        values = VALUES.get(attribute, range(GRID))
        held = [[(thing.shape, getattr(thing, attribute)) for thing in scene.things] for scene in graphs]
        known, asked = _whose(held, values)
        if len(values) == 2:
            yield f"{attribute} of a shape", 2, known
        else:
            yield f"whose {attribute}", len(values), known, asked


def _presence(attribute: str, rows: list[list]) -> list[tuple[int, int, int]]:
    """For each row and each value: is it among the row's?"""
    return [
        (row, group, int(value in held))
        for row, held in enumerate(rows)
        for group, value in enumerate(VALUES[attribute])
    ]


def _whose(rows: list[list[tuple]], values: Sequence) -> tuple[list[tuple], list[tuple]]:
    """Known and asked cases of "the thing of this shape has which value?", from (shape, value) of each row's things.

    The shape has to be the only one of its kind in the row. A value of None was not told. Asked is against each other
    thing with another value.
    """
    known, asked = [], []
    for row, things in enumerate(rows):
        shapes = [shape for shape, _ in things]
        for shape, value in things:
            if value is None or shapes.count(shape) > 1:
                continue
            case = row, SHAPES.index(shape), values.index(value)
            known.append(case)
            asked += [(*case, values.index(other)) for _, other in things if other not in (None, value)]
    return known, asked

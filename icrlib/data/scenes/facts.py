"""What captions and pictures of scenes state, as questions with one right answer: for probes of what a model keeps.

A fact is asked of encodings, such as "which colour has the first thing?". Some are asked as a choice between two
answers that the same caption or picture both holds, "which of its colours has the ring?": whoever knows only *that*
there is a ring, something red and something blue, is right half of the time. So a choice tells knowing who has what
from knowing what is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from icrlib.data.scenes.grammar import RELATIONS
from icrlib.data.scenes.graph import BACKGROUNDS, COLOURS, COUNT_SHARES, FILLS, GRID, SHAPES, SIZES, VALUES, Thing

KINDS = ("caption", "picture")


@dataclass(frozen=True)
class Fact:
    """A question about the rows of an encoded split.

    ``known`` (T, 3) int64: row, group, right answer, for fitting; each group has a probe of its own, such as one for
    each shape. ``asked`` (Q, 4): the same, and the one wrong answer that stands to choice, or -1: any of ``answers``.
    """

    of: str
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
    if of not in KINDS:
        raise ValueError(f"of= must be one of {', '.join(KINDS)}; got {of!r}")
    return list(_of_captions(split.forms) if of == "caption" else _of_pictures(split.graphs))


def _plain(of: str, name: str, answers: int, cases: Iterable[tuple[int, int, int]]) -> Fact:
    known = torch.tensor(list(cases), dtype=torch.long).view(-1, 3)
    return Fact(of, name, answers, known, torch.cat([known, torch.full((len(known), 1), -1)], 1))


def _choice(of: str, name: str, answers: int, known: Iterable[tuple], asked: Iterable[tuple]) -> Fact:
    return Fact(
        of,
        name,
        answers,
        torch.tensor(list(known), dtype=torch.long).view(-1, 3),
        torch.tensor(list(asked), dtype=torch.long).view(-1, 4),
    )


def _of_captions(forms: list[dict]) -> Iterator[Fact]:
    for place, which in enumerate(("first", "second")):
        there = [(row, form["things"][place]) for row, form in enumerate(forms) if len(form["things"]) > place]
        for attribute in ("shape", "colour", "size"):
            yield _plain(
                "caption",
                f"{attribute} of the {which}",
                len(VALUES[attribute]),
                [(row, 0, VALUES[attribute].index(told[attribute])) for row, told in there if attribute in told],
            )
        # Plain is never told, so the question is whether striped is.
        yield _plain("caption", f"is the {which} striped?", 2, [(row, 0, int("fill" in told)) for row, told in there])
    for key, values in (("relation", RELATIONS), ("count", tuple(COUNT_SHARES)), ("background", BACKGROUNDS)):
        yield _plain(
            "caption",
            key,
            len(values),
            [(row, 0, values.index(form[key])) for row, form in enumerate(forms) if form[key] is not None],
        )
    named = [form["things"] for form in forms]
    for attribute in ("shape", "colour"):
        yield _plain(
            "caption",
            f"{attribute}s named",
            2,
            _presence(attribute, [{told[attribute] for told in things if attribute in told} for things in named]),
        )
    yield _choice(
        "caption",
        "whose colour",
        len(COLOURS),
        *_whose([[(told["shape"], told.get("colour")) for told in things] for things in named], COLOURS.index),
    )
    for name, relations in (("who is left", ("left of", "right of")), ("who is above", ("above", "below"))):
        pairs = [(row, *_in_order(form, relations)) for row, form in enumerate(forms) if form["relation"] in relations]
        yield _choice(
            "caption",
            name,
            len(SHAPES),
            [(row, 0, one) for row, one, _ in pairs],
            [(row, 0, one, other) for row, one, other in pairs if one != other],
        )


def _in_order(form: dict, relations: tuple[str, str]) -> list[int]:
    """Shapes of the two things of a relation, the one on the left, or above, first."""
    shapes = [SHAPES.index(told["shape"]) for told in form["things"]]
    return shapes if form["relation"] == relations[0] else shapes[::-1]


def _of_pictures(graphs: list) -> Iterator[Fact]:
    counts = tuple(COUNT_SHARES)
    yield _plain(
        "picture", "count", len(counts), [(row, 0, counts.index(len(scene.things))) for row, scene in enumerate(graphs)]
    )
    yield _plain(
        "picture",
        "background",
        len(BACKGROUNDS),
        [(row, 0, BACKGROUNDS.index(scene.background)) for row, scene in enumerate(graphs)],
    )
    for attribute in ("shape", "colour"):
        yield _plain(
            "picture",
            f"{attribute}s there",
            2,
            _presence(attribute, [{getattr(thing, attribute) for thing in scene.things} for scene in graphs]),
        )
    things = [list(scene.things) for scene in graphs]
    for attribute, values in (("size", SIZES), ("fill", FILLS)):
        held = [[(thing.shape, getattr(thing, attribute)) for thing in some] for some in things]
        yield _plain("picture", f"{attribute} of a shape", 2, _whose(held, values.index)[0])
    seen: tuple[tuple[str, int, Callable[[Thing], int]], ...] = (
        ("whose colour", len(COLOURS), lambda thing: COLOURS.index(thing.colour)),
        ("whose column", GRID, lambda thing: thing.column),
        ("whose row", GRID, lambda thing: thing.row),
    )
    for name, answers, value in seen:
        yield _choice(
            "picture", name, answers, *_whose([[(thing.shape, value(thing)) for thing in some] for some in things], int)
        )


def _presence(attribute: str, sets: list[set]) -> list[tuple[int, int, int]]:
    """For each row and each value: is it in the row's set?"""
    return [
        (row, group, int(value in held))
        for row, held in enumerate(sets)
        for group, value in enumerate(VALUES[attribute])
    ]


def _whose(rows: list[list[tuple]], index: Callable) -> tuple[list[tuple], list[tuple]]:
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
            case = row, SHAPES.index(shape), index(value)
            known.append(case)
            asked += [(*case, index(other)) for _, other in things if other not in (None, value)]
    return known, asked

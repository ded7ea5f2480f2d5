"""The oracle on ``scenes``: what a caption says, as a vector that keeps who is where and who has which colour.

Layout of the 219 numbers (:data:`BLOCKS`); a fact is an attribute with its value, such as colour red, 19 of them:

========== ======= ===== ============================================================================================
block      numbers share what stands there
========== ======= ===== ============================================================================================
``facts``  19      1     how many of the things mentioned have the fact
``pairs``  114     2     how many have two facts at once (red *and* ring): whose colour it is
``left``   19      3     facts of the thing that the caption puts on the left
``right``  19      3     … on the right
``upper``  19      3     … above
``lower``  19      3     … below
``named``  3       1     one-hot: one, two or three things are mentioned
``count``  4       2     one-hot: the caption says that there are two, three, four or five things
``ground`` 3       2     one-hot: background
========== ======= ===== ============================================================================================

Each number is multiplied by the root of its block's share, then the row is scaled to length 1. Things are summed, and
"right of" and "below" fill the blocks of "left of" and "above" with the things turned round, so that all ways to say
the same give equal vectors. Exchanging two colours moves ``pairs`` and, with a relation, the blocks of places.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import torch
from torch import Tensor

from icrlib.data.scenes.graph import BACKGROUNDS, COUNT_SHARES, VALUES
from icrlib.data.targets.base import Teacher, unit
from icrlib.data.targets.wording import parse
from icrlib.files import sha256_of

FACTS = [(name, value) for name, values in VALUES.items() for value in values if value != "plain"]
PAIRS = [(a, b) for a, b in combinations(FACTS, 2) if a[0] != b[0]]
BLOCKS = {
    "facts": (FACTS, 1),
    "pairs": (PAIRS, 2),
    **{place: (FACTS, 3) for place in ("left", "right", "upper", "lower")},
    "named": ([1, 2, 3], 1),
    "count": (list(COUNT_SHARES), 2),
    "ground": (list(BACKGROUNDS), 2),
}
PLACES = {
    "left of": ("left", "right"),
    "right of": ("right", "left"),
    "above": ("upper", "lower"),
    "below": ("lower", "upper"),
}
WHERE = {(block, entry): i for i, (block, entry) in enumerate((b, e) for b, (some, _) in BLOCKS.items() for e in some)}
SCALE = torch.tensor([share for some, share in BLOCKS.values() for _ in some]).sqrt()


def form_vectors(forms: Sequence[dict]) -> Tensor:
    """Logical forms (C) -> (C, 219) float32, rows of length 1."""
    places = [(row, WHERE[place]) for row, form in enumerate(forms) for place in _entries(form)]
    where = torch.tensor(places, dtype=torch.int64).view(-1, 2).unbind(1)
    counts = torch.zeros(len(forms), len(SCALE)).index_put_(where, torch.ones(()), accumulate=True)
    return unit(counts * SCALE, [str(form) for form in forms], "form")


def _entries(form: dict) -> Iterator[tuple]:
    """(block, entry) of everything that a form says, with repetitions."""
    for thing in form["things"]:
        facts = [fact for fact in FACTS if fact in thing.items()]
        yield from (("facts", fact) for fact in facts)
        yield from (("pairs", pair) for pair in combinations(facts, 2))
    if form["relation"] is not None:
        for block, thing in zip(PLACES[form["relation"]], form["things"], strict=True):
            yield from ((block, fact) for fact in thing.items() if fact in FACTS)
    yield "named", len(form["things"])
    for block, value in (("count", form["count"]), ("ground", form["background"])):
        if value is not None:
            yield block, value


class Form(Teacher):
    """The teacher of that name: reads a caption of ``scenes`` back into its logical form."""

    name, size = "form", len(SCALE)
    identity = sha256_of("form 1", repr(BLOCKS))

    def _parts(self, captions: list[str]) -> Iterator[tuple[list[int], Tensor]]:
        yield list(range(len(captions))), form_vectors([parse(caption).form for caption in captions])

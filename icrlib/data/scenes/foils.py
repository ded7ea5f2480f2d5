"""Foils: captions of the same words that are false of the picture, as negatives in training."""

from __future__ import annotations

from itertools import combinations

from icrlib.data.scenes.grammar import truth
from icrlib.data.scenes.graph import VALUES, Scene

EXCHANGED = ("shape", "colour", "size")


def false_forms(form: dict, scene: Scene) -> list[dict]:
    """Forms that are false of the ``scene``, of which ``form`` is true, and that the same words tell.

    Two things exchange shape, colour or size, or the two sides of a relation are exchanged. Where none of these is
    false, as of a single thing, the first thing gets another colour, or another shape where none was told.
    """
    things, found = form["things"], []
    for i, j in combinations(range(len(things)), 2):
        for key in EXCHANGED:
            if key in things[i] and key in things[j] and things[i][key] != things[j][key]:
                found.append(_with(form, {i: {key: things[j][key]}, j: {key: things[i][key]}}))
    if form["relation"] is not None:
        found.append({**form, "things": things[::-1]})
    wrong = [one for one in found if not truth(one, scene)]
    if wrong:
        return wrong
    # A scene has fewer things than there are shapes or colours, so one of the others is always false.
    key = "colour" if "colour" in things[0] else "shape"
    others = [_with(form, {0: {key: value}}) for value in VALUES[key]]
    return [one for one in others if not truth(one, scene)]


def _with(form: dict, changes: dict[int, dict]) -> dict:
    """The form with other values of some things, by their place."""
    return {**form, "things": [thing | changes.get(place, {}) for place, thing in enumerate(form["things"])]}

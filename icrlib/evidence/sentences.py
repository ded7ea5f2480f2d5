"""Sentences that a person wrote, and what of the records each of them claims.

A chapter's takeaway is markdown; folded beside it stands ``check("the sentence", claim, …)``. A claim is data: what is
expected, a function, and the groups of records that the function reads. The check fails, and names the sentence, when
the records no longer say so. That the sentence stands in the markdown word for word is asked by scripts/sentences.py.
"""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from icrlib.experiments.check import SMOKE, printed, same_sign

Groups = tuple[Sequence[Mapping], ...]


class NotSo(AssertionError):
    """The records, or a computation, do not say what a sentence says."""


@dataclass(frozen=True)
class Claim:
    """What is ``expected`` of ``compute(*groups)``, by the ``rule`` that compares both and returns a complaint or ''.

    ``groups``: lists of records, or plain values where nothing was read from records. ``draws``: how many runs each
    list has to hold. ``live``: the numbers come from a training on the page, so that a smoke run does not ask.
    """

    expected: Any
    compute: Callable[..., Any]
    groups: tuple
    rule: Callable[[Any, Any], str]
    draws: int | None = None
    live: bool = False

    def complaint(self, groups: tuple | None = None) -> str:
        """Why the claim does not hold, or an empty string."""
        groups = self.groups if groups is None else groups
        counts = [len(group) for group in groups if records_in(group)]
        if self.draws is not None and any(count != self.draws for count in counts):
            return f"it is about {self.draws} runs, there are {', '.join(map(str, counts))}"
        return self.rule(self.expected, self.compute(*groups))


def number(expected: str | float, compute: Any, *groups, off: float | None = None, draws=None, live=False) -> Claim:
    """The number, or the numbers in order, that the text ``expected`` prints: "438.0", "+8.1 [+5.9, +10.4]".

    ``compute``: a function of the groups, or the value itself. Each must round to what is printed, or lie within
    ``off`` of it. Something with ``mean``, ``low``, ``high`` (a verdict's ``difference``) stands for these three.
    A ``live`` number may be off by three units of its last digit and a tenth of itself: another processor rounds
    differently, and a training amplifies it.
    """
    given = compute if callable(compute) else lambda: compute

    def rule(text, found):
        wanted, got = printed(str(text)), values(found)
        if len(got) < len(wanted):
            return f"{len(wanted)} numbers are printed, {len(got)} were computed"
        for token, value in zip(wanted, got, strict=False):
            digits = len(token.partition(".")[2]) if "e" not in token.lower() else None
            unit = 10.0**-digits if digits is not None else 0.1 * abs(float(token))
            allowed = off if off is not None else 3 * unit + 0.1 * abs(float(token)) if live else 0.5 * unit
            if not abs(value - float(token)) <= allowed * (1 + 1e-9):
                return f"printed is {token}, computed {value:.6g}"
        return ""

    return Claim(expected, given, groups, rule, draws, live)


def word(expected: str, compute: Callable[..., Any], *groups, draws=None, live=False) -> Claim:
    """A verdict's word: ``compute(*groups)`` is it, or has it as ``word``."""

    def rule(wanted, found):
        got = getattr(found, "word", found)
        return "" if got == wanted else f"it says {wanted!r}, the runs say {got!r}"

    return Claim(expected, compute, groups, rule, draws, live)


def greater(measure: Callable[[Any], float], *groups, draws=None, live=False) -> Claim:
    """``measure`` of the first group is greater than of the second, that than of the third, and so on."""

    def rule(_, found):
        ordered = all(a > b for a, b in zip(found, found[1:], strict=False))
        return "" if ordered else "not in falling order: " + ", ".join(f"{x:.4g}" for x in found)

    return Claim(None, lambda *them: [float(measure(one)) for one in them], groups, rule, draws, live)


def check(sentence: str, *claims: Claim, also: str = "") -> None:
    """Fail, naming the ``sentence``, unless all ``claims`` hold and hold every number that it prints.

    ``also``: numbers of the sentence that are no result (a setting, a size, a year). Number words are not looked at.
    """
    if not claims:
        raise NotSo(f"“{sentence}” claims nothing: give check() a number, word or greater")
    held = [token for claim in claims if claim.expected is not None for token in printed(str(claim.expected))]
    if left := [t for t in printed(sentence) if same_sign(t) not in {same_sign(x) for x in [*held, *printed(also)]}]:
        raise NotSo(f"“{sentence}” prints {', '.join(left)}, and no claim holds it")
    for claim in claims:
        if claim.live and SMOKE.run:
            continue
        if complaint := claim.complaint():
            raise NotSo(f"“{sentence}” is not so: {complaint}")
    if path := os.environ.get("ICR_PERTURBED"):
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps({"sentence": sentence, "survives": list(survived(*claims))}) + "\n")


def values(found: Any) -> list[float]:
    """Numbers of what a function returned: one, several, or an interval with mean, low and high."""
    found = getattr(found, "difference", found)  # a verdict's
    if all(hasattr(found, name) for name in ("mean", "low", "high")) and not isinstance(found, np.ndarray):
        return [float(found.mean), float(found.low), float(found.high)]
    return [float(x) for x in np.ravel(np.asarray(found, dtype=float))]


def records_in(group: Any) -> bool:
    return isinstance(group, (list, tuple)) and bool(group) and isinstance(group[0], Mapping) and "test" in group[0]


def survived(*claims: Claim) -> Iterator[str]:
    """Which damage to the records of a claim is noticed by no claim of its sentence: none, if they are claims.

    Its two sides exchanged; its first side moved by three half-widths of its mean, up and down (a count or an order
    may hold in one of the directions, not in both); half of its runs lost. "Undecided" and "equivalent" say the same of
    exchanged sides, so do the same results of both: there is no damage in that.
    """
    for claim in claims:
        lists = [group for group in claim.groups if records_in(group)]
        if not lists or claim.live:
            continue
        same_word = claim.expected in ("undecided", "equivalent")
        different = len(lists) > 1 and [r["test"] for r in lists[0]] != [r["test"] for r in lists[1]]
        if different and not same_word and unnoticed(claims, {key(lists[0]): lists[1], key(lists[1]): lists[0]}):
            yield "exchanged"
        moved = [{key(lists[0]): shifted(lists[0], by)} for by in (3, -3)]
        is_number = claim.rule.__qualname__.startswith("number")
        if (is_number or same_word) and all(unnoticed(claims, damage) for damage in moved):
            yield "moved by three half-widths"
        if unnoticed(claims, {key(group): group[: len(group) // 2] for group in lists}):
            yield "half of the runs lost"


def key(group: Sequence[Mapping]) -> tuple:
    """What a list of records is known by: the same runs may have been asked for twice."""
    return tuple(record.get("path", id(record)) for record in group)


def unnoticed(claims: Sequence[Claim], damage: Mapping[tuple, Sequence[Mapping]]) -> bool:
    """Whether all claims still hold, and can be computed, when lists of records are exchanged for damaged ones."""
    for claim in claims:
        groups = tuple(damage.get(key(group), group) if records_in(group) else group for group in claim.groups)
        try:
            if claim.complaint(groups):
                return False
        except Exception:  # what cannot be computed any more has been noticed
            return False
    return True


def shifted(records: Sequence[Mapping], by: float) -> list[Mapping]:
    """Copies of the records, all numbers of their results moved by ``by`` half-widths of their means."""
    moved = [copy.deepcopy(dict(record)) for record in records]
    for part in ("test", "chosen", "history"):
        found = [dict(leaves(record.get(part, {}))) for record in records]
        for place in set.intersection(*(set(one) for one in found)) if found else ():
            column = np.array([one[place] for one in found], dtype=float)
            spread = 2 * column.std(ddof=1) / np.sqrt(len(column)) if len(column) > 1 else 0.0
            step = by * max(spread, 0.01 * abs(column.mean()), 1e-6)
            for record in moved:
                parent = record[part]
                for key in place[:-1]:
                    parent = parent[key]
                parent[place[-1]] += step
    return moved


def leaves(tree: Any, place: tuple = ()) -> Iterator[tuple[tuple, float]]:
    """Numbers of nested mappings and lists with their places."""
    items = tree.items() if isinstance(tree, Mapping) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in items:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            yield (*place, key), float(value)
        else:
            yield from leaves(value, (*place, key))

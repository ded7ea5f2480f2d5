"""Captions of ``scenes`` read back: which words say what, so that a caption can be said otherwise or turned wrong.

The grammar's English (:mod:`icrlib.data.scenes.grammar`) is simple enough that a caption tells its logical form.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import permutations

from icrlib.data.scenes.grammar import LEADS, NUMBERS, RELATIONS, SYNONYMS, exchanges, sentence, with_article
from icrlib.data.scenes.graph import BACKGROUNDS, VALUES

TURNED = {"left of": "right of", "right of": "left of", "above": "below", "below": "above"}
EXCHANGES = ("colour", "shape", "size", "place")
ORDER = ("size", "fill", "colour", "shape")  # of the words that say a thing
MEANS = {
    word: (attribute, value)
    for attribute, values in VALUES.items()
    for value in values
    for word in SYNONYMS.get(value, (value,))
    if word != "plain"
}
OTHER = {word: other for ways in (*SYNONYMS.values(), LEADS) for word, other in permutations(ways, 2)}
_CAPTION = re.compile(
    rf"({'|'.join(LEADS)})?(.*?)(?: among ({'|'.join(NUMBERS)}) things)?"
    rf"(?: on a ({'|'.join(BACKGROUNDS)}) background)?",
    re.DOTALL,
)


@dataclass(frozen=True)
class Wording:
    """One caption in its parts: ``things`` as the caption names them, each {attribute: word}; ``lead`` "there is " or
    "we see " before a single thing; the others as in a form."""

    things: tuple[dict[str, str], ...]
    relation: str | None = None
    count: int | None = None
    background: str | None = None
    lead: str = ""

    @property
    def form(self) -> dict:
        """The logical form, as the grammar writes it."""
        things = [dict(MEANS[word] for word in thing.values()) for thing in self.things]
        return {"things": things, "relation": self.relation, "count": self.count, "background": self.background}

    @property
    def text(self) -> str:
        """The caption in English; "an" before a vowel."""
        mentions = [with_article(" ".join(thing[name] for name in ORDER if name in thing)) for thing in self.things]
        return sentence(mentions, vars(self), self.lead)


def parse(caption: str) -> Wording:
    """The parts of a caption of ``scenes``. ``ValueError`` for any other text."""
    lead, body, count, background = _CAPTION.fullmatch(caption).groups()
    parts = re.split(rf" ({'|'.join(RELATIONS)}) ", body)
    relation = parts[1] if len(parts) == 3 else None
    mentions = [parts[0], parts[2]] if relation else re.split(", | and ", body)
    number = NUMBERS.index(count) if count else None
    try:
        things = tuple({MEANS[word][0]: word for word in words.split(" ")[1:]} for words in mentions)
        wording = Wording(things, relation, number, background, lead or "")
        known = wording.text == caption  # the grammar does not say everything, such as two colours of one thing
    except (KeyError, IndexError):
        known = False
    if not known:
        raise ValueError(
            f"{caption!r} is not a caption as 'scenes' writes them, so it has no form; take another target"
        )
    return wording


def exchanged(wording: Wording, what: str) -> Wording | None:
    """The same words about other things: two things exchange their "colour", "shape" or "size", or their "place".

    The first two things that differ in it; None where there are none, or where the caption would mean the same.
    """
    if what == "place":
        candidates = [wording.things[::-1]] if wording.relation is not None else []
    else:
        candidates = exchanges(wording.things, [what])
    changed = (replace(wording, things=tuple(things)) for things in candidates)
    return next((other for other in changed if meaning(other.form) != meaning(wording.form)), None)


def turned(wording: Wording) -> Wording | None:
    """The same said from the other end: "a left of b" as "b right of a", a list backwards; None for a single thing."""
    if len(wording.things) < 2:
        return None
    return replace(wording, things=wording.things[::-1], relation=TURNED.get(wording.relation))


def reworded(wording: Wording, most: int = 99) -> Wording | None:
    """The same in other words: the first ``most`` words of things that have a synonym replaced by it, and then the
    beginning of a caption of a single thing; None where there is none."""
    things, left = [], most
    for thing in wording.things:
        things.append(dict(thing))
        for name, word in thing.items():
            if left and word in OTHER:
                things[-1][name], left = OTHER[word], left - 1
    lead = OTHER[wording.lead] if wording.lead and left else wording.lead
    changed = replace(wording, things=tuple(things), lead=lead)
    return changed if changed != wording else None


def meaning(form: dict) -> tuple:
    """Equal for two forms that say the same: a list in any order, "a left of b" and "b right of a"."""
    things = [tuple(sorted(thing.items())) for thing in form["things"]]
    relation = form["relation"]
    if relation in ("right of", "below"):
        things, relation = things[::-1], TURNED[relation]
    return tuple(things if relation else sorted(things)), relation, form["count"], form["background"]

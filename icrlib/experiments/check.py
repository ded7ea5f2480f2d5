"""Sentences that a person wrote, and records that must still say so."""

from __future__ import annotations

import re
from collections import Counter
from types import SimpleNamespace

REFERENCE = re.compile(
    r"\b(?:Table|Chapter|Section|Equation|Eq\.|Figure|Fig\.|Exercise)s?[ ~]\d+[a-z]?(?:\.\d+)?(?:(?: and | to |-)\d+)?"
)
NUMBER = re.compile(r"(?<![\w@.\-/])[+-]?\d+(?:,\d{3})*(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w]|-[a-z])")
SMOKE = SimpleNamespace(run=False)  # a chapter that is started as a smoke run says so


class Untrue(AssertionError):
    """The records, or a computation, no longer say what a sentence says."""


def check(sentence: str, *facts: bool | str, also: str = "") -> None:
    """Fail, naming the ``sentence``, unless each of ``facts`` is true, or a text that the sentence contains.

    ``check("ahead by 35 to 59 rsum", lead.all("ahead"), lead.span("{:.0f} to {:.0f}"))`` stands folded beside the
    sentence, which quotes it word for word (tested). Each number of the sentence must stand in one of the texts, as
    often as the sentence has it, so that none can be changed unnoticed; ``also`` holds those that are no result (a
    setting, a size, a year). Number words are not looked at.
    """
    plain = sentence.replace("\N{MINUS SIGN}", "-").replace("*", "")
    for number, fact in enumerate(facts, 1):
        if not isinstance(fact, str):
            if not fact:
                raise Untrue(f"“{sentence}”: condition {number} of {len(facts)} no longer holds; write it anew")
        elif not re.search(rf"(?<![\w.,+-]){re.escape(fact)}(?!\w|[.,]\d)", plain):
            raise Untrue(f"“{sentence}”: the records say {fact!r} now; write it anew")
    texts = [fact for fact in facts if isinstance(fact, str)]
    held = Counter(token.lstrip("+-") for text in [*texts, also] for token in printed(text))
    if free := Counter(token.lstrip("+-") for token in printed(sentence)) - held:
        raise Untrue(f"“{sentence}” prints {', '.join(free)}, and no fact holds it")


def live(text: str, *values: float) -> str:
    """``text`` as a fact, if its numbers are the ``values`` of a training on the page, to a tenth and one unit of
    the last digit: another processor rounds otherwise, and a training amplifies it. A smoke run is not asked."""
    wanted = [(float(token), 10.0 ** -len(token.partition(".")[2])) for token in printed(text)]
    close = (abs(value - one) <= 0.1 * abs(one) + unit for value, (one, unit) in zip(values, wanted, strict=True))
    return text if SMOKE.run or all(close) else ", ".join(f"{value:.4g}" for value in values)


def printed(text: str) -> list[str]:
    """The numbers of a text as they are printed, commas of thousands and typographic signs replaced."""
    plain = re.sub(r"[*`$]", "", text.replace("\N{MINUS SIGN}", "-").replace("\N{EN DASH}", " to "))
    return [token.replace(",", "") for token in NUMBER.findall(REFERENCE.sub(" ", plain))]

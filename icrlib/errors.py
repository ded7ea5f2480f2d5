"""One way to refuse a name or value: say what was got, what is allowed, and what was probably meant."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import Any


def choose(got: str, allowed: Iterable[str], what: str, more: Iterable[str] = ()) -> str:
    """Return ``got`` if it is one of ``allowed``; else raise a ``ValueError`` that lists them.

    ``more``: patterns that are allowed too, for the message.
    """
    allowed = list(allowed)
    if got in allowed:
        return got
    listed = ", ".join(map(repr, [*allowed, *more]))
    raise ValueError(f"unknown {what} {got!r}; allowed: {listed}.{meant(got, allowed)}")


def meant(got: str, allowed: Iterable[str], means: Mapping[str, str] | None = None) -> str:
    """A question behind a message, where one of ``allowed`` is near to what was ``got``; else nothing.

    Near in spelling, or in meaning: ``means`` says in words what a name stands for, "lr": "learning rate".
    """
    asked = set(re.findall("[a-z]+", str(got).lower()))
    told = {name: set(re.findall("[a-z]+", text.lower())) for name, text in (means or {}).items()}
    same = sorted((name for name, words in told.items() if asked and asked <= words), key=lambda name: len(told[name]))
    # Nearly the same spelling first, then the meaning: "learning_rate" is spelt more like learn_tau than like lr.
    near = [one for one in (difflib.get_close_matches(str(got).lower(), list(allowed), n=1, cutoff=0.75), same) if one]
    near = (near or [difflib.get_close_matches(str(got).lower(), list(allowed), n=1)])[0]
    return f" Did you mean {near[0]!r}?" if near else ""


def in_words(err: BaseException) -> str:
    """An error as a line for people: of a disk or a file that nobody foresaw its name and what the system says."""
    if isinstance(err, OSError) and err.filename is not None and err.strerror and not isinstance(err, ValueError):
        return f"{err.filename}: {err.strerror[:1].lower()}{err.strerror[1:]}"
    return str(err) or type(err).__name__


def at_least(name: str, value: Any, least: int) -> int:
    """A whole number of at least ``least``, else ``ValueError``."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}; got {value!r}")
    return value


def true_or_false(name: str, value: Any) -> bool:
    """A switch, else ``ValueError``."""
    if not isinstance(value, bool):
        raise ValueError(f"{name} must be True or False; got {value!r}")
    return value

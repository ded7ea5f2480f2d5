"""What a setting can be: a word, a number, a name, a switch; how its value is checked; and what its rules look at."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import Field, dataclass, field
from typing import Any

from icrlib.data.splits import Dataset
from icrlib.errors import at_least, choose, true_or_false

Values = Mapping[str, Any]


@dataclass(frozen=True)
class Asked:
    """What a rule may look at beside the values so far.

    ``kind``: the model's class; ``loss``: the loss itself. Settings by who wants them, the first before the others:
    what was ``given``, what the data is ``dictated`` to have, what the method was ``published`` with.
    """

    data: Dataset
    kind: type
    loss: Any
    seed: int
    smoke: bool
    given: Values
    dictated: Values
    published: Values


def one_of(default: str | None, allowed: Iterable[str], help: str, **more: str) -> Any:
    """A word out of a list. ``more``: what another setting must be for this one to have an effect."""
    return field(default=default, metadata={"help": help, "allowed": tuple(allowed), "kind": str, "needs": more})


def whole(default: int | None, least: int, help: str, **more: str) -> Any:
    """A whole number, at least ``least``; ``more`` as for :func:`one_of`."""
    return field(default=default, metadata={"help": help, "least": least, "kind": int, "needs": more})


def number(default: float | None, help: str, *, zero: bool = False, most: float = math.inf, **more: str) -> Any:
    """A finite number above 0 (``zero``: 0 too), at most ``most``; ``more`` as for :func:`one_of`."""
    return field(default=default, metadata={"help": help, "zero": zero, "most": most, "kind": float, "needs": more})


def text(default: str | None, help: str) -> Any:
    """A name that is looked up elsewhere."""
    return field(default=default, metadata={"help": help, "kind": str})


def switch(help: str) -> Any:
    """Off unless asked for."""
    return field(default=False, metadata={"help": help, "kind": bool})


def check(name: str, setting: Field, value: Any) -> Any:
    """``value`` if the setting allows it; ``ValueError`` says what was got and what is allowed. None is the default."""
    about = setting.metadata
    if value is None and setting.default is None:
        return None
    if "allowed" in about:
        return choose(value, about["allowed"], name)
    if about["kind"] is bool:
        return true_or_false(name, value)
    if about["kind"] is int:
        return at_least(name, value, about["least"])
    if about["kind"] is float:
        return _number(name, value, about)
    if about["kind"] is str and not isinstance(value, str):
        raise ValueError(f"{name} must be a name; got {value!r}")
    return value


def _number(name: str, value: Any, about: Any) -> float:
    fits = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    if not fits or value < 0 or (value == 0 and not about["zero"]) or value > about["most"]:
        kind = "a number, 0 or more" if about["zero"] else "a positive number"
        most = "" if about["most"] == math.inf else f", at most {about['most']:g}"
        raise ValueError(f"{name} must be {kind}{most}; got {value!r}")
    return float(value)

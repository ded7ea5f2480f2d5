"""A method, a loss, an auxiliary as a person hands it over: a name, a class or an object; a run is made of names.

A run has to be asked for again, in another process and on another machine, by what its record says. So a class becomes
its name, an object its class and its options; what no name leads to is refused, with the way out.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from icrlib.losses.base import Loss
from icrlib.losses.goal import GradientObjective
from icrlib.models.base import RetrievalModel
from icrlib.models.build import FROM_DATA
from icrlib.names import AUXILIARIES, LOSSES, METHODS
from icrlib.training.options import NOT_OPTIONS

PLAIN = (str, int, float, bool, type(None))


def named(method: Any, loss: Any, settings: Mapping) -> tuple[str, str, dict]:
    """Names of method and loss, and the ``settings`` with the name of the auxiliary and with the options of objects.

    Options are spelled out ("loss_margin"), so that what is given beside an object meets them. ``ValueError`` for what
    a record cannot name, and for what is no method, loss or auxiliary.
    """
    found = dict(settings)
    method, options = _of_model(method)
    found |= {f"model_{name}": value for name, value in options.items()}
    loss, options = _of_loss(loss)
    found |= {f"loss_{name}": value for name, value in options.items()}
    if found.get("auxiliary") is not None:
        found["auxiliary"], options = _of_auxiliary(found["auxiliary"])
        found |= {f"auxiliary_{name}": value for name, value in options.items()}
    return method, loss, found


def _of_model(given: Any) -> tuple[str, dict]:
    """A model as object gives its class and sizes; a run draws weights of its own, by its seed."""
    if isinstance(given, str):
        return given, {}
    name = METHODS.name_of(given)
    if not isinstance(given, RetrievalModel):
        return name, {}
    if not isinstance(getattr(given, "options", None), dict):
        raise ValueError(f"{name}: this model has no options, the arguments of its constructor; {METHODS.has}")
    options = {option: value for option, value in given.options.items() if option not in FROM_DATA}
    return name, _plain(name, options, set(inspect.signature(type(given)).parameters))


def _of_loss(given: Any) -> tuple[str, dict]:
    if isinstance(given, str):
        return given, {}
    if given is GradientObjective:
        raise ValueError("GradientObjective alone says no weights; write loss='goal:T x P', or make an object of it")
    name = given.name if isinstance(given, GradientObjective) else LOSSES.name_of(given)
    if not isinstance(given, Loss):
        return name, {}
    return name, _plain(name, {f.name: getattr(given, f.name) for f in fields(given) if f.name not in NOT_OPTIONS})


def _of_auxiliary(given: Any) -> tuple[str, dict]:
    if isinstance(given, str):
        return given, {}
    name = AUXILIARIES.name_of(given)
    if isinstance(given, type):
        return name, {}
    wanted = inspect.signature(type(given)).parameters
    lost = [option for option in wanted if option not in given.__dict__]
    if lost:
        raise ValueError(
            f"{name}: the object does not say what its {', '.join(lost)} was; keep each argument of the constructor "
            f"under its own name (self.{lost[0]} = {lost[0]}), or give the class and the options beside it"
        )
    return name, _plain(name, {option: given.__dict__[option] for option in wanted})


def _plain(name: str, options: dict, known: set[str] | None = None) -> dict:
    """The options, if a record can hold them and a constructor takes them."""
    for option, value in options.items():
        if not _is_plain(value):
            raise ValueError(
                f"{name}: its {option} is of type {type(value).__name__}, which a record cannot name. Options are "
                "numbers, words and lists of these; what else a part needs, its own class makes from them"
            )
        if known is not None and option not in known:
            raise ValueError(
                f"{name}: its option {option!r} is no argument of its constructor, so no record can repeat it"
            )
    return {option: value for option, value in options.items() if value is not None}


def _is_plain(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain(one) for key, one in value.items())
    return isinstance(value, PLAIN) and not (isinstance(value, float) and not math.isfinite(value))


def check_sizes(given: Any, feature_dim: int) -> None:
    """An object of a method was made for features of this size, or it is another model than the run would have."""
    if not isinstance(given, RetrievalModel):
        return
    wanted = getattr(given, "options", {}).get("feature_dim", feature_dim)
    if wanted != feature_dim:
        raise ValueError(
            f"this {type(given).__name__} was made for features of size {wanted}, and the data has {feature_dim}; give "
            "the class, or make it with that feature_dim"
        )

"""A method, a loss, an auxiliary as a person hands it over: a name, a class or an object; a run is made of names.

A run is asked for again in another process by what its record says. So a class becomes its name, an object its class
and its options; what no name leads to is refused.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from typing import Any

from icrlib.losses.goal import GradientObjective
from icrlib.models.base import RetrievalModel
from icrlib.models.build import FROM_DATA
from icrlib.names import AUXILIARIES, LOSSES, METHODS, Registry
from icrlib.training.options import NOT_OPTIONS


def named(method: Any, loss: Any, settings: Mapping) -> tuple[str, str, dict]:
    """Names of method and loss, and the ``settings`` with the name of the auxiliary and with the options of objects.

    Options are spelled out ("loss_margin"), so that one that is given beside an object meets it.
    """
    parts = {"model": (method, METHODS), "loss": (loss, LOSSES), "auxiliary": (settings.get("auxiliary"), AUXILIARIES)}
    names, options = {}, {}
    for owner, (part, registry) in parts.items():
        names[owner], own = (part, {}) if part is None or isinstance(part, str) else _of(part, registry)
        options |= {f"{owner}_{name}": value for name, value in own.items()}
    if twice := sorted(settings.keys() & options.keys()):
        raise ValueError(f"{', '.join(twice)}: given twice, by name and with the object; leave one out")
    return names["model"], names["loss"], {**settings, **options, "auxiliary": names["auxiliary"]}


def _of(part: Any, registry: Registry) -> tuple[str, dict]:
    """The name of a class or of an object's class, and the object's options: the arguments of its constructor."""
    name = part.name if isinstance(part, GradientObjective) else registry.name_of(part)
    if isinstance(part, type):
        return name, {}
    wanted = [one for one in inspect.signature(type(part)).parameters if one not in (*NOT_OPTIONS, *FROM_DATA)]
    try:
        kept = part.neutral | part.options if isinstance(part, RetrievalModel) else vars(part)
        options = {one: kept[one] for one in wanted if kept[one] is not None}
        json.dumps(options, allow_nan=False)
    except (AttributeError, KeyError, TypeError, ValueError) as err:
        raise ValueError(
            f"{name}: no record can hold what this object was made with ({err!r}); each argument of its constructor "
            "is kept under its own name, and is a number, a word or a list of these. Or give its class and the options"
        ) from err
    return name, options

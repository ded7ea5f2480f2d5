"""Which behaviour of its parts a run has.

Code may move, be renamed, or take a faster way with other last digits: the golden runs (:mod:`icrlib.records.goldens`)
tell that it still does the same. Where it is meant to do something else, the class attribute ``behaviour`` of the part
rises from 1 to 2, and that enters the identity of every run that has the part. So old records are no answer to today's
question any more, and lie beside new ones. 1 is neutral and enters no identity.
"""

from __future__ import annotations

from collections.abc import Mapping

from icrlib.auxiliary.base import Criterion
from icrlib.auxiliary.weighing import LagrangeMultiplier
from icrlib.losses.build import kind_of
from icrlib.losses.goal import GradientObjective
from icrlib.losses.triplet import Triplet
from icrlib.names import AUXILIARIES, LOSSES, METHODS, is_own
from icrlib.sampling import Sampler
from icrlib.training.average import Average
from icrlib.training.settings import Augment, Optim, Selection


def parts_of(config: Mapping) -> dict[str, type]:
    """The classes that decide what a run does, by what they are to it. ``config``: its resolved settings, flat."""
    found = {
        "model": METHODS.find(config["method"]),
        "loss": kind_of(config["loss"])[0],
        "criterion": Criterion,
        "sampler": Sampler,
        "optim": Optim,  # the rules of an update and the schedules, icrlib.training.optim
        "selection": Selection,  # the loop and its evaluations, icrlib.training.loop
    }
    if config["warmup"]:
        found["start"] = Triplet
    if config["auxiliary"]:
        found["auxiliary"] = AUXILIARIES.find(config["auxiliary"])
    if config["objective"] == "lagrange":
        found["weighing"] = LagrangeMultiplier
    if any(config[name] for name in ("drop_words", "delete_words", "erase")):
        found["augment"] = Augment  # icrlib.data.augment
    if config["average"] != "none":
        found["average"] = Average
    return found


def of(config: Mapping) -> dict[str, int]:
    """The behaviour of each part that has risen above 1: {"loss": 2}; empty where none has."""
    return {part: kind.behaviour for part, kind in parts_of(config).items() if kind.behaviour != 1}


def any_risen() -> bool:
    """Whether any part of the library has another behaviour than its first."""
    kinds = [Criterion, Sampler, Optim, Selection, Augment, Average, LagrangeMultiplier]
    kinds += [registry[name] for registry in (METHODS, LOSSES, AUXILIARIES) for name in registry]
    return any(kind.behaviour != 1 for kind in [*kinds, GradientObjective])


def outdated(config: Mapping) -> dict[str, tuple[int, int]]:
    """Parts that have another behaviour today than in a record's ``config``: {"loss": (1, 2)}.

    Nothing is imported for it that the record names: what a caller's own classes do today is not asked.
    """
    if any(is_own(config[name]) for name in ("method", "loss", "auxiliary")):
        return {}
    then, now = config.get("behaviour", {}), of(config)
    return {
        part: (then.get(part, 1), now.get(part, 1))
        for part in sorted({*then, *now})
        if then.get(part, 1) != now.get(part, 1)
    }

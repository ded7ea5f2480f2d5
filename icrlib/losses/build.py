"""A loss by its name."""

from __future__ import annotations

from dataclasses import fields

from icrlib.errors import choose
from icrlib.losses import goal
from icrlib.losses.base import Loss
from icrlib.names import LOSSES


def canonical(name: str) -> str:
    """One spelling for each loss: "ntxent" for "infonce"; "goal:cir x lin" is its own."""
    if name.startswith(goal.PREFIX):
        return goal.PREFIX + " x ".join(goal.parse(name))
    return LOSSES.canonical(name, more=("goal:T x P",))


def kind_of(name: str) -> tuple[type[Loss], dict]:
    """The class behind a name, and the arguments that the name itself fixes."""
    name = canonical(name)
    if name.startswith(goal.PREFIX):
        return goal.GradientObjective, dict(zip(("triplet_weight", "pair_weight"), goal.parse(name), strict=True))
    return LOSSES.find(name), {}


def options_of(name: str) -> list[str]:
    """The options a loss takes, beyond what its name says."""
    kind, fixed = kind_of(name)
    return [field.name for field in fields(kind) if field.name not in fixed]


def by_name(name: str, **options) -> Loss:
    """The loss called ``name`` with its published defaults, changed by ``options`` (``margin``, ``tau``, …).

    Names: those of ``LOSSES``, "infonce", "goal:T x P" for a :class:`GradientObjective`, or ``"package.module:Name"``
    of a class of yours. ``ValueError`` for others.
    """
    kind, fixed = kind_of(name)
    for option in options:
        choose(option, options_of(name), f"option of {kind.__name__}")
    return kind(**fixed, **options)


def objectives(**options) -> dict[str, goal.GradientObjective]:
    """GOAL's family by name, "goal:con x con" first: every triplet weight with every pair weight, 15 as published."""
    made = (goal.GradientObjective(t, p, **options) for t in goal.TRIPLET_WEIGHTS for p in goal.PAIR_WEIGHTS)
    return {objective.name: objective for objective in made}

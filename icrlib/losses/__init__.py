"""Losses on a score matrix and a mask of positives: ``per_query``, closed-form ``weights``, ``__call__``."""

from __future__ import annotations

from dataclasses import fields

from icrlib.errors import choose
from icrlib.losses import goal
from icrlib.losses.base import Loss, Pairs
from icrlib.losses.goal import GradientObjective
from icrlib.losses.integrability import integrability
from icrlib.losses.known import BinomialDeviance, Circle, HardNTXent, MultiSimilarity
from icrlib.losses.ntxent import InfoNCE, NTXent
from icrlib.losses.smoothap import SmoothAP
from icrlib.losses.triplet import Triplet, TripletSH
from icrlib.scores import NonFiniteScores

__all__ = [
    "LOSSES",
    "BinomialDeviance",
    "Circle",
    "GradientObjective",
    "HardNTXent",
    "InfoNCE",
    "Loss",
    "MultiSimilarity",
    "NTXent",
    "NonFiniteScores",
    "Pairs",
    "SmoothAP",
    "Triplet",
    "TripletSH",
    "by_name",
    "canonical",
    "integrability",
    "objectives",
]

LOSSES = {
    "triplet": Triplet, "triplet_sh": TripletSH, "ntxent": NTXent, "smoothap": SmoothAP, "ntxent_hard": HardNTXent,
    "circle": Circle, "binomial_deviance": BinomialDeviance, "multi_similarity": MultiSimilarity,
}  # fmt: skip
ALIASES = {"infonce": "ntxent"}


def canonical(name: str) -> str:
    """One spelling for each loss: "ntxent" for "infonce", "goal:cir x lin" for "goal:cirxlin" or "goal-cir-lin"."""
    if name.startswith(("goal:", "goal-")):
        return goal.PREFIX + " x ".join(goal.parse(name))
    return choose(ALIASES.get(name, name), LOSSES, "loss", more=("goal:T x P",))


def by_name(name: str, **options) -> Loss:
    """The loss called ``name`` with its published defaults, changed by ``options`` (``margin``, ``tau``, …).

    Names: those of ``LOSSES``, "infonce", and "goal:T x P" for a :class:`GradientObjective`. ``ValueError`` for others.
    """
    name = canonical(name)
    fixed = dict(zip(("triplet_weight", "pair_weight"), goal.parse(name), strict=True)) if ":" in name else {}
    kind = GradientObjective if fixed else LOSSES[name]
    allowed = [field.name for field in fields(kind) if field.name not in fixed]
    for option in options:
        choose(option, allowed, f"option of {kind.__name__}")
    return kind(**fixed, **options)


def objectives(**options) -> dict[str, GradientObjective]:
    """GOAL's family by name, "goal:con x con" first: every triplet weight with every pair weight, 15 as published."""
    made = (GradientObjective(t, p, **options) for t in goal.TRIPLET_WEIGHTS for p in goal.PAIR_WEIGHTS)
    return {objective.name: objective for objective in made}

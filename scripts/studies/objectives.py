"""GOAL's objectives, each at its own rate, and what holds cir as printed in its collapse."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from icrlib.losses import goal as named
from icrlib.studies import Run, study

from .planned import FEWER_DRAWS, RATES, TUNING_DRAWS, UPDATES, chosen, scenes

# GOAL's objectives, each at its own rate. No start with all negatives: whether they leave the collapse is a question.
GOALS = [
    *((f"goal:{t} x {p}", "paper") for t in named.TRIPLET_WEIGHTS for p in named.PAIR_WEIGHTS),
    *((f"goal:cir x {p}", "released") for p in named.PAIR_WEIGHTS),
]


@study()
def goal_tuning() -> Iterator[Run]:
    """Three rates on one tuning draw; con x con is Triplet-SH, which needs the more updates the longer it collapses."""
    for (loss, convention), lr in product(GOALS, RATES):
        yield scenes(
            "goal_tuning",
            "vse++",
            loss,
            TUNING_DRAWS[0],
            f"{convention}-lr{lr:g}",
            {"lr": lr, "updates": UPDATES, "convention": convention},
        )


@study(search="goal_tuning")
def goal() -> Iterator[Run]:
    """Fifteen objectives as printed, and cir as released, each at the rate that its search chose."""
    for seed, (loss, convention) in product(FEWER_DRAWS, GOALS):
        best = chosen("goal_tuning", "vse++", loss, convention=convention)
        yield scenes("goal", "vse++", loss, seed, convention, {"updates": UPDATES, "convention": convention} | best)


@study()
def goal_rates() -> Iterator[Run]:
    """Is the order one of rates? Two more of them, around the chosen one, on the tuning draw."""
    for (loss, convention), lr in product(
        (
            ("goal:con x con", "paper"),
            ("goal:con x sig-ms", "paper"),
            ("goal:nca x con", "paper"),
            ("goal:cir x sig-ms", "released"),
        ),
        (2e-3, 5e-3),
    ):
        yield scenes(
            "goal_rates",
            "vse++",
            loss,
            TUNING_DRAWS[0],
            f"{convention}-lr{lr:g}",
            {"lr": lr, "updates": UPDATES, "convention": convention},
        )


# cir as printed leaves its collapse late. Is that the size of its gradient, which Adam remembers, or is it only time?
SMALL_CLIP, LONGER = 0.02, 9000


@study(search="goal_tuning")
def goal_size() -> Iterator[Run]:
    """Clipped a hundred times shorter: for Adam the same as a hundred times the gradient, clipped as before."""
    for seed, p in product(FEWER_DRAWS, named.PAIR_WEIGHTS):
        best = chosen("goal_tuning", "vse++", f"goal:cir x {p}", convention="paper")
        yield scenes(
            "goal_size",
            "vse++",
            f"goal:cir x {p}",
            seed,
            "",
            best | {"updates": UPDATES, "convention": "paper", "grad_clip": SMALL_CLIP},
        )


@study(search="goal_tuning")
def goal_longer() -> Iterator[Run]:
    """Three times the updates for cir and for con, with one pair weight, on three draws."""
    for seed, t in product(FEWER_DRAWS[:3], ("cir", "con")):
        best = chosen("goal_tuning", "vse++", f"goal:{t} x lin", convention="paper")
        yield scenes(
            "goal_longer", "vse++", f"goal:{t} x lin", seed, "", best | {"updates": LONGER, "convention": "paper"}
        )

"""Which loss for my data? Fewer and more pictures, smaller and larger batches; each with a rate of its own.

And what is missing beside them: DCL on VSRN, and the false negatives that a batch of few pictures holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from studies.planned import (
    ECIR,
    RATES,
    TUNING_DRAWS,
    UPDATES,
    WARMUP,
    Planned,
    chosen,
    complete,
    registered,
    scenes,
    sized,
)

# 1,500 pictures in batches of 128 are `ecir`, `vsrn` and `misprint`.
SIZES, BATCHES, DRAWS = (400, 6000), (32, 512), (0, 1, 2)
LOSSES, BATCHED = (*ECIR, "dcl"), ("ntxent", "triplet_sh")


def _settings(method: str, loss: str) -> Iterator[dict]:
    """The rates, and for Triplet-SH at the highest one the start without which it stays in its collapse."""
    for lr in RATES:
        start = {"warmup": WARMUP} if (loss, lr) == ("triplet_sh", RATES[-1]) and method != "bow" else {}
        yield sized(method) | {"lr": lr, "updates": UPDATES} | start


@registered
def size_tuning() -> Iterator[Planned]:
    """Three rates at each size, on one tuning draw; the cheap models first."""
    for method, train, loss in product(("bow", "vse++", "vsrn"), SIZES, LOSSES):
        for settings in _settings(method, loss):
            tag = f"n{train}-lr{settings['lr']:g}"
            yield scenes("size_tuning", method, loss, TUNING_DRAWS[0], tag, settings, train)


@registered
def sizes() -> Iterator[Planned]:
    """What the search chose, on three draws."""
    complete("size_tuning")
    for method, train, seed, loss in product(("bow", "vse++", "vsrn"), SIZES, DRAWS, LOSSES):
        best = chosen("size_tuning", method, loss, {"train": train})
        yield scenes("sizes", method, loss, seed, f"n{train}", {"updates": UPDATES} | best, train)


@registered
def batch_tuning() -> Iterator[Planned]:
    """Batches of 32 and 512 for two losses on VSE++, at three rates, on one tuning draw."""
    for size, loss in product(BATCHES, BATCHED):
        for settings in _settings("vse++", loss):
            yield scenes("batch_tuning", "vse++", loss, TUNING_DRAWS[0], f"b{size}-lr{settings['lr']:g}",
                         settings | {"batch_size": size})  # fmt: skip


@registered
def batches() -> Iterator[Planned]:
    """What the search chose, on three draws."""
    complete("batch_tuning")
    for size, seed, loss in product(BATCHES, DRAWS, BATCHED):
        best = chosen("batch_tuning", "vse++", loss, {"batch_size": size})
        yield scenes("batches", "vse++", loss, seed, f"b{size}", {"updates": UPDATES, "batch_size": size} | best)


@registered
def vsrn_dcl() -> Iterator[Planned]:
    """``misprint`` for VSRN: DCL on 1,500 pictures with the very settings that were chosen for NT-Xent."""
    complete("vsrn_tuning")
    for seed in DRAWS:
        best = chosen("vsrn_tuning", "vsrn", "ntxent")
        yield scenes("vsrn_dcl", "vsrn", "dcl", seed, "", sized("vsrn") | {"updates": UPDATES, "tau": 0.1} | best)


@registered
def false_negatives() -> Iterator[Planned]:
    """Few pictures come twice in many batches; here their other captions are no negatives. All else is as in ``sizes``.

    Scenes has no option for how many captions are true of how many pictures; this is the part that a run can turn.
    """
    complete("size_tuning")
    train = SIZES[0]
    for seed, loss in product(DRAWS, BATCHED):
        best = chosen("size_tuning", "vse++", loss, {"train": train})
        yield scenes("false_negatives", "vse++", loss, seed, f"n{train}",
                     {"updates": UPDATES, "positives": "image"} | best, train)  # fmt: skip

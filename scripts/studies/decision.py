"""Which loss for my data? Fewer and more pictures, smaller and larger batches; each with a rate of its own.

The margin or temperature is the one that ``tuning`` found for the loss on 1,500 pictures (DCL: that of NT-Xent; VSRN:
those of VSE++). And what is missing beside them: the false negatives that a batch of few pictures holds.
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

# 1,500 pictures in batches of 128 are `tuned` (or `ecir`, where that has the best constant) and `misprint`; of VSRN,
# whose runs in `vsrn` have the published constants, they are here. VSRN, which takes most of the time, has lists of its
# own, so that nobody waits for it.
SIZES = {"bow": (400, 6000), "vse++": (400, 6000), "vsrn": (400, 1500, 6000)}
BATCHES, DRAWS = (32, 512), (0, 1, 2)
LENGTHS = {32: (2, 4), 128: (0.5, 2, 4), 512: (0.25, 0.5, 2)}  # of UPDATES
LOSSES, BATCHED = (*ECIR, "dcl"), ("ntxent", "triplet_sh")


def _own(method: str, loss: str) -> dict:
    """The constant that the search found for a loss: {"margin": 0.4}."""
    best = chosen("tuning", "bow" if method == "bow" else "vse++", {"dcl": "ntxent"}.get(loss, loss))
    return {name: best[name] for name in ("margin", "tau") if name in best}


def _sized(study: str) -> Iterator[tuple[str, int, str]]:
    """(method, pictures, loss), the cheap models first."""
    for method in ("vsrn",) if study.startswith("vsrn") else ("bow", "vse++"):
        yield from ((method, train, loss) for train, loss in product(SIZES[method], LOSSES))


def _settings(method: str, loss: str, own: dict) -> Iterator[dict]:
    """The rates, and for Triplet-SH at the highest one the start without which it stays in its collapse."""
    for lr in RATES:
        start = {"warmup": WARMUP} if (loss, lr) == ("triplet_sh", RATES[-1]) and method != "bow" else {}
        yield sized(method) | {"lr": lr, "updates": UPDATES} | own | start


@registered
def size_tuning() -> Iterator[Planned]:
    """Three rates at each size, on one tuning draw; the cheap models first."""
    return _size_tuning("size_tuning")


@registered
def vsrn_size_tuning() -> Iterator[Planned]:
    """The same for VSRN, with 1,500 pictures as well."""
    return _size_tuning("vsrn_size_tuning")


def _size_tuning(study: str) -> Iterator[Planned]:
    complete("tuning")
    own = {(method, loss): _own(method, loss) for method, _, loss in _sized(study)}
    for method, train, loss in _sized(study):
        for settings in _settings(method, loss, own[method, loss]):
            tag = f"n{train}-lr{settings['lr']:g}"
            yield scenes(study, method, loss, TUNING_DRAWS[0], tag, settings, train)


@registered
def sizes() -> Iterator[Planned]:
    """What the search chose, on three draws."""
    return _sizes("sizes", "size_tuning")


@registered
def vsrn_sizes() -> Iterator[Planned]:
    """The same for VSRN."""
    return _sizes("vsrn_sizes", "vsrn_size_tuning")


def _sizes(study: str, search: str) -> Iterator[Planned]:
    complete(search)
    for method, train, loss in _sized(study):
        best = chosen(search, method, loss, {"train": train})
        for seed in DRAWS:
            yield scenes(study, method, loss, seed, f"n{train}", {"updates": UPDATES} | best, train)


@registered
def batch_tuning() -> Iterator[Planned]:
    """Batches of 32 and 512 for two losses on VSE++, at three rates, on one tuning draw."""
    complete("tuning")
    for size, loss in product(BATCHES, BATCHED):
        for settings in _settings("vse++", loss, _own("vse++", loss)):
            yield scenes("batch_tuning", "vse++", loss, TUNING_DRAWS[0], f"b{size}-lr{settings['lr']:g}",
                         settings | {"batch_size": size})  # fmt: skip


@registered
def batches() -> Iterator[Planned]:
    """What the search chose, on three draws."""
    complete("batch_tuning")
    best = {(size, loss): chosen("batch_tuning", "vse++", loss, {"batch_size": size})
            for size, loss in product(BATCHES, BATCHED)}  # fmt: skip
    for size, seed, loss in product(BATCHES, DRAWS, BATCHED):
        yield scenes("batches", "vse++", loss, seed, f"b{size}",
                     {"updates": UPDATES, "batch_size": size} | best[size, loss])  # fmt: skip


@registered
def batch_lengths() -> Iterator[Planned]:
    """Batches of all sizes with shorter and longer schedules, on the tuning draw: equal updates are unequal passes.

    At 3,000 updates NT-Xent with 512 is best long before the rate falls, and everything with 32 is still rising.
    """
    complete("batch_tuning")
    for (size, factors), loss in product(LENGTHS.items(), BATCHED):
        best = chosen("tuning", "vse++", loss) if size == 128 else chosen(
            "batch_tuning", "vse++", loss, {"batch_size": size})  # fmt: skip
        for factor in factors:
            updates = round(factor * UPDATES)
            settings = best | {"updates": updates, "evaluate_every": updates // 12, "batch_size": size}
            yield scenes("batch_lengths", "vse++", loss, TUNING_DRAWS[0], f"b{size}-u{updates}", settings)


@registered
def false_negatives() -> Iterator[Planned]:
    """Few pictures come twice in many batches; here their other captions are no negatives. All else is as in ``sizes``.

    Scenes has no option for how many captions are true of how many pictures; this is the part that a run can turn.
    """
    complete("size_tuning")
    train = min(SIZES["vse++"])
    best = {loss: chosen("size_tuning", "vse++", loss, {"train": train}) for loss in BATCHED}
    for seed, loss in product(DRAWS, BATCHED):
        yield scenes("false_negatives", "vse++", loss, seed, f"n{train}",
                     {"updates": UPDATES, "positives": "image"} | best[loss], train)  # fmt: skip

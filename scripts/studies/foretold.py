"""Runs that were foretold before they were trained: ``records/foretold.jsonl`` says what, chapter "foretell" asks."""

from __future__ import annotations

from collections.abc import Iterator

from icrlib.studies import Run, study

from .planned import RATES, UPDATES, chosen, scenes, sized

DRAWS, TWO, FEW = (0, 1, 2), (0, 1), 100
MEANS = {"queries": "mean", "directions": "mean"}
CLASHING = ("ntxent", "triplet_sh")


@study()
def foretold() -> Iterator[Run]:
    """Does what the weights of an untrained model say come true? A run's tag begins with the prediction's name."""
    usual = sized("vse++") | {"lr": RATES[1], "updates": UPDATES}
    small = usual | {"batch_size": 32, "lr": RATES[2]}
    for seed in TWO:
        yield scenes("foretold", "vse++", "triplet_sh", seed, "constant", small | {"margin": 0.1})
    for seed in DRAWS:
        yield scenes("foretold", "vse++", "dcl", seed, "small-batch", small | {"tau": 0.1})
    for seed in DRAWS:
        yield scenes("foretold", "vse++", "triplet_sh", seed, "means", usual | MEANS)
    for positives, loss, seed in ((p, name, s) for s in TWO for p in ("diagonal", "image") for name in CLASHING):
        best = chosen("size_tuning", "vse++", loss, {"train": 400})
        settings = best | {"updates": UPDATES, "positives": positives}
        yield scenes("foretold", "vse++", loss, seed, f"false-{positives}", settings, FEW)
    for seed in TWO:
        yield scenes("foretold", "vse++", "ntxent", seed, "cold", usual | {"tau": 0.02})
        yield scenes("foretold", "vse++", "triplet", seed, "mean-triplet", usual | MEANS)
    for seed in DRAWS:
        yield scenes("foretold", "vse++", "ntxent", seed, "large-batch", usual | {"batch_size": 256})

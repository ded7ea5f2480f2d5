"""The book's studies as lists of runs: what `make records STUDY=…` trains, in the order in which it matters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

from icrlib import records

VAL, TEST = 500, 1000
ECIR = ("triplet", "triplet_sh", "ntxent", "smoothap")
# Draws of data on which settings are chosen; no claim is judged on them.
TUNING_DRAWS, CLAIM_DRAWS, FEWER_DRAWS = (100, 101, 102), tuple(range(10)), tuple(range(5))


@dataclass(frozen=True)
class Planned:
    """One run: ``data`` options of its data set, its parts, and the ``settings`` that are given; ``tag``: its name."""

    study: str
    dataset: str
    method: str
    loss: str
    seed: int
    tag: str
    settings: dict = field(default_factory=dict)
    data: dict = field(default_factory=dict)

    @property
    def path(self) -> Path:
        return records.path_for(self.dataset, self.method, self.loss, self.seed, self.tag, self.study)


def scenes(study: str, method: str, loss: str, seed: int, tag: str, settings: dict, train: int = 1500) -> Planned:
    """A run on its own draw of scenes: data, weights and batches follow from one seed."""
    sizes = {"seed": seed, "train": train, "val": VAL, "test": TEST}
    return Planned(study, "scenes", method, loss, seed, tag, settings, sizes)


# When does reading begin? Rates and budgets for four losses and the bag of words, few and many pictures, three draws.
RATES, BUDGETS, PICTURES = (1e-3, 3e-3, 1e-2), {1000: 100, 3000: 250, 9000: 500}, (1500, 12000)
READERS = (("vse++", "ntxent", 0), ("vse++", "triplet_sh", 0), ("vse++", "triplet_sh", 500), ("vse++", "triplet", 0),
           ("bow", "ntxent", 0))  # fmt: skip


def reading() -> Iterator[Planned]:
    """Few pictures and short runs first, which the defaults wait for; after draw 0, hopeless corners are left out."""
    for train, updates, seed in product(PICTURES, BUDGETS, (0, 1, 2)):
        for (method, loss, warmup), lr in product(READERS, RATES):
            if warmup < updates / 4:
                yield _reader(seed, train, method, loss, warmup, lr, updates)
        # SmoothAP at one rate: at 3e-3 it is worse than at 1e-3, and it takes four times as long
        yield _reader(seed, train, "vse++", "smoothap", 0, 1e-3, updates)


def _reader(seed: int, train: int, method: str, loss: str, warmup: int, lr: float, updates: int) -> Planned:
    settings = _sized(method) | {"lr": lr, "updates": updates, "evaluate_every": BUDGETS[updates]}
    settings |= {"warmup": warmup} if warmup else {}
    tag = f"n{train}-lr{lr:g}-u{updates}" + (f"-warmup{warmup}" if warmup else "")
    return scenes("reading", method, loss, seed, tag, settings, train)


def hopeless(run: Planned) -> bool:
    """Whether a corner of the reading study is left out after its first draw.

    It ended collapsed, or its best validation rsum is more than 40 below the best at another rate, all else equal.
    """
    if run.study != "reading" or run.seed == 0:
        return False
    lr, rest = run.settings["lr"], {k: v for k, v in run.settings.items() if k != "lr"}
    sums, collapsed = {}, False
    for other in reading():
        alike = {k: v for k, v in other.settings.items() if k != "lr"} == rest
        if other.seed == 0 and other.data["train"] == run.data["train"] and alike and other.path.exists() and (
            other.method, other.loss) == (run.method, run.loss):  # fmt: skip
            record = records.load(other.path)
            sums[other.settings["lr"]] = record["chosen"]["val_rsum"]
            if other.settings["lr"] == lr:
                collapsed = record["history"][-1]["diagnose"]["collapsed"]
    return collapsed or (lr in sums and sums[lr] < max(sums.values()) - 40)


# What is best for each loss? Rates, the loss's own constant, and a start with all negatives, on tuning draws.
UPDATES, EVERY, WARMUP = 1500, 125, 250
CONSTANTS = {"triplet": {"margin": (0.2, 0.1, 0.4)}, "triplet_sh": {"margin": (0.2, 0.1, 0.4)},
             "ntxent": {"tau": (0.1, 0.05, 0.2)}, "smoothap": {"tau": (0.01, 0.03, 0.1)}}  # fmt: skip


def tuning() -> Iterator[Planned]:
    """Published constants first, which the defaults of the data set wait for; then each loss with two other ones."""
    for place, seed, method, loss, lr in product((0, 1, 2), TUNING_DRAWS, ("vse++", "bow"), ECIR, RATES):
        ((name, values),) = CONSTANTS[loss].items()
        for warmup in (0, WARMUP) if loss == "triplet_sh" else (0,):
            tag = f"lr{lr:g}" + (f"-{name}{values[place]:g}" if place else "") + (f"-warmup{warmup}" if warmup else "")
            yield scenes("tuning", method, loss, seed, tag, _sized(method) | {
                "lr": lr, "updates": UPDATES, "evaluate_every": EVERY,
                **({name: values[place]} if place else {}), **({"warmup": warmup} if warmup else {})})  # fmt: skip


def _sized(method: str) -> dict:
    return {"embed_dim": 128} | ({"word_dim": 64} if method == "vse++" else {})


STUDIES: dict[str, Callable[[], Iterator[Planned]]] = {"reading": reading, "tuning": tuning}

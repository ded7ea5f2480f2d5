"""The book's studies as lists of runs: what `make records STUDY=…` trains, in the order in which it matters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

from icrlib import records

VAL, TEST = 500, 1000


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
    """First one draw of everything, few pictures first; then two more of the corners that are not hopeless."""
    for seed, train in product((0, 1, 2), PICTURES):
        for (method, loss, warmup), lr, updates in product(READERS, RATES, BUDGETS):
            if warmup < updates / 4:
                yield _reader(seed, train, method, loss, warmup, lr, updates)
        for updates in BUDGETS:  # at one rate: at 3e-3 it is worse than at 1e-3, and it takes four times as long
            yield _reader(seed, train, "vse++", "smoothap", 0, 1e-3, updates)


def _reader(seed: int, train: int, method: str, loss: str, warmup: int, lr: float, updates: int) -> Planned:
    settings = {"lr": lr, "updates": updates, "evaluate_every": BUDGETS[updates], "embed_dim": 128}
    settings |= {"word_dim": 64} if method == "vse++" else {}
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


STUDIES: dict[str, Callable[[], Iterator[Planned]]] = {"reading": reading}

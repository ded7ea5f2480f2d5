"""When does reading begin? Rates and budgets for four losses and the bag of words, few and many pictures."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from icrlib import records
from icrlib.studies import Run, study

from .planned import RATES, scenes, sized

BUDGETS, PICTURES = {1000: 100, 3000: 250, 9000: 500}, (1500, 12000)
READERS = (
    ("vse++", "ntxent", 0),
    ("vse++", "triplet_sh", 0),
    ("vse++", "triplet_sh", 500),
    ("vse++", "triplet", 0),
    ("bow", "ntxent", 0),
)


@study(leaves_out=lambda run: hopeless(run))
def reading() -> Iterator[Run]:
    """Few pictures and short runs first, which the defaults wait for; after draw 0, hopeless corners are left out."""
    for train, updates, seed in product(PICTURES, BUDGETS, (0, 1, 2)):
        for (method, loss, warmup), lr in product(READERS, RATES):
            if warmup < updates / 4:
                yield _reader(seed, train, method, loss, warmup, lr, updates)
        # SmoothAP at one rate: at 3e-3 it is worse than at 1e-3, and it takes four times as long
        yield _reader(seed, train, "vse++", "smoothap", 0, 1e-3, updates)


def _reader(seed: int, train: int, method: str, loss: str, warmup: int, lr: float, updates: int) -> Run:
    settings = sized(method) | {"lr": lr, "updates": updates, "evaluate_every": BUDGETS[updates]}
    settings |= {"warmup": warmup} if loss == "triplet_sh" else {}
    tag = f"n{train}-lr{lr:g}-u{updates}" + (f"-warmup{warmup}" if warmup else "")
    return scenes("reading", method, loss, seed, tag, settings, train)


def hopeless(run: Run) -> bool:
    """Whether a corner of the reading study is left out after its first draw.

    It ended collapsed, or its best validation rsum is more than 40 below the best at another rate, all else equal.
    """
    if run.study != "reading" or run.seed == 0:
        return False
    lr, rest = run.settings["lr"], {k: v for k, v in run.settings.items() if k != "lr"}
    sums, collapsed = {}, False
    for other in reading.runs():
        alike = {k: v for k, v in other.settings.items() if k != "lr"} == rest
        if (
            other.seed == 0
            and other.data["train"] == run.data["train"]
            and alike
            and other.path.exists()
            and (other.method, other.loss) == (run.method, run.loss)
        ):
            record = records.load(other.path)
            sums[other.settings["lr"]] = record["chosen"]["val_rsum"]
            if other.settings["lr"] == lr:
                collapsed = record["history"][-1]["diagnose"]["collapsed"]
    return collapsed or (lr in sums and sums[lr] < max(sums.values()) - 40)

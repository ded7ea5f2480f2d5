"""VSRN on the boxes of scenes: its settings, ECIR's four losses beside VSE++'s, and which of its parts matter."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from icrlib.studies import Run, study

from .planned import (
    CLAIM_DRAWS,
    ECIR,
    FEWER_DRAWS,
    RATES,
    TUNING_DRAWS,
    UPDATES,
    WARMUP,
    best,
    chosen,
    scenes,
    sized,
)

# Without the graph, and with the norm that the release's function promises, or none, instead of the one it computes.
PARTS = {"blocks0": {"blocks": 0}, "norm-features": {"graph_norm": "features"}, "norm-none": {"graph_norm": "none"}}

# Of each loss the published constant and two others; rates around the highest of the first search.
OWN = {
    "triplet_sh": ("margin", (0.2, 0.1, 0.4)),
    "ntxent": ("tau", (0.1, 0.05, 0.2)),
    "triplet": ("margin", (0.2, 0.1, 0.4)),
    "smoothap": ("tau", (0.01, 0.03, 0.1)),
}
HIGHER = (3e-3, 1e-2, 3e-2)


@study()
def vsrn_tuning() -> Iterator[Run]:
    """Published constants and norms, the rates of VSE++'s search, its draws and its budget."""
    for seed, loss, lr in product(TUNING_DRAWS, ECIR, RATES):
        for warmup in (0, WARMUP) if loss == "triplet_sh" else (0,):
            yield _candidate(
                "vsrn_tuning",
                loss,
                seed,
                f"lr{lr:g}" + (f"-warmup{warmup}" if warmup else ""),
                {"lr": lr} | ({"warmup": warmup} if loss == "triplet_sh" else {}),
            )


@study(search="vsrn_tuning", wanted=10)
def vsrn() -> Iterator[Run]:
    """ECIR's rows 1.5 to 1.8: the draws of VSE++'s runs in ``ecir``, each loss as its search chose."""
    for seed, loss in product(CLAIM_DRAWS, ECIR):
        yield _candidate("vsrn", loss, seed, "", chosen("vsrn_tuning", "vsrn", loss))


@study(search="vsrn_tuning")
def vsrn_own_tuning() -> Iterator[Run]:
    """Constants found on VSRN itself, at rates that go beyond the best: three of each loss, as in VSE++'s search.

    With the published constant only the highest rate is new. Triplet-SH has the start that its search chose.
    """
    for loss, (name, values) in OWN.items():
        start = {"warmup": WARMUP} if loss == "triplet_sh" else {}
        for value, lr, seed in product(values, HIGHER, TUNING_DRAWS):
            if value != values[0] or lr not in RATES:
                tag = f"lr{lr:g}-{name}{value:g}"
                yield _candidate("vsrn_own_tuning", loss, seed, tag, {"lr": lr, name: value} | start)


@study(search=("vsrn_tuning", "vsrn_own_tuning"), wanted=10)
def vsrn_own() -> Iterator[Run]:
    """What both searches together chose for each loss, on ten draws, where that is not what ``vsrn`` has."""
    for seed, loss in product(CLAIM_DRAWS, OWN):
        best = chosen(("vsrn_tuning", "vsrn_own_tuning"), "vsrn", loss)
        if best != chosen("vsrn_tuning", "vsrn", loss):
            yield _candidate("vsrn_own", loss, seed, "", best)


@study()
def vsrn_parts_tuning() -> Iterator[Run]:
    """Each change at three rates on one tuning draw, with NT-Xent."""
    for (tag, change), lr in product(PARTS.items(), RATES):
        yield _candidate("vsrn_parts_tuning", "ntxent", TUNING_DRAWS[0], f"{tag}-lr{lr:g}", change | {"lr": lr})


@study(search="vsrn_parts_tuning")
def vsrn_parts() -> Iterator[Run]:
    """Each change at its own rate on five draws; VSRN as released beside it is in ``vsrn``."""
    for seed, (tag, change) in product(FEWER_DRAWS, PARTS.items()):
        yield _candidate("vsrn_parts", "ntxent", seed, tag, change | _best(tag))


def _best(tag: str) -> dict:
    """The rate at which a change did best on the validation data of the tuning draw."""
    return {"lr": best(vsrn_parts_tuning.runs(), f"{tag}-lr").settings["lr"]}


def _candidate(study: str, loss: str, seed: int, tag: str, settings: dict) -> Run:
    return scenes(study, "vsrn", loss, seed, tag, sized("vsrn") | {"updates": UPDATES} | settings)

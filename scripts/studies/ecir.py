"""ECIR's question: four losses, on a GRU and on a bag of words; their settings, and doubts about the order found."""

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
    chosen,
    scenes,
    sized,
)

EDGE = 3e-2  # of the shorter search
HIGHER, EARLY = (*RATES[1:], EDGE), {"updates": UPDATES // 5, "evaluate_every": UPDATES // 60}  # for SmoothAP
# The published constant, one to either side (larger ones for SmoothAP, whose published one is the smallest in use), and
# where the best of these was the largest, one beyond it.
CONSTANTS = {
    "triplet": {"margin": (0.2, 0.1, 0.4, 0.8)},
    "triplet_sh": {"margin": (0.2, 0.1, 0.4, 0.8)},
    "ntxent": {"tau": (0.1, 0.05, 0.2)},
    "smoothap": {"tau": (0.01, 0.03, 0.1, 0.3)},
}
BEYOND = 3  # its place; there only the rates that were best at 0.4 or 0.1, and those within 7 rsum of them


@study()
def tuning() -> Iterator[Run]:
    """Published constants first, which the defaults of the data set wait for; then each loss with two other ones.

    Triplet-SH at 1e-2 needs the start, as the shorter search shows, and no loss needs it on a bag of words.
    """
    for place, seed, method, loss, lr in product((0, 1, 2), TUNING_DRAWS, ("vse++", "bow"), ECIR, RATES):
        for warmup in (0, WARMUP) if loss == "triplet_sh" and method == "vse++" else (0,):
            if warmup or loss != "triplet_sh" or method == "bow" or lr < 1e-2:
                yield _candidate("tuning", method, loss, seed, lr, warmup, place, UPDATES)
    for seed, method, loss in product(TUNING_DRAWS, ("vse++", "bow"), ECIR):
        ((_, values),) = CONSTANTS[loss].items()
        for lr, warmup in _beyond(method, loss) if len(values) > BEYOND else ():
            yield _candidate("tuning", method, loss, seed, lr, warmup, BEYOND, UPDATES)


def _beyond(method: str, loss: str) -> Iterator[tuple[float, int]]:
    """Rates and starts; on a bag of words all rates are alike."""
    rates = RATES[1:] if method == "vse++" and loss != "triplet_sh" else RATES[1:2]
    yield from product(rates, (0, WARMUP) if (method, loss) == ("vse++", "triplet_sh") else (0,))


@study()
def half_tuning() -> Iterator[Run]:
    """Half the updates, published constants; a GRU's losses on pairs get a fourth rate, lest one ends at an edge."""
    for seed, method, loss, lr in product(TUNING_DRAWS, ("vse++", "bow"), ECIR, (*RATES, EDGE)):
        if lr < EDGE or (method == "vse++" and loss != "smoothap"):
            for warmup in (0, WARMUP // 2) if loss == "triplet_sh" else (0,):
                yield _candidate("half_tuning", method, loss, seed, lr, warmup, 0, UPDATES // 2)


def _candidate(study: str, method: str, loss: str, seed: int, lr: float, warmup: int, place: int, updates: int) -> Run:
    ((name, values),) = CONSTANTS[loss].items()
    tag = f"lr{lr:g}" + (f"-{name}{values[place]:g}" if place else "") + (f"-warmup{warmup}" if warmup else "")
    settings = sized(method) | {"lr": lr, "updates": updates}
    settings |= {name: values[place]} if place else {}
    return scenes(study, method, loss, seed, tag, settings | ({"warmup": warmup} if loss == "triplet_sh" else {}))


@study(search="tuning", wanted=10)
def ecir() -> Iterator[Run]:
    """Everything as the data set's defaults have it: published constants, rate and start chosen for each loss."""
    for seed, method, loss in product(CLAIM_DRAWS, ("vse++", "bow"), ECIR):
        yield scenes("ecir", method, loss, seed, "", {})


@study(search="half_tuning", wanted=5)
def half() -> Iterator[Run]:
    """Half the updates, with what was chosen for half the updates: would the verdicts have been others?"""
    best = {pair: chosen("half_tuning", *pair) for pair in product(("vse++", "bow"), ECIR)}
    for seed, (method, loss) in product(CLAIM_DRAWS, best):
        yield scenes("half", method, loss, seed, "", {"updates": UPDATES // 2} | best[method, loss])


@study(search="tuning")
def half_own_tuning() -> Iterator[Run]:
    """Is Triplet-SH behind with half the updates because of its published margin? The one of the whole search, then."""
    margin = chosen("tuning", "vse++", "triplet_sh").get("margin", CONSTANTS["triplet_sh"]["margin"][0])
    for seed, (lr, warmup) in product(TUNING_DRAWS, ((RATES[1], 0), *product(RATES[1:], (WARMUP // 2,)))):
        yield scenes(
            "half_own_tuning",
            "vse++",
            "triplet_sh",
            seed,
            f"lr{lr:g}" + (f"-warmup{warmup}" if warmup else ""),
            sized("vse++") | {"lr": lr, "warmup": warmup, "margin": margin, "updates": UPDATES // 2},
        )


@study(search="half_own_tuning")
def half_own() -> Iterator[Run]:
    """Triplet-SH with that margin and half the updates, on all draws; NT-Xent's runs are those of ``half``."""
    (first, *_) = half_own_tuning.runs()
    best = chosen("half_own_tuning", "vse++", "triplet_sh") | {"margin": first.settings["margin"]}
    for seed in CLAIM_DRAWS:
        yield scenes("half_own", "vse++", "triplet_sh", seed, "", {"updates": UPDATES // 2} | best)


@study(search="tuning", wanted=10)
def tuned() -> Iterator[Run]:
    """The best candidate of the whole search; where that has the published constant, ``ecir`` has these runs."""
    best = {pair: chosen("tuning", *pair) for pair in product(("vse++", "bow"), ECIR)}
    for seed, (method, loss) in product(CLAIM_DRAWS, best):
        ((name, values),) = CONSTANTS[loss].items()
        if best[method, loss].get(name, values[0]) != values[0]:
            yield scenes("tuned", method, loss, seed, "", best[method, loss])


@study(search="tuning")
def early_tuning() -> Iterator[Run]:
    """SmoothAP is at its best at the first evaluation of 3,000 updates, at the highest rate: so shorter, and higher.

    A fifth of the updates, looked at as often, which is after 1/5 of the captions read; VSRN's are here, too.
    """
    for method, tau, lr, seed in product(("vse++", "vsrn"), CONSTANTS["smoothap"]["tau"][:3:2], HIGHER, TUNING_DRAWS):
        settings = sized(method) | {"lr": lr, "tau": tau} | EARLY
        yield scenes("early_tuning", method, "smoothap", seed, f"lr{lr:g}-tau{tau:g}", settings)


@study(search="early_tuning", wanted=10)
def early() -> Iterator[Run]:
    """Its best candidate at each temperature, on ten draws."""
    for method, tau in product(("vse++", "vsrn"), CONSTANTS["smoothap"]["tau"][:3:2]):
        best = chosen("early_tuning", method, "smoothap", tau=tau)
        yield from (scenes("early", method, "smoothap", seed, f"tau{tau:g}", best) for seed in CLAIM_DRAWS)


@study()
def clipping() -> Iterator[Run]:
    """A doubt about ECIR's order: is it the clipping?"""
    for seed, loss in product(FEWER_DRAWS, ECIR):
        yield scenes("clipping", "vse++", loss, seed, "", {"grad_clip": 0.0})


@study()
def clipping_rates() -> Iterator[Run]:
    """Would another rate do better without the clip, or a start? On the tuning draw, as those with it were chosen."""
    for (loss, start), lr in product((*((loss, 0) for loss in ECIR[:3]), ("triplet_sh", WARMUP)), (3e-4, *RATES)):
        settings = {"lr": lr, "updates": UPDATES, "grad_clip": 0.0} | ({"warmup": start} if start else {})
        yield scenes(
            "clipping_rates",
            "vse++",
            loss,
            TUNING_DRAWS[0],
            f"lr{lr:g}" + (f"-warmup{start}" if start else ""),
            sized("vse++") | settings,
        )


@study(wanted=5)
def twice() -> Iterator[Run]:
    """The schedule stretched, with as many evaluations and a start with all negatives that lasts twice as long."""
    for loss, seed in product(ECIR, FEWER_DRAWS):
        yield scenes("twice", "vse++", loss, seed, "", {"updates": 2 * UPDATES})

"""What people train with today: each loss at three rates and values of its own constant, on one draw, then on five."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from icrlib.studies import Run, study

from .planned import (
    CLAIM_DRAWS,
    FEWER_DRAWS,
    RATES,
    TUNING_DRAWS,
    UPDATES,
    chosen,
    scenes,
    sized,
)

# IFM's temperature is NT-Xent's. SigLIP's published bias of -10 suits 22,000 pairs in a batch (push/beyond), one of
# -5 suits 149; a batch has 128.
BEYOND = {
    "ntxent": [{"tau": tau, "learn_tau": True} for tau in (0.1, 0.05)],
    "ifm": [{"tau": 0.1, "eps": eps} for eps in (0.1, 0.05, 0.2)],
    "siglip": [
        {"bias": bias, "learn_tau": learn, "learn_bias": learn}
        for bias, learn in ((-10.0, True), (-5.0, True), (-5.0, False))
    ],
    "dcl": [{"tau": tau} for tau in (0.1, 0.05, 0.2)],
    "ntxent_sparse": [{"tau": tau} for tau in (0.2, 0.1, 0.4)],
}


@study()
def beyond_tuning() -> Iterator[Run]:
    """Rates and constants on one tuning draw; the middle rate, NT-Xent's, first."""
    for place, lr, loss in product(range(3), (RATES[1], RATES[2], RATES[0]), BEYOND):
        for constants in BEYOND[loss][place : place + 1]:
            tag = "-".join(
                [f"lr{lr:g}", *(f"{name}{value:g}" for name, value in constants.items() if not isinstance(value, bool))]
            )
            tag += "-learned" if constants.get("learn_tau") else ""
            yield scenes(
                "beyond_tuning",
                "vse++",
                loss,
                TUNING_DRAWS[0],
                tag,
                sized("vse++") | {"lr": lr, "updates": UPDATES} | constants,
            )


@study(search="beyond_tuning")
def beyond() -> Iterator[Run]:
    """Each loss with the settings of its best run of the search; NT-Xent and Triplet-SH beside it are in ``ecir``."""
    for seed, loss in product(FEWER_DRAWS, BEYOND):
        always = dict.items(BEYOND[loss][0]) & BEYOND[loss][1].items()  # what no candidate moved, a learned τ say
        yield scenes(
            "beyond",
            "vse++",
            loss,
            seed,
            "",
            {"updates": UPDATES} | dict(always) | chosen("beyond_tuning", "vse++", loss),
        )


@study(search="tuning", wanted=10)
def misprint() -> Iterator[Run]:
    """DCL with the very settings that were chosen for NT-Xent: nothing but the denominator differs from ``ecir``."""
    for method, seed in product(("vse++", "bow"), CLAIM_DRAWS):
        best = chosen("tuning", method, "ntxent", tau=0.1)
        yield scenes("misprint", method, "dcl", seed, "", {"updates": UPDATES, "tau": 0.1} | best)


@study()
def beyond_cold() -> Iterator[Run]:
    """Does the learning cost a learned τ its recall, or where τ ends? NT-Xent with τ fixed there, and between."""
    for tau, lr in product((0.016, 0.03), (RATES[1], RATES[0])):
        yield scenes(
            "beyond_cold",
            "vse++",
            "ntxent",
            TUNING_DRAWS[0],
            f"lr{lr:g}-tau{tau:g}",
            sized("vse++") | {"lr": lr, "updates": UPDATES, "tau": tau},
        )


@study()
def misprint_tau() -> Iterator[Run]:
    """Is NT-Xent only too cold? Temperatures between the searched ones, for both denominators; IFM beyond its edge."""
    for loss, own in (*product(("ntxent", "dcl"), ({"tau": 0.14}, {"tau": 0.07})), ("ifm", {"tau": 0.1, "eps": 0.4})):
        tag = "-".join(f"{name}{value:g}" for name, value in own.items())
        yield scenes(
            "misprint_tau",
            "vse++",
            loss,
            TUNING_DRAWS[0],
            tag,
            sized("vse++") | {"lr": RATES[1], "updates": UPDATES} | own,
        )

"""What does it take to read? Systems from a bag of words to a modular scorer, on captions plain and told apart."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from statistics import mean

from icrlib.studies import Run, study

from .planned import FEWER_DRAWS, RATES, TUNING_DRAWS, UPDATES, scenes, sized, validation

# Systems on regions are done after a third of what VSE++ takes to begin (their own validation says so).
SHORT = 1500
POOLED = sized("vse_infty") | {
    "padding": "masked",
    "drop_regions": 0.0,
    "drop_words": 0.0,
    "delete_words": 0.0,
    "optimiser": "adam",
    "weight_decay": 0.0,
}
# Of each system its method and its settings.
SYSTEMS: dict[str, tuple[str, dict]] = {
    "bag": ("bow", sized("bow") | {"updates": UPDATES}),
    "pairs": ("bow", sized("bow") | {"ngrams": 2, "updates": UPDATES}),
    "triples": ("bow", sized("bow") | {"ngrams": 3, "updates": UPDATES}),
    "vse": ("vse++", sized("vse++") | {"updates": UPDATES}),
    "vse-mean": ("vse++", sized("vse++") | {"pool": "mean", "updates": UPDATES}),
    "vse-max": ("vse++", sized("vse++") | {"pool": "max", "updates": UPDATES}),
    "means": ("vse_infty", POOLED | {"pool": "mean", "updates": SHORT}),
    "maxima": ("vse_infty", POOLED | {"pool": "max", "updates": SHORT}),
    "vse-infty": ("vse_infty", POOLED | {"pool": "gpo", "updates": SHORT}),
    "modular": ("cmn", {"embed_dim": 64, "word_dim": 64, "mentions": 2, "places": "boxes", "updates": SHORT}),
}
PHRASINGS = {"plain": {}, "apart": {"phrasing": "apart"}}


@study()
def ladder_tuning() -> Iterator[Run]:
    """A rate for each system, with NT-Xent on plain captions."""
    for (name, (method, settings)), seed, lr in product(SYSTEMS.items(), TUNING_DRAWS, RATES):
        yield scenes("ladder_tuning", method, "ntxent", seed, f"{name}-lr{lr:g}", settings | {"lr": lr})


@study(search="ladder_tuning", wanted=5)
def ladder() -> Iterator[Run]:
    """Which systems read what, on five draws: captions plain and told apart, NT-Xent and Triplet-SH."""
    best = {name: rate(name) for name in SYSTEMS}
    for loss, (phrasing, data), seed in product(("ntxent", "triplet_sh"), PHRASINGS.items(), FEWER_DRAWS):
        for name, (method, settings) in SYSTEMS.items():
            given = settings | {"lr": best[name]}
            yield scenes("ladder", method, loss, seed, f"{name}-{phrasing}", given, **data)


def rate(system: str) -> float:
    """The rate with the highest mean validation rsum over the tuning draws."""
    tried = ladder_tuning.runs()
    sums = {lr: [validation(run) for run in tried if run.tag == f"{system}-lr{lr:g}"] for lr in RATES}
    return max(sums, key=lambda lr: mean(sums[lr]))

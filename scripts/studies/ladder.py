"""What does it take to read? Systems from a bag of words to a modular scorer, on captions plain and told apart."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from statistics import mean

from icrlib.studies import Run, study

from .ecir import CONSTANTS
from .planned import CLAIM_DRAWS, ECIR, FEWER_DRAWS, RATES, TEST, TUNING_DRAWS, VAL, chosen, scenes, sized, validation

# Systems on regions read after some hundred updates (their own validation says so); VSE++ needs more.
SHORT = 1000
HIGHER = 3e-2
QUICK = 600  # of the one that reads after 100 updates, where the book's questions are asked again
POOLED = sized("vse_infty") | {
    "padding": "masked",
    "drop_regions": 0.0,
    "drop_words": 0.0,
    "delete_words": 0.0,
    "optimiser": "adam",
    "weight_decay": 0.0,
}
MODULAR = {"embed_dim": 64, "word_dim": 64, "mentions": 2, "places": "boxes", "updates": SHORT}
# Systems whose rate is searched here: method and settings.
SYSTEMS: dict[str, tuple[str, dict]] = {
    "modular": ("cmn", MODULAR),
    "vse-infty": ("vse_infty", POOLED | {"pool": "gpo", "updates": SHORT}),
    "means": ("vse_infty", POOLED | {"pool": "mean", "updates": SHORT}),
}
MAXIMA = ("vse_infty", POOLED | {"pool": "max", "updates": QUICK})  # its search is ``quick_tuning``
PHRASINGS = {"plain": {}, "apart": {"phrasing": "apart"}}
# What was searched elsewhere: method, where, what is asked of the search. Runs there did not count by kind of twin.
KNOWN = {
    "bag": ("bow", "tuning", {}),
    "pairs": ("bow", "word_pairs_tuning", {"ngrams": 2}),
    "triples": ("bow", "word_pairs_tuning", {"ngrams": 3}),
    "vse": ("vse++", "tuning", {}),
}
# Parts taken out of the modular scorer, one at a time; and false captions of the same words as further negatives.
WITHOUT = {"norelation": {"relation": "none"}, "places": {"relation": "places"}, "mean": {"find": "mean"}}


@study()
def ladder_tuning() -> Iterator[Run]:
    """A rate for each system, with NT-Xent on plain captions."""
    for (name, (method, settings)), seed, lr in product(SYSTEMS.items(), TUNING_DRAWS, RATES):
        yield scenes("ladder_tuning", method, "ntxent", seed, f"{name}-lr{lr:g}", settings | {"lr": lr})
    for (name, (method, settings)), seed in product(SYSTEMS.items(), TUNING_DRAWS):  # all were best at the highest rate
        yield scenes("ladder_tuning", method, "ntxent", seed, f"{name}-lr{HIGHER:g}", settings | {"lr": HIGHER})


@study(search="ladder_tuning", wanted=5)
def ladder() -> Iterator[Run]:
    """Which systems read what, with NT-Xent, on five draws: captions plain and told apart."""
    known = {name: (method, chosen(search, method, "ntxent", among)) for name, (method, search, among) in KNOWN.items()}
    others = {name: (method, settings | {"lr": rate(name)}) for name, (method, settings) in SYSTEMS.items()}
    others["maxima"] = (MAXIMA[0], MAXIMA[1] | {"lr": quick_rate(), "updates": SHORT})
    for seed, (phrasing, data) in product(FEWER_DRAWS, PHRASINGS.items()):
        for name, (method, given) in (known | others).items():
            yield scenes("ladder", method, "ntxent", seed, f"{name}-{phrasing}", given, **data)


@study()
def ladder_starts() -> Iterator[Run]:
    """Does the modular scorer tell places from every start? Two draws of the data, ten starts of each."""
    for draw, start in product((0, 101), CLAIM_DRAWS):
        data = {"seed": draw, "train": 1500, "val": VAL, "test": TEST, "regions": True}
        settings = MODULAR | {"lr": 3e-3, "updates": 300}
        yield Run("ladder_starts", "scenes", "cmn", "ntxent", start, f"draw{draw}", settings, data)


@study(search="ladder_tuning", wanted=5)
def ladder_parts() -> Iterator[Run]:
    """Which part of the modular scorer tells colours, shapes and places? And what do false captions add?"""
    best = MODULAR | {"lr": rate("modular")}
    states = MAXIMA[1] | {"lr": quick_rate(), "updates": SHORT, "negatives": "foils"}
    for seed, (phrasing, data) in product(FEWER_DRAWS, PHRASINGS.items()):
        for name, part in WITHOUT.items():
            yield scenes("ladder_parts", "cmn", "ntxent", seed, f"{name}-{phrasing}", best | part, **data)
        if phrasing == "apart":
            foils = best | {"negatives": "foils"}
            yield scenes("ladder_parts", "cmn", "ntxent", seed, f"foils-{phrasing}", foils, **data)
            yield scenes("ladder_parts", MAXIMA[0], "ntxent", seed, f"maxima-foils-{phrasing}", states, **data)


@study()
def quick_tuning() -> Iterator[Run]:
    """ECIR's losses on maxima over words and regions, which read after 100 updates: rates, starts and constants."""
    method, settings = MAXIMA
    for seed, loss, place, lr in product(TUNING_DRAWS, ECIR, (0, 1, 2), RATES):
        ((constant, values),) = CONSTANTS[loss].items()
        for warmup in (0, QUICK // 6) if loss == "triplet_sh" else (0,):
            given = settings | {"lr": lr, "updates": QUICK, constant: values[place]}
            given |= {"warmup": warmup} if loss == "triplet_sh" else {}
            tag = f"lr{lr:g}-{constant}{values[place]:g}" + (f"-warmup{warmup}" if warmup else "")
            yield scenes("quick_tuning", method, loss, seed, tag, given)
    for seed, loss in product(TUNING_DRAWS, ECIR):  # all four were best at the highest rate
        ((constant, values),) = CONSTANTS[loss].items()
        given = settings | {"lr": HIGHER, "updates": QUICK, constant: values[0]}
        given |= {"warmup": QUICK // 6} if loss == "triplet_sh" else {}
        yield scenes("quick_tuning", method, loss, seed, f"lr{HIGHER:g}-{constant}{values[0]:g}", given)


@study(search="quick_tuning", wanted=10)
def quick() -> Iterator[Run]:
    """Is ECIR's order the same where the baseline reads? Each loss with its published constant, and with its own."""
    method = MAXIMA[0]
    for loss in ECIR:
        ((constant, values),) = CONSTANTS[loss].items()
        published = chosen("quick_tuning", method, loss, **{constant: values[0]})
        own = chosen("quick_tuning", method, loss)
        for seed in CLAIM_DRAWS:
            yield scenes("quick", method, loss, seed, "published", published)
            if own[constant] != values[0]:
                yield scenes("quick", method, loss, seed, "own", own)


def rate(system: str) -> float:
    """The rate with the highest mean validation rsum over the tuning draws."""
    tried = ladder_tuning.runs()
    sums = {lr: [validation(run) for run in tried if run.tag == f"{system}-lr{lr:g}"] for lr in (*RATES, HIGHER)}
    return max(sums, key=lambda lr: mean(sums[lr]))


def quick_rate() -> float:
    """The rate of the system that pools by maxima, with NT-Xent."""
    return chosen("quick_tuning", MAXIMA[0], "ntxent", tau=0.1)["lr"]

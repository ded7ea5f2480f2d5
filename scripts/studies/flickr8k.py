"""Photos: is the bag of words really ahead there, or was VSE++ trained badly? Flickr8k's pooled features."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from studies.planned import ECIR, RATES, Planned, chosen, complete, registered

# Fifteen passes through the captions.
PHOTO_UPDATES, PHOTO_SEED = 3600, 100
# What a first and shorter search, for NT-Xent alone, tried beyond its edges: most word dropout, the smallest rate.
PHOTO_EDGES = (("vse++", 0.4, 1e-3), ("vse++", 0.4, 3e-3), ("bow", 0.4, 1e-3), ("bow", 0.4, 3e-4), ("bow", 0.2, 3e-4))


def photos(study: str, method: str, loss: str, seed: int, tag: str, settings: dict) -> Planned:
    """A run on Flickr8k's pooled features: data are fixed, weights and batches follow from the seed."""
    return Planned(study, "flickr8k", method, loss, seed, tag, {"embed_dim": 256, "updates": PHOTO_UPDATES} | settings)


@registered
def photo_words() -> Iterator[Planned]:
    """Rate and word dropout for NT-Xent, which takes the least time, in ten passes."""
    for method, drop_words, lr in (*product(("vse++", "bow"), (0.0, 0.2), RATES), *PHOTO_EDGES):
        yield photos("photo_words", method, "ntxent", PHOTO_SEED, f"lr{lr:g}-drop{drop_words:g}",
                     {"lr": lr, "drop_words": drop_words, "updates": 2400})  # fmt: skip


@registered
def photo_tuning() -> Iterator[Planned]:
    """Rate, word dropout and start of each loss; SmoothAP on VSE++ takes five times as long and has its own list."""
    yield from (run for run in _photo_tuning() if not slow(run))


@registered
def photo_smoothap_tuning() -> Iterator[Planned]:
    yield from filter(slow, _photo_tuning())


def _photo_tuning() -> Iterator[Planned]:
    """Word dropout is each loss's own matter: it holds Triplet-SH in its collapse."""
    for method, loss in product(("vse++", "bow"), ECIR):
        for lr, drop_words, warmup in _photo_grid(method, loss):
            yield photos("photo_tuning", method, loss, PHOTO_SEED,
                         f"lr{lr:g}-drop{drop_words:g}" + (f"-warmup{warmup}" if warmup else ""),
                         {"lr": lr, "drop_words": drop_words} | ({"warmup": warmup} if warmup else {}))  # fmt: skip


def _photo_grid(method: str, loss: str) -> list[tuple[float, float, int]]:
    """Rates, word dropout and starts: what the first search left open, with its edges."""
    if method == "bow":
        return [*product(RATES, (0.0,), (0,)), (RATES[0], 0.2, 0)]
    if loss == "smoothap":
        return [*product(RATES, (0.0, 0.2), (0,))]
    start = PHOTO_UPDATES // 6 if loss == "triplet_sh" else 0  # at 3e-3 it leaves its collapse with a start only
    cold = [(1e-3, 0.0, 0), (1e-3, 0.2, 0)] if start else []
    return [*cold, *product(RATES[:2], (0.0, 0.2, 0.4), (start,)), (RATES[2], 0.0, start)]


@registered
def photo_runs() -> Iterator[Planned]:
    """Four losses, each at its own rate, on VSE++ and on the bag of words; SmoothAP on VSE++ has its own lists."""
    complete("photo_tuning")
    for loss, seed, method in product(("ntxent", "triplet_sh", "triplet", "smoothap"), range(3), ("vse++", "bow")):
        if (method, loss) != ("vse++", "smoothap"):
            yield _photo_run(method, loss, seed)


@registered
def photo_smoothap() -> Iterator[Planned]:
    complete("photo_smoothap_tuning")
    for seed in range(3):
        yield _photo_run("vse++", "smoothap", seed)


def _photo_run(method: str, loss: str, seed: int) -> Planned:
    return photos("photo_runs", method, loss, seed, "", chosen("photo_tuning", method, loss))


@registered
def photo_longer() -> Iterator[Planned]:
    """Twice the updates with what was chosen: is the one ahead only because it is done sooner?

    NT-Xent on VSE++ also with more word dropout, since it chose the most that was tried.
    """
    complete("photo_tuning")
    for loss, method in product(("ntxent", "triplet_sh"), ("vse++", "bow")):
        settings = chosen("photo_tuning", method, loss) | {"updates": 2 * PHOTO_UPDATES}
        yield photos("photo_longer", method, loss, PHOTO_SEED, "", settings)
        if (method, loss) == ("vse++", "ntxent"):
            yield photos("photo_longer", method, loss, PHOTO_SEED, "drop0.6", settings | {"drop_words": 0.6})


@registered
def photo_misprint() -> Iterator[Planned]:
    """DCL with the very settings that were chosen for NT-Xent, as in ``misprint``."""
    for seed, method in product(range(3), ("vse++", "bow")):
        best = chosen("photo_tuning", method, "ntxent")
        yield photos("photo_misprint", method, "dcl", seed, "", {"tau": 0.1} | best)


def slow(run: Planned) -> bool:
    return (run.method, run.loss) == ("vse++", "smoothap")

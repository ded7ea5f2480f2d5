"""Photos: is the bag of words really ahead there, or was VSE++ trained badly? Flickr8k's features.

Pooled ones, of all 6,000 training photos or of 400; and for VSRN a folder with features of regions.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from icrlib import records
from icrlib.studies import Run, study

from .ecir import CONSTANTS
from .planned import ECIR, RATES, chosen, searched

# Fifteen passes through the captions.
PHOTO_UPDATES, PHOTO_SEED = 3600, 100
# What a first and shorter search, for NT-Xent alone, tried beyond its edges: most word dropout, the smallest rate.
PHOTO_EDGES = (("vse++", 0.4, 1e-3), ("vse++", 0.4, 3e-3), ("bow", 0.4, 1e-3), ("bow", 0.4, 3e-4), ("bow", 0.2, 3e-4))

# Few photos: 75 passes through their captions.
FEW, FEW_UPDATES, FEW_LOSSES = 400, 1200, ("ntxent", "triplet_sh", "smoothap")


def photos(study: str, method: str, loss: str, seed: int, tag: str, settings: dict) -> Run:
    """A run on Flickr8k's pooled features: data are fixed, weights and batches follow from the seed."""
    return Run(study, "flickr8k", method, loss, seed, tag, {"embed_dim": 256, "updates": PHOTO_UPDATES} | settings)


@study(needs="features")
def photo_words() -> Iterator[Run]:
    """Rate and word dropout for NT-Xent, which takes the least time, in ten passes."""
    for method, drop_words, lr in (*product(("vse++", "bow"), (0.0, 0.2), RATES), *PHOTO_EDGES):
        yield photos(
            "photo_words",
            method,
            "ntxent",
            PHOTO_SEED,
            f"lr{lr:g}-drop{drop_words:g}",
            {"lr": lr, "drop_words": drop_words, "updates": 2400},
        )


@study(needs="features")
def photo_tuning() -> Iterator[Run]:
    """Rate, word dropout and start of each loss; SmoothAP on VSE++ takes five times as long and has its own list."""
    yield from (run for run in _photo_tuning() if not slow(run))


@study(needs="features")
def photo_smoothap_tuning() -> Iterator[Run]:
    """The part of ``photo_tuning`` that takes longest: SmoothAP on VSE++."""
    yield from filter(slow, _photo_tuning())


def _photo_tuning() -> Iterator[Run]:
    """Word dropout is each loss's own matter: it holds Triplet-SH in its collapse."""
    for method, loss in product(("vse++", "bow"), ECIR):
        for lr, drop_words, warmup in _photo_grid(method, loss):
            yield photos(
                "photo_tuning",
                method,
                loss,
                PHOTO_SEED,
                f"lr{lr:g}-drop{drop_words:g}" + (f"-warmup{warmup}" if warmup else ""),
                {"lr": lr, "drop_words": drop_words} | ({"warmup": warmup} if warmup else {}),
            )


def _photo_grid(method: str, loss: str) -> list[tuple[float, float, int]]:
    """Rates, word dropout and starts: what the first search left open, with its edges."""
    if method == "bow":
        return [*product(RATES, (0.0,), (0,)), (RATES[0], 0.2, 0)]
    if loss == "smoothap":
        return [*product(RATES, (0.0, 0.2), (0,))]
    start = PHOTO_UPDATES // 6 if loss == "triplet_sh" else 0  # at 3e-3 it leaves its collapse with a start only
    cold = [(1e-3, 0.0, 0), (1e-3, 0.2, 0)] if start else []
    return [*cold, *product(RATES[:2], (0.0, 0.2, 0.4), (start,)), (RATES[2], 0.0, start)]


@study(search="photo_tuning", wanted=3, needs="features", apart={("vse++", "smoothap"): "photo_smoothap"})
def photo_runs() -> Iterator[Run]:
    """Four losses, each at its own rate, on VSE++ and on the bag of words; SmoothAP on VSE++ has its own lists."""
    for loss, seed, method in product(("ntxent", "triplet_sh", "triplet", "smoothap"), range(3), ("vse++", "bow")):
        if (method, loss) != ("vse++", "smoothap"):
            yield _photo_run(method, loss, seed)


@study(search="photo_smoothap_tuning", needs="features")
def photo_smoothap() -> Iterator[Run]:
    """SmoothAP on VSE++, as the search for it chose, on three seeds."""
    for seed in range(3):
        yield _photo_run("vse++", "smoothap", seed)


def _photo_run(method: str, loss: str, seed: int) -> Run:
    return photos("photo_runs", method, loss, seed, "", chosen("photo_tuning", method, loss))


@study(search="photo_tuning", wanted=3, needs="features")
def photo_tied() -> Iterator[Run]:
    """Triplet-SH on VSE++ with the setting that lost the search by 0.08 of a validation rsum, in one seed: a tie.

    The chosen one has no word dropout and no start, this one has the dropout that NT-Xent was given.
    """
    start = {"lr": RATES[1], "drop_words": 0.4, "warmup": PHOTO_UPDATES // 6}
    for seed in range(3):
        yield photos("photo_tied", "vse++", "triplet_sh", seed, "", start)


@study(search="photo_tuning", needs="features")
def photo_longer() -> Iterator[Run]:
    """Twice the updates with what was chosen: is the one ahead only because it is done sooner?

    NT-Xent on VSE++ also with more word dropout, since it chose the most that was tried.
    """
    for loss, method in product(("ntxent", "triplet_sh"), ("vse++", "bow")):
        settings = chosen("photo_tuning", method, loss) | {"updates": 2 * PHOTO_UPDATES}
        yield photos("photo_longer", method, loss, PHOTO_SEED, "", settings)
        if (method, loss) == ("vse++", "ntxent"):
            yield photos("photo_longer", method, loss, PHOTO_SEED, "drop0.6", settings | {"drop_words": 0.6})


@study(search="photo_tuning", wanted=3, needs="features")
def photo_misprint() -> Iterator[Run]:
    """DCL with the very settings that were chosen for NT-Xent, as in ``misprint``."""
    for seed, method in product(range(3), ("vse++", "bow")):
        best = chosen("photo_tuning", method, "ntxent")
        yield photos("photo_misprint", method, "dcl", seed, "", {"tau": 0.1} | best)


@study(search="photo_tuning", needs="features")
def photo_constants() -> Iterator[Run]:
    """Is another margin or temperature better than the published one? At the rate, dropout and start found with it."""
    for method, loss in product(("bow", "vse++"), ECIR):
        if (method, loss) != ("vse++", "smoothap"):
            ((name, (_, *others)),) = CONSTANTS[loss].items()
            for value in others:
                yield photos(
                    "photo_constants",
                    method,
                    loss,
                    PHOTO_SEED,
                    f"{name}{value:g}",
                    chosen("photo_tuning", method, loss) | {name: value},
                )


@study(search="photo_constants", wanted=3, needs="features")
def photo_own() -> Iterator[Run]:
    """Three seeds with the constant that was best on the validation photos, where that is not the published one."""
    for method, loss in dict.fromkeys((run.method, run.loss) for run in photo_constants.runs()):
        if (settings := _own_constant(method, loss)) != chosen("photo_tuning", method, loss):
            yield from (photos("photo_own", method, loss, seed, "", settings) for seed in range(3))


@study(search="photo_constants", needs="features")
def photo_short() -> Iterator[Run]:
    """The bag of words is at its best early on: would a rate that falls earlier do better, and for which loss most?

    And VSE++; where the shortest was the best, half of it, where the longest was, twice that.
    """
    ends = [("bow", "smoothap", 1 / 12), ("bow", "triplet_sh", 2)]
    for method, loss, share in (*product(("bow", "vse++"), ECIR, (1 / 6, 1 / 3)), *ends):
        updates = round(PHOTO_UPDATES * share)
        if (method, loss) != ("vse++", "smoothap"):
            yield photos(
                "photo_short",
                method,
                loss,
                PHOTO_SEED,
                f"u{updates}",
                _own_constant(method, loss) | {"updates": updates, "evaluate_every": updates // 12},
            )


@study(search="photo_short", wanted=3, needs="features")
def photo_length() -> Iterator[Run]:
    """The length of schedule that was best for each loss, on three seeds, where that is not the usual one.

    DCL takes NT-Xent's settings, as in ``photo_misprint``.
    """
    short = photo_short.runs()
    for method, loss in product(("bow", "vse++"), ECIR):
        lengths = [run for run in short if (run.method, run.loss) == (method, loss)]
        if not lengths:  # VSE++ with SmoothAP takes too long
            continue
        usual = _on_validation(
            *records.outlines(study="photo_tuning", method=method, loss=loss),
            *records.outlines(study="photo_constants", method=method, loss=loss),
        )
        if _on_validation(best := max(lengths, key=_on_validation)) > usual:
            for name in (loss, "dcl") if loss == "ntxent" else (loss,):
                tau = {"tau": 0.1} if name == "dcl" else {}
                yield from (photos("photo_length", method, name, seed, "", tau | best.settings) for seed in range(3))


def _own_constant(method: str, loss: str) -> dict:
    """What was chosen on all photos, with the constant that was best there, if that is not the published one."""
    ((name, _),) = CONSTANTS[loss].items()
    known, others = (
        records.outlines(study=study, method=method, loss=loss) for study in ("photo_tuning", "photo_constants")
    )
    best = max([*known, *others], key=lambda record: record["chosen"]["val_rsum"])
    own = {name: best["config"]["loss_options"][name]} if best in others else {}
    return chosen("photo_tuning", method, loss) | own


def _on_validation(*runs: Run | dict) -> float:
    """The best validation rsum of runs or records."""
    found = (records.load(run.path) if isinstance(run, Run) else run for run in runs)
    return max(record["chosen"]["val_rsum"] for record in found)


def slow(run: Run) -> bool:
    return (run.method, run.loss) == ("vse++", "smoothap")


@study(needs="features")
def photo_small_tuning() -> Iterator[Run]:
    """400 of the training photos: rate, word dropout and start of three losses."""
    for method, loss in product(("bow", "vse++"), FEW_LOSSES):
        start = FEW_UPDATES // 6 if (method, loss) == ("vse++", "triplet_sh") else 0
        for lr, drop_words in product(RATES, (0.0, 0.4) if method == "vse++" else (0.0, 0.2)):
            yield few_photos(
                "photo_small_tuning",
                method,
                loss,
                PHOTO_SEED,
                f"lr{lr:g}-drop{drop_words:g}" + (f"-warmup{start}" if start else ""),
                {"lr": lr, "drop_words": drop_words} | ({"warmup": start} if start else {}),
            )


@study(search="photo_small_tuning", needs="features")
def photo_small() -> Iterator[Run]:
    """What the search chose, on three seeds; SmoothAP on VSE++, which takes longest, last."""
    pairs = [*product(("bow", "vse++"), FEW_LOSSES[:2]), ("bow", "smoothap"), ("vse++", "smoothap")]
    for (method, loss), seed in product(pairs, range(3)):
        yield few_photos("photo_small", method, loss, seed, "", chosen("photo_small_tuning", method, loss))


@study(search="photo_small_tuning", needs="features")
def photo_small_edges() -> Iterator[Run]:
    """Beyond the search: a higher rate where the highest was best, other constants, and a look every 25 updates.

    Is the order of the losses one of this search? SmoothAP on VSE++, which takes ten times as long, is left out.
    """
    for method, loss in product(("bow", "vse++"), FEW_LOSSES):
        if (method, loss) != ("vse++", "smoothap"):
            best = chosen("photo_small_tuning", method, loss)
            moved = {"as searched": {}} | ({"lr0.03": {"lr": 3e-2}} if best["lr"] == RATES[-1] else {})
            ((name, (_, *others)),) = CONSTANTS[loss].items()
            moved |= {f"{name}{value:g}": {name: value} for value in others}
            for tag, settings in moved.items():
                yield few_photos(
                    "photo_small_edges",
                    method,
                    loss,
                    PHOTO_SEED,
                    tag.replace(" ", "_"),
                    best | settings | {"evaluate_every": FEW_UPDATES // 48},
                )


@study(search="photo_small_edges", wanted=3, needs="features")
def photo_small_own() -> Iterator[Run]:
    """The best of those, on three seeds, with a look every 25 updates."""
    pairs = dict.fromkeys((run.method, run.loss) for run in photo_small_edges.runs())
    for (method, loss), seed in product(pairs, range(3)):
        yield few_photos("photo_small_own", method, loss, seed, "", chosen("photo_small_edges", method, loss))


@study(needs="features")
def photo_small_no_start() -> Iterator[Run]:
    """Triplet-SH on VSE++ at the search's best rate, but with the hardest negatives alone from the first update on."""
    for drop_words, seed in product((0.0, 0.4), range(3)):
        yield few_photos(
            "photo_small_no_start",
            "vse++",
            "triplet_sh",
            seed,
            f"drop{drop_words:g}",
            {"lr": RATES[2], "drop_words": drop_words, "warmup": 0},
        )


@study(search="photo_tuning", needs="features")
def album() -> Iterator[Run]:
    """Other photos than those of the training: a folder of features with these as its test part is needed."""
    yield from _album("album", "bow", "vse++")


@study(search="photo_tuning", needs="features")
def album_as_there() -> Iterator[Run]:
    """The same photos, prepared as the training photos were: what the way from the picture costs."""
    yield from _album("album_as_there", "bow")


def _album(study: str, *methods: str) -> Iterator[Run]:
    for seed, method in product(range(3), methods):
        yield photos(study, method, "ntxent", seed, "", chosen("photo_tuning", method, "ntxent"))


def few_photos(study: str, method: str, loss: str, seed: int, tag: str, settings: dict) -> Run:
    """As :func:`photos`, on 400 of the training photos with a third of the updates."""
    return Run(
        study, "flickr8k", method, loss, seed, tag, {"embed_dim": 256, "updates": FEW_UPDATES} | settings, photos=FEW
    )


@study(needs="features")
def photo_vsrn_tuning() -> Iterator[Run]:
    """VSRN: a folder with features of regions is needed. SmoothAP, which takes five times as long, at two rates."""
    for loss in ("ntxent", "triplet_sh", "triplet", "smoothap"):
        start = PHOTO_UPDATES // 6 if loss == "triplet_sh" else 0
        for lr, drop_words in product(RATES[:2], (0.0,) if loss == "smoothap" else (0.0, 0.4)):
            yield photos(
                "photo_vsrn_tuning",
                "vsrn",
                loss,
                PHOTO_SEED,
                f"lr{lr:g}-drop{drop_words:g}" + (f"-warmup{start}" if start else ""),
                {"lr": lr, "drop_words": drop_words} | ({"warmup": start} if start else {}),
            )


@study(search="photo_vsrn_tuning", partly=True, wanted=3, needs="features")
def photo_vsrn() -> Iterator[Run]:
    """What the search chose, on three seeds, of each loss whose search is finished.

    SmoothAP last, so that its first seed may be its only one.
    """
    found = searched("photo_vsrn_tuning", ("ntxent", "triplet_sh", "triplet", "smoothap"))
    for losses in ([loss for loss in found if loss != "smoothap"], [loss for loss in found if loss == "smoothap"]):
        for seed, loss in product(range(3), losses):
            yield photos("photo_vsrn", "vsrn", loss, seed, "", chosen("photo_vsrn_tuning", "vsrn", loss))


@study(search="photo_vsrn_tuning", partly=True, needs="features")
def photo_vsrn_edges() -> Iterator[Run]:
    """Beyond VSRN's search with NT-Xent, which was best at its highest rate and with the most left-out words."""
    searched("photo_vsrn_tuning", ("ntxent",))
    best = chosen("photo_vsrn_tuning", "vsrn", "ntxent")
    for change in ({"lr": RATES[2]}, {"drop_words": 0.6}):
        settings = best | change
        yield photos(
            "photo_vsrn_edges",
            "vsrn",
            "ntxent",
            PHOTO_SEED,
            f"lr{settings['lr']:g}-drop{settings['drop_words']:g}",
            settings,
        )

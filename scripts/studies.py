"""The book's studies as lists of runs: what `make records STUDY=…` trains, in the order in which it matters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

import click

from icrlib import paper, records
from icrlib.losses import goal

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
    settings |= {"warmup": warmup} if loss == "triplet_sh" else {}
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
UPDATES, WARMUP, EDGE = 3000, 500, 3e-2
CONSTANTS = {"triplet": {"margin": (0.2, 0.1, 0.4)}, "triplet_sh": {"margin": (0.2, 0.1, 0.4)},
             "ntxent": {"tau": (0.1, 0.05, 0.2)}, "smoothap": {"tau": (0.01, 0.03, 0.1)}}  # fmt: skip


def tuning() -> Iterator[Planned]:
    """Published constants first, which the defaults of the data set wait for; then each loss with two other ones.

    Triplet-SH at 1e-2 needs the start, as the shorter search shows, and no loss needs it on a bag of words.
    """
    for place, seed, method, loss, lr in product((0, 1, 2), TUNING_DRAWS, ("vse++", "bow"), ECIR, RATES):
        for warmup in (0, WARMUP) if loss == "triplet_sh" and method == "vse++" else (0,):
            if warmup or loss != "triplet_sh" or method == "bow" or lr < 1e-2:
                yield _candidate("tuning", method, loss, seed, lr, warmup, place, UPDATES)


def half_tuning() -> Iterator[Planned]:
    """Half the updates, published constants; a GRU's losses on pairs get a fourth rate, lest one ends at an edge."""
    for seed, method, loss, lr in product(TUNING_DRAWS, ("vse++", "bow"), ECIR, (*RATES, EDGE)):
        if lr < EDGE or (method == "vse++" and loss != "smoothap"):
            for warmup in (0, WARMUP // 2) if loss == "triplet_sh" else (0,):
                yield _candidate("half_tuning", method, loss, seed, lr, warmup, 0, UPDATES // 2)


def _candidate(study: str, method: str, loss: str, seed: int, lr: float, warmup: int, place: int, updates: int
               ) -> Planned:  # fmt: skip
    ((name, values),) = CONSTANTS[loss].items()
    tag = f"lr{lr:g}" + (f"-{name}{values[place]:g}" if place else "") + (f"-warmup{warmup}" if warmup else "")
    settings = _sized(method) | {"lr": lr, "updates": updates}
    settings |= {name: values[place]} if place else {}
    return scenes(study, method, loss, seed, tag, settings | ({"warmup": warmup} if loss == "triplet_sh" else {}))


def _sized(method: str) -> dict:
    return {"embed_dim": 128} | ({"word_dim": 64} if method == "vse++" else {})


def chosen(study: str, method: str, loss: str, **fixed: object) -> dict:
    """What a search chose for a method and a loss; ``fixed``: among candidates with these options of the loss only."""
    found = [record for record in records.find(study=study, method=method, loss=loss)
             if all(record["config"]["loss_options"][name] == value for name, value in fixed.items())]
    return paper.choices(found)[method, loss] if found else {}


def search_of(dataset: str, method: str, loss: str) -> tuple[str, str] | None:
    """The list of candidates for a method and a loss on a data set, and the study that their records are in."""
    for name in ("tuning", "photo_tuning", "photo_smoothap_tuning"):
        for run in STUDIES[name]():
            if (run.dataset, run.method, run.loss) == (dataset, method, loss):
                return name, run.study
    return None


def complete(study: str) -> None:
    """Refuse to go on from a search that is not finished: the best of what is there may not be the best."""
    missing = [run for run in STUDIES[study]() if not run.path.exists()]
    if missing:
        raise click.ClickException(f"{len(missing)} runs of the search are missing; make records STUDY={study} first")


# ECIR's question: four losses, on a GRU and on a bag of words, by default settings; and with their own constant tuned.
def ecir() -> Iterator[Planned]:
    """Everything as the data set's defaults have it: published constants, rate and start chosen for each loss."""
    for seed, method, loss in product(CLAIM_DRAWS, ("vse++", "bow"), ECIR):
        yield scenes("ecir", method, loss, seed, "", {})


def half() -> Iterator[Planned]:
    """Half the updates, with what was chosen for half the updates: would the verdicts have been others?"""
    for seed, method, loss in product(CLAIM_DRAWS, ("vse++", "bow"), ECIR):
        yield scenes("half", method, loss, seed, "", {"updates": UPDATES // 2} | chosen("half_tuning", method, loss))


def tuned() -> Iterator[Planned]:
    """The best candidate of the whole search; where that has the published constant, ``ecir`` has these runs."""
    complete("tuning")
    for seed, method, loss in product(CLAIM_DRAWS, ("vse++", "bow"), ECIR):
        ((name, values),) = CONSTANTS[loss].items()
        best = chosen("tuning", method, loss)
        if best.get(name, values[0]) != values[0]:
            yield scenes("tuned", method, loss, seed, "", best)


# GOAL's objectives, each at its own rate. No start with all negatives: whether they leave the collapse is a question.
GOALS = [*((f"goal:{t} x {p}", "paper") for t in goal.TRIPLET_WEIGHTS for p in goal.PAIR_WEIGHTS),
         *((f"goal:cir x {p}", "released") for p in goal.PAIR_WEIGHTS)]  # fmt: skip


def goal_tuning() -> Iterator[Planned]:
    """Three rates on one tuning draw; con x con is Triplet-SH, which needs the more updates the longer it collapses."""
    for (loss, convention), lr in product(GOALS, RATES):
        yield scenes("goal_tuning", "vse++", loss, TUNING_DRAWS[0], f"{convention}-lr{lr:g}",
                     {"lr": lr, "updates": UPDATES, "convention": convention})  # fmt: skip


def goals() -> Iterator[Planned]:
    """Fifteen objectives as printed, and cir as released, each at the rate that its search chose."""
    complete("goal_tuning")
    for seed, (loss, convention) in product(FEWER_DRAWS, GOALS):
        best = chosen("goal_tuning", "vse++", loss, convention=convention)
        yield scenes("goal", "vse++", loss, seed, convention,
                     {"updates": UPDATES, "convention": convention} | best)  # fmt: skip


def goal_rates() -> Iterator[Planned]:
    """Is the order one of rates? Two more of them, around the chosen one, on the tuning draw."""
    for (loss, convention), lr in product((("goal:con x con", "paper"), ("goal:con x sig-ms", "paper"),
                                           ("goal:nca x con", "paper"), ("goal:cir x sig-ms", "released")),
                                          (2e-3, 5e-3)):  # fmt: skip
        yield scenes("goal_rates", "vse++", loss, TUNING_DRAWS[0], f"{convention}-lr{lr:g}",
                     {"lr": lr, "updates": UPDATES, "convention": convention})  # fmt: skip


# cir as printed leaves its collapse late. Is that the size of its gradient, which Adam remembers, or is it only time?
SMALL_CLIP, LONGER = 0.02, 9000


def goal_size() -> Iterator[Planned]:
    """Clipped a hundred times shorter: for Adam the same as a hundred times the gradient, clipped as before."""
    complete("goal_tuning")
    for seed, p in product(FEWER_DRAWS, goal.PAIR_WEIGHTS):
        best = chosen("goal_tuning", "vse++", f"goal:cir x {p}", convention="paper")
        yield scenes("goal_size", "vse++", f"goal:cir x {p}", seed, "",
                     {"updates": UPDATES, "convention": "paper", "grad_clip": SMALL_CLIP} | best)  # fmt: skip


def goal_longer() -> Iterator[Planned]:
    """Three times the updates for cir and for con, with one pair weight, on three draws."""
    complete("goal_tuning")
    for seed, t in product(FEWER_DRAWS[:3], ("cir", "con")):
        best = chosen("goal_tuning", "vse++", f"goal:{t} x lin", convention="paper")
        yield scenes("goal_longer", "vse++", f"goal:{t} x lin", seed, "",
                     {"updates": LONGER, "convention": "paper"} | best)  # fmt: skip


# Two doubts about ECIR's order: is it the clipping, and would it stay with twice the updates?
def clipping() -> Iterator[Planned]:
    for seed, loss in product(FEWER_DRAWS, ECIR):
        yield scenes("clipping", "vse++", loss, seed, "", {"grad_clip": 0.0})


def clipping_rates() -> Iterator[Planned]:
    """Would another rate do better without the clip, or a start? On the tuning draw, as those with it were chosen."""
    for (loss, start), lr in product((*((loss, 0) for loss in ECIR[:3]), ("triplet_sh", WARMUP)), (3e-4, *RATES)):
        settings = {"lr": lr, "updates": UPDATES, "grad_clip": 0.0} | ({"warmup": start} if start else {})
        yield scenes("clipping_rates", "vse++", loss, TUNING_DRAWS[0],
                     f"lr{lr:g}" + (f"-warmup{start}" if start else ""), _sized("vse++") | settings)  # fmt: skip


def twice() -> Iterator[Planned]:
    """The schedule stretched, with as many evaluations and a start with all negatives that lasts twice as long."""
    for loss, seed in product(ECIR, FEWER_DRAWS):
        yield scenes("twice", "vse++", loss, seed, "", {"updates": 2 * UPDATES})


# What people train with today: each loss at three rates and values of its own constant, on one draw, then on five.
# IFM's temperature is NT-Xent's. SigLIP's published bias of -10 suits 22,000 pairs in a batch (lessons/beyond), one of
# -5 suits 149; a batch has 128.
BEYOND = {"ntxent": [{"tau": tau, "learn_tau": True} for tau in (0.1, 0.05)],
          "ifm": [{"tau": 0.1, "eps": eps} for eps in (0.1, 0.05, 0.2)],
          "siglip": [{"bias": bias, "learn_tau": learn, "learn_bias": learn}
                     for bias, learn in ((-10.0, True), (-5.0, True), (-5.0, False))],
          "dcl": [{"tau": tau} for tau in (0.1, 0.05, 0.2)],
          "ntxent_sparse": [{"tau": tau} for tau in (0.2, 0.1, 0.4)]}  # fmt: skip


def beyond_tuning() -> Iterator[Planned]:
    """Rates and constants on one tuning draw; the middle rate, NT-Xent's, first."""
    for place, lr, loss in product(range(3), (RATES[1], RATES[2], RATES[0]), BEYOND):
        for constants in BEYOND[loss][place:place + 1]:
            tag = "-".join([f"lr{lr:g}", *(f"{name}{value:g}" for name, value in constants.items()
                                           if not isinstance(value, bool))])  # fmt: skip
            tag += "-learned" if constants.get("learn_tau") else ""
            yield scenes("beyond_tuning", "vse++", loss, TUNING_DRAWS[0], tag,
                         _sized("vse++") | {"lr": lr, "updates": UPDATES} | constants)  # fmt: skip


def beyond() -> Iterator[Planned]:
    """Each loss with the settings of its best run of the search; NT-Xent and Triplet-SH beside it are in ``ecir``."""
    complete("beyond_tuning")
    best: dict[str, Planned] = {}
    for run in sorted(beyond_tuning(), key=lambda run: records.load(run.path)["chosen"]["val_rsum"]):
        best[run.loss] = run
    for seed, loss in product(FEWER_DRAWS, BEYOND):
        yield scenes("beyond", "vse++", loss, seed, "", best[loss].settings)


# Photos: is the bag of words really ahead there, or was VSE++ trained badly? Fifteen passes through the captions.
PHOTO_UPDATES, PHOTO_SEED = 3600, 100
# What a first and shorter search, for NT-Xent alone, tried beyond its edges: most word dropout, the smallest rate.
PHOTO_EDGES = (("vse++", 0.4, 1e-3), ("vse++", 0.4, 3e-3), ("bow", 0.4, 1e-3), ("bow", 0.4, 3e-4), ("bow", 0.2, 3e-4))


def photos(study: str, method: str, loss: str, seed: int, tag: str, settings: dict) -> Planned:
    """A run on Flickr8k's pooled features: data are fixed, weights and batches follow from the seed."""
    return Planned(study, "flickr8k", method, loss, seed, tag, {"embed_dim": 256, "updates": PHOTO_UPDATES} | settings)


def photo_words() -> Iterator[Planned]:
    """Rate and word dropout for NT-Xent, which takes the least time, in ten passes."""
    for method, drop_words, lr in (*product(("vse++", "bow"), (0.0, 0.2), RATES), *PHOTO_EDGES):
        yield photos("photo_words", method, "ntxent", PHOTO_SEED, f"lr{lr:g}-drop{drop_words:g}",
                     {"lr": lr, "drop_words": drop_words, "updates": 2400})  # fmt: skip


def photo_tuning() -> Iterator[Planned]:
    """Rate, word dropout and start of each loss; SmoothAP on VSE++ takes five times as long and has its own list."""
    yield from (run for run in _photo_tuning() if not slow(run))


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


def photo_runs() -> Iterator[Planned]:
    """Four losses, each at its own rate, on VSE++ and on the bag of words; SmoothAP on VSE++ has its own lists."""
    complete("photo_tuning")
    for loss, seed, method in product(("ntxent", "triplet_sh", "triplet", "smoothap"), range(3), ("vse++", "bow")):
        if (method, loss) != ("vse++", "smoothap"):
            yield _photo_run(method, loss, seed)


def photo_smoothap() -> Iterator[Planned]:
    complete("photo_smoothap_tuning")
    for seed in range(3):
        yield _photo_run("vse++", "smoothap", seed)


def _photo_run(method: str, loss: str, seed: int) -> Planned:
    return photos("photo_runs", method, loss, seed, "", chosen("photo_tuning", method, loss))


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


def slow(run: Planned) -> bool:
    return (run.method, run.loss) == ("vse++", "smoothap")


STUDIES: dict[str, Callable[[], Iterator[Planned]]] = {
    "reading": reading, "tuning": tuning, "ecir": ecir, "half_tuning": half_tuning, "half": half, "tuned": tuned,
    "goal_tuning": goal_tuning, "goal": goals, "goal_rates": goal_rates, "goal_size": goal_size,
    "goal_longer": goal_longer, "clipping": clipping, "clipping_rates": clipping_rates, "twice": twice,
    "beyond_tuning": beyond_tuning, "beyond": beyond,
    "photo_words": photo_words, "photo_tuning": photo_tuning, "photo_runs": photo_runs, "photo_longer": photo_longer,
    "photo_smoothap_tuning": photo_smoothap_tuning, "photo_smoothap": photo_smoothap,
}  # fmt: skip

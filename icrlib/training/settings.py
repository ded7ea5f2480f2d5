"""The settings of a run: each describes itself, so that training, command line and records need no second list.

A setting is a field of one of the groups below: its default, what is allowed, and one line of help. Names are flat,
each belongs to one group. What the groups hold is what was asked for. Behind each group stand its rules: what the rest
of a run says of its settings where nobody said it, and what is refused. A rule takes the values so far and what else
there is (:class:`icrlib.training.fields.Asked`), and returns what it decides, changing nothing; ``ValueError`` for what
no run takes. :func:`icrlib.training.config.resolve` lays one upon the other, in the order of its ``RULES``.
"""

from __future__ import annotations

from dataclasses import Field, dataclass, fields
from typing import Any

import torch

from icrlib import devices
from icrlib.data.regions import Regions
from icrlib.data.splits import Dataset
from icrlib.sampling import POSITIVES, Sampler
from icrlib.training.average import snapshots
from icrlib.training.fields import Asked, Values, check, number, one_of, switch, text, whole

OPTIMISERS = ("adam", "adamw", "adamp")
SCHEDULES = ("step", "cosine", "cosine_epoch")
RELEVANCE = ("own", "text")
AVERAGES = ("none", "swa")
OBJECTIVES = ("con", "dual", "lagrange")
MULTIPLIERS = ("published", "projected")
SMOKE_UPDATES = 24

# A frozen table: these values have never changed and never will, and what equals them is left out of a run's identity.
# A setting that is added later enters with the value that stands for how things were before it.
NEUTRAL = {
    "auxiliary": None,
    "auxiliary_options": {},
    "objective": "con",
    "beta": 1.0,
    "eta": None,
    "multiplier": "published",
    "learn_tau": False,
    "learn_bias": False,
    "warmup": 0,
    "positives": "diagonal",
    "negatives": "batch",
    "relevance": "own",
    "rerank": None,
    "accumulate": 1,
    "batch_parts": 1,  # of records that have it
    "drop_words": 0.0,
    "delete_words": 0.0,
    "erase": 0.0,
    "optimiser": "adam",
    "weight_decay": 0.0,
    "schedule": "step",
    "lr_warmup": 0,
    "grad_clip": 2.0,
    "backbone": None,
    "batch_norm": None,
    "finetune_after": None,
    "finetune_lr": None,
    "restart_lr": None,
    "average": "none",
    "average_from": 0.9,
    "average_times": 5,
    "precision": "float32",
    "smoke": False,
    "behaviour": {},  # of records that have it
}


@dataclass(frozen=True)
class Batches:
    """Which rows make a batch."""

    batch_size: int = whole(128, 2, "pairs in a batch, or images")
    batches: str | None = one_of(None, ("pairs", "images"), "what a batch is made of; None: as the loss was published")
    positives: str = one_of(
        "diagonal",
        POSITIVES,
        "of pairs: own pair only, as published, or every caption of the image; text: equal captions of others, too",
    )
    negatives: str = one_of(
        "batch", ("batch", "foils"), "captions of the batch; or also a false one of the same words for each (foils)"
    )
    accumulate: int = whole(1, 1, "batches per update, each with its own score matrix, their gradients averaged")


def batches(values: Values, asked: Asked) -> Values:
    """What a batch is made of: as the loss was published, unless something else is said; and what foils need."""
    if values["negatives"] == "foils":
        if not asked.data.foils:
            raise ValueError(
                f"negatives='foils' needs captions whose logical form is known, and {asked.data.name!r} does not know "
                "them; take scenes, or leave it out"
            )
        if not asked.kind.reads_words or values["objective"] != "con":
            raise ValueError("negatives='foils' goes with methods that read words, and with objective='con' only")
    made = values["batches"] or asked.loss.batches
    if made == "images" and asked.given.get("positives") == "image":
        raise ValueError("positives='image' has no effect with batches='images'; it belongs to batches='pairs'")
    return {"batches": made}


def epoch(values: Values, asked: Asked) -> Values:
    """``per_epoch``: how many updates the sampler's epoch has."""
    sampler = Sampler(asked.data.train, asked.seed, values["batch_size"], values["batches"], values["positives"])
    return {"per_epoch": max(1, sampler.per_epoch // values["accumulate"])}


@dataclass(frozen=True)
class Augment:
    """What training changes about its inputs, each time anew."""

    drop_words: float = number(0.0, "share of the words of a caption that become <unk>", zero=True, most=1.0)
    delete_words: float = number(0.0, "share of the words of a caption that are left out", zero=True, most=0.9)
    erase: float = number(0.0, "share of the pictures that lose a rectangle; on pictures only", zero=True, most=1.0)


def words(values: Values, asked: Asked) -> Values:
    """What is left out of captions: only where a model sees words."""
    if asked.kind.reads_words:
        return {}
    for name in ("drop_words", "delete_words"):
        if asked.given.get(name):
            whose = asked.kind.label or asked.kind.__name__
            raise ValueError(f"{name}= leaves words out, but {whose} knows captions as wholes")
    return _unused("drop_words", "delete_words")


@dataclass(frozen=True)
class Objective:
    """What is minimised beside the loss itself."""

    warmup: int = whole(0, 0, "first updates with all negatives (Triplet), against a collapse")
    learn_tau: bool = switch("learn the temperature, from the loss's own on")
    learn_bias: bool = switch("learn the bias of a loss that has one, with its temperature")
    auxiliary: str | None = text(None, "a second objective by name; None: the method's own, if it has one")
    objective: str | None = one_of(
        None, OBJECTIVES, "the loss alone (con), plus beta times the auxiliary (dual), or held below eta (lagrange)"
    )
    beta: float = number(1.0, "weight of the auxiliary, with objective dual", objective="dual")
    eta: float | None = number(None, "bound of the auxiliary, with objective lagrange", objective="lagrange")
    multiplier: str = one_of(
        "published", MULTIPLIERS, "how it stays in its bounds, with objective lagrange", objective="lagrange"
    )


def start(values: Values, asked: Asked) -> Values:
    """Updates of the start with all negatives. One that the data dictates is a share of the usual length of a run."""
    if "warmup" not in asked.given:
        return {"warmup": values["warmup"] * values["updates"] // asked.dictated.get("updates", values["updates"])}
    if not asked.smoke and values["warmup"] >= values["updates"]:
        raise ValueError(
            f"warmup={values['warmup']} of {values['updates']} updates: the loss itself would never be "
            "trained with; take fewer, or 0"
        )
    return {}


def weighing(values: Values, asked: Asked) -> Values:
    """What belongs to another way of weighing the auxiliary, and was not asked for, is as if it had not been named."""
    if values["objective"] == "lagrange" and values["eta"] is None:
        raise ValueError("objective='lagrange' needs eta=, the bound that the auxiliary is held below")
    others = [name for name, (setting, value) in NEEDS.items() if setting == "objective" and values[setting] != value]
    return {name: NEUTRAL[name] for name in others if name not in asked.given}


def learned(values: Values, asked: Asked) -> Values:
    """What the loss has and can be learned, and no bias without its scale."""
    for name, scalar in (("learn_tau", "tau"), ("learn_bias", "bias")):
        if values[name] and scalar not in asked.loss.learnable:
            raise ValueError(f"{name}: {type(asked.loss).__name__} has no {scalar} that can be learned")
    if values["learn_bias"] and not values["learn_tau"]:
        raise ValueError("learn_bias= goes with learn_tau=True: a bias is learned in units of the learned scale")
    return {}


@dataclass(frozen=True)
class Optim:
    """How long, how fast, and by which rule."""

    updates: int | None = whole(None, 1, "number of updates")
    epochs: int | None = whole(None, 1, "or epochs of the sampler instead of updates")
    optimiser: str = one_of("adam", OPTIMISERS, "the rule of an update")
    lr: float = number(2e-4, "learning rate")
    weight_decay: float = number(0.0, "weight decay", zero=True)
    schedule: str = one_of("step", SCHEDULES, "how the rate falls: by steps, or along a cosine, each update or epoch")
    lr_update: int | None = whole(
        None, 1, "every so many epochs the rate falls to a tenth; None: once, halfway", schedule="step"
    )
    lr_warmup: int = whole(0, 0, "first updates in which the rate rises from 0 in a straight line")
    grad_clip: float = number(2.0, "the gradient's norm is cut to this; 0: never", zero=True)
    batch_norm: str | None = one_of(
        None, ("train", "eval"), "of the network, on pictures: batch statistics, as released (train), or stored ones"
    )
    finetune_after: int | None = whole(None, 0, "updates after which the network inside the model learns, too")
    finetune_epochs: int | None = whole(None, 0, "or epochs of the sampler instead of finetune_after")
    finetune_lr: float | None = number(None, "its learning rate; None: a tenth of lr")
    restart_lr: float | None = number(None, "with finetune_after: from there on everybody's rate, the schedule anew")


def length(values: Values, asked: Asked) -> Values:
    """Updates of the whole run, however they were said; and how often it is evaluated."""
    if {"updates", "epochs"} <= set(asked.given):
        raise ValueError("give updates= or epochs=, not both")
    budget, by_image = _budget(values, asked)
    if (updates := budget.get("updates")) is not None:
        every = max(1, updates // 12)
    else:
        updates, every = budget.get("epochs", 30) * by_image * values["per_epoch"], values["per_epoch"]
    return {"updates": updates, "evaluate_every": values["evaluate_every"] or every}


def drops(values: Values, asked: Asked) -> Values:
    """``drops``: updates at which a schedule of steps divides the rate by ten. They belong to the budget that they
    were made for: of a default's budget its own, of a given one halfway unless something else is given, too."""
    if values["schedule"] != "step":
        return {"drops": []}
    budget, by_image = _budget(values, asked)
    if "lr_update" in asked.given:
        step = asked.given["lr_update"] * values["per_epoch"]
    elif budget is not asked.given and budget.get("lr_update") is not None:
        step = budget["lr_update"] * by_image * values["per_epoch"]
    else:
        return {"drops": [values["updates"] // 2]}
    return {"drops": list(range(step, values["updates"], step))}


def _budget(values: Values, asked: Asked) -> tuple[Values, int]:
    """The first level that says how long a run is, and how many epochs over images it counts as one of captions.

    Equal updates: an epoch over images is shorter than one over their captions by captions per image. What a person
    gives is taken as it is.
    """
    levels = (asked.given, asked.dictated, asked.published)
    budget = next((level for level in levels if {"updates", "epochs"} & set(level)), {})
    if values["batches"] != "images" or budget is asked.given:
        return budget, 1
    train = asked.data.train
    return budget, round(len(train.captions) / len(train))


def smoke(values: Values, asked: Asked) -> Values:
    """A run to try things out: a few updates, its rate falls and it is evaluated halfway."""
    if not asked.smoke:
        return {}
    half = SMOKE_UPDATES // 2
    return {"updates": min(values["updates"], SMOKE_UPDATES), "drops": [half], "evaluate_every": half}


def finetuning(values: Values, asked: Asked) -> Values:
    """Epochs after which a network inside of the model learns, as updates."""
    if values["finetune_epochs"] is None:
        return {}
    if "finetune_after" in asked.given:
        raise ValueError("give finetune_after= in updates or finetune_epochs= in epochs, not both")
    return {"finetune_after": values["finetune_epochs"] * values["per_epoch"]}


def network(values: Values, asked: Asked) -> Values:
    """What is about a network inside the model: only where there is one."""
    pictures = on_pictures(asked.data)
    tunable = pictures or hasattr(asked.kind, "finetune")
    left_out = (() if pictures else ("batch_norm", "erase")) + (
        () if tunable else ("finetune_after", "finetune_lr", "restart_lr")
    )
    for name in left_out:
        if name in asked.given and values[name] != SETTINGS[name].default:
            raise ValueError(
                f"{name}= is about a network inside the model, but this data are finished features; "
                "load_dataset(…, root=PHOTOS, images='published') trains on pictures"
            )
    return _unused(*left_out)


def rates(values: Values, asked: Asked) -> Values:
    """The network's own rate and its batch normalisation, where it has any."""
    found = {}
    for name in ("finetune_lr", "restart_lr"):
        if values[name] is not None and values["finetune_after"] is None:
            raise ValueError(f"{name}= needs finetune_after=, the updates after which the network learns; 0: at once")
    if values["finetune_after"] is not None and values["finetune_lr"] is None:
        found["finetune_lr"] = values["lr"] / 10
    if on_pictures(asked.data) and values["batch_norm"] is None:
        found["batch_norm"] = "train"
    return found


def on_pictures(data: Dataset) -> bool:
    """Whether the data holds pictures, so that a network in the model makes the features."""
    return not isinstance(data.train.features, (torch.Tensor, Regions))


@dataclass(frozen=True)
class Averaging:
    """Whether weights are averaged."""

    average: str = one_of("none", AVERAGES, "swa: each epoch ends with the mean of snapshots from its last part")
    average_from: float = number(
        0.9, "share of an epoch after which snapshots are taken, with average swa", most=0.99, average="swa"
    )
    average_times: int = whole(5, 1, "snapshots an epoch, with average swa", average="swa")


def averaging(values: Values, asked: Asked) -> Values:
    """With averaged weights a run has whole epochs, and evaluations at their ends: between them nothing is averaged."""
    if values["average"] == "none":
        return {}
    if asked.smoke and "average" not in asked.given:  # what a method was published with
        return {"average": "none"}
    if asked.smoke:
        raise ValueError("a smoke run is shorter than an epoch, so average='swa' would average nothing; leave it out")
    each = values["per_epoch"]
    for name in ("updates", "evaluate_every"):
        if name in asked.given and values[name] % each:
            raise ValueError(
                f"average='swa' averages at ends of epochs: {name} must be a multiple of {each} "
                f"updates, an epoch; got {values[name]}"
            )
    snapshots(each, values["average_from"], values["average_times"])  # raises where they would lie too close
    every = values["evaluate_every"] if "evaluate_every" in asked.given else each
    return {"updates": max(each, values["updates"] - values["updates"] % each), "evaluate_every": every}


@dataclass(frozen=True)
class Selection:
    """What is looked at, to choose the weights."""

    relevance: str = one_of("own", RELEVANCE, "what counts as right in evaluations: own pairs; text: equal texts, too")
    evaluate_every: int | None = whole(None, 1, "updates between evaluations; None: an epoch, or a twelfth of updates=")
    rerank: int | None = whole(
        None, 1, "candidates of each query that the model's matching head puts in order, once, after the choice"
    )


def selection(values: Values, asked: Asked) -> Values:
    """Equal texts as right answers leave every query something to tell them from; and who can rerank."""
    if values["rerank"] is not None:
        whose = asked.kind.label or asked.kind.__name__
        if asked.kind.match is None:
            raise ValueError(f"rerank= asks a matching head, and {whose} has none (no match)")
        if values["objective"] == "con":
            raise ValueError(
                "rerank= asks the matching head, which objective='con' leaves untrained; take auxiliary='matching'"
            )
    if values["relevance"] == "text":
        for split in (asked.data.val, asked.data.test):
            split.check_texts("relevance")
    return {}


@dataclass(frozen=True)
class Machine:
    """Where it runs; of these only the precision is part of what a run is."""

    device: str = text("auto", "auto, cpu, cuda or cuda:1")
    threads: int = whole(1, 1, "CPU threads; with one, results are exactly repeatable")
    precision: str = one_of(
        "float32", devices.PRECISIONS, "of the encoders; scores and losses stay in single precision"
    )


def machine(values: Values, asked: Asked) -> Values:
    """The device that there is, which must have the precision."""
    device = devices.device(values["device"])
    devices.precision(values["precision"], device)
    return {"device": device}


GROUPS = (Batches, Augment, Objective, Optim, Averaging, Selection, Machine)
SETTINGS: dict[str, Field] = {f.name: f for group in GROUPS for f in fields(group)}
NEEDS = {name: pair for name, f in SETTINGS.items() for pair in f.metadata.get("needs", {}).items()}


def effects(values: Values, asked: Asked) -> Values:
    """``ValueError`` for a given value that differs from the neutral one and would change nothing."""
    for name, (other, wanted) in NEEDS.items():
        if name in asked.given and asked.given[name] != NEUTRAL.get(name) and values[other] != wanted:
            raise ValueError(f"{name}= has no effect with {other}={values[other]!r}; it belongs to {other}={wanted!r}")
    return {}


def _unused(*names: str) -> Values:
    """The settings as if nobody had named them."""
    return {name: SETTINGS[name].default for name in names}


def checked(name: str, value: Any) -> Any:
    """``value`` if the setting allows it; ``ValueError`` says what was got and what is allowed. None is the default."""
    return check(name, SETTINGS[name], value)

"""The settings of a run: each describes itself, so that training, command line and records need no second list.

A setting is a field of one of the groups below: its default, what is allowed, and one line of help. Names are flat,
each belongs to one group. What they mean together is in :mod:`icrlib.training.rules`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import Field, dataclass, field, fields
from typing import Any

from icrlib import devices
from icrlib.auxiliary.weighing import RULES as MULTIPLIERS
from icrlib.errors import at_least, choose, true_or_false
from icrlib.sampling import BATCHES, POSITIVES

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
    "start_from": None,
    "average": "none",
    "average_from": 0.9,
    "average_times": 5,
    "precision": "float32",
    "smoke": False,
    "behaviour": {},  # of records that have it
}


def one_of(default: str | None, allowed: Iterable[str], help: str, **more: str) -> Any:
    """A word out of a list. ``more``: what another setting must be for this one to have an effect."""
    return field(default=default, metadata={"help": help, "allowed": tuple(allowed), "kind": str, "needs": more})


def integer(default: int | None, least: int, help: str, **more: str) -> Any:
    """A whole number, at least ``least``; ``more`` as for :func:`one_of`."""
    return field(default=default, metadata={"help": help, "least": least, "kind": int, "needs": more})


def number(default: float | None, help: str, *, zero: bool = False, most: float = math.inf, **more: str) -> Any:
    """A finite number above 0 (``zero``: 0 too), at most ``most``; ``more`` as for :func:`one_of`."""
    return field(default=default, metadata={"help": help, "zero": zero, "most": most, "kind": float, "needs": more})


def text(default: str | None, help: str) -> Any:
    """A name that is looked up elsewhere."""
    return field(default=default, metadata={"help": help, "kind": str})


def switch(help: str) -> Any:
    """Off unless asked for."""
    return field(default=False, metadata={"help": help, "kind": bool})


@dataclass(frozen=True)
class Batches:
    """Which rows make a batch."""

    batch_size: int = integer(128, 2, "pairs in a batch, or images")
    batches: str | None = one_of(None, BATCHES, "what a batch is made of; None: as the loss was published")
    positives: str = one_of(
        "diagonal",
        POSITIVES,
        "of pairs: own pair only, as published, or every caption of the image; text: equal captions of others, too",
    )
    negatives: str = one_of(
        "batch", ("batch", "foils"), "captions of the batch; or also a false one of the same words for each (foils)"
    )
    accumulate: int = integer(1, 1, "batches per update, each with its own score matrix, their gradients averaged")


@dataclass(frozen=True)
class Augment:
    """What training changes about its inputs, each time anew."""

    drop_words: float = number(0.0, "share of the words of a caption that become <unk>", zero=True, most=1.0)
    delete_words: float = number(0.0, "share of a caption's words left out, rounded down", zero=True, most=0.9)
    erase: float = number(0.0, "share of the pictures that lose a rectangle; on pictures only", zero=True, most=1.0)


@dataclass(frozen=True)
class Objective:
    """What is minimised beside the loss itself."""

    warmup: int = integer(0, 0, "first updates with all negatives (Triplet), against a collapse")
    learn_tau: bool = switch("learn the temperature, from the loss's own on")
    learn_bias: bool = switch("learn the bias of a loss that has one, with its temperature")
    auxiliary: str | None = text(None, "a second objective by name; None: the method's own, if it has one")
    objective: str | None = one_of(
        None,
        ("con", "dual", "lagrange"),
        "the loss alone (con), plus beta times the auxiliary (dual), or held below eta (lagrange)",
    )
    beta: float = number(1.0, "weight of the auxiliary, with objective dual", objective="dual")
    eta: float | None = number(None, "bound of the auxiliary, with objective lagrange", objective="lagrange")
    multiplier: str = one_of(
        "published", MULTIPLIERS, "how it stays in its bounds, with objective lagrange", objective="lagrange"
    )


@dataclass(frozen=True)
class Optim:
    """How long, how fast, and by which rule."""

    updates: int | None = integer(None, 1, "number of updates")
    epochs: int | None = integer(None, 1, "or epochs of the sampler instead of updates")
    optimiser: str = one_of("adam", ("adam", "adamw", "adamp"), "the rule of an update")
    lr: float = number(2e-4, "learning rate")
    weight_decay: float = number(0.0, "weight decay", zero=True)
    schedule: str = one_of(
        "step",
        ("step", "cosine", "cosine_epoch"),
        "how the rate falls: by steps, or along a cosine, each update or epoch",
    )
    lr_update: int | None = integer(
        None, 1, "every so many epochs the rate falls to a tenth; None: once, halfway", schedule="step"
    )
    lr_warmup: int = integer(0, 0, "first updates in which the rate rises from 0 in a straight line")
    grad_clip: float = number(2.0, "the gradient's norm is cut to this; 0: never", zero=True)
    batch_norm: str | None = one_of(
        None, ("train", "eval"), "of the network, on pictures: batch statistics, as released (train), or stored ones"
    )
    finetune_after: int | None = integer(None, 0, "updates after which the network inside the model learns, too")
    finetune_epochs: int | None = integer(None, 0, "or epochs of the sampler instead of finetune_after")
    finetune_lr: float | None = number(None, "its learning rate; None: a tenth of lr")
    restart_lr: float | None = number(None, "with finetune_after: from there on everybody's rate, the schedule anew")
    start_from: str | None = text(
        None,
        "folder of a first stage's run: all parameters go on from its best weights, by default at a tenth of its lr",
    )


@dataclass(frozen=True)
class Averaging:
    """Whether weights are averaged."""

    average: str = one_of("none", ("none", "swa"), "swa: each epoch ends with the mean of snapshots from its last part")
    average_from: float = number(
        0.9, "share of an epoch after which snapshots are taken, with average swa", most=0.99, average="swa"
    )
    average_times: int = integer(5, 1, "snapshots an epoch, with average swa", average="swa")


@dataclass(frozen=True)
class Selection:
    """What is looked at, to choose the weights."""

    relevance: str = one_of(
        "own", ("own", "text"), "what counts as right in evaluations: own pairs; text: equal texts, too"
    )
    evaluate_every: int | None = integer(None, 1, "updates between evaluations; None: an epoch, or updates= // 12")
    rerank: int | None = integer(
        None, 1, "candidates of each query that the model's matching head puts in order, once, after the choice"
    )


@dataclass(frozen=True)
class Machine:
    """Where it runs; of these only the precision is part of what a run is."""

    device: str = text("auto", "auto, cpu, cuda or cuda:1")
    threads: int = integer(1, 1, "CPU threads; with one, results are exactly repeatable")
    precision: str = one_of("float32", devices.PRECISIONS, "of encoders and scores; losses stay in single precision")


GROUPS = (Batches, Augment, Objective, Optim, Averaging, Selection, Machine)
SETTINGS: dict[str, Field] = {f.name: f for group in GROUPS for f in fields(group)}
NEEDS = {name: pair for name, f in SETTINGS.items() for pair in f.metadata.get("needs", {}).items()}


def checked(name: str, value: Any) -> Any:
    """``value`` if the setting allows it; ``ValueError`` says what was got and what is allowed. None is the default."""
    setting = SETTINGS[name]
    about = setting.metadata
    if value is None and setting.default is None:
        return None
    if "allowed" in about:
        return choose(value, about["allowed"], name)
    if about["kind"] is bool:
        return true_or_false(name, value)
    if about["kind"] is int:
        return at_least(name, value, about["least"])
    if about["kind"] is float:
        return _number(name, value, about)
    if not isinstance(value, str):
        raise ValueError(f"{name} must be a name; got {value!r}")
    return value


def _number(name: str, value: Any, about: Any) -> float:
    fits = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    if not fits or value < 0 or (value == 0 and not about["zero"]) or value > about["most"]:
        kind = "a number, 0 or more" if about["zero"] else "a positive number"
        most = "" if about["most"] == math.inf else f", at most {about['most']:g}"
        raise ValueError(f"{name} must be {kind}{most}; got {value!r}")
    return float(value)

"""The settings of a run: each describes itself, so that training, command line and records need no second list.

A setting is a field of one of the groups below: its default, what is allowed, and one line of help. Names are flat,
each belongs to one group. What the groups hold is what was asked for; :mod:`icrlib.training.config` fills in the rest.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable
from dataclasses import Field, dataclass, field, fields
from typing import Any, ClassVar

from icrlib.devices import PRECISIONS
from icrlib.errors import choose

OPTIMISERS = ("adam", "adamw", "adamp")
SCHEDULES = ("step", "cosine", "cosine_epoch")
AVERAGES = ("none", "swa")
OBJECTIVES = ("con", "dual", "lagrange")
MULTIPLIERS = ("published", "projected")


def one_of(default: str | None, allowed: Iterable[str], help: str) -> Any:
    """A word out of a list."""
    return field(default=default, metadata={"help": help, "allowed": tuple(allowed), "kind": str})


def whole(default: int | None, least: int, help: str) -> Any:
    """A whole number, at least ``least``."""
    return field(default=default, metadata={"help": help, "least": least, "kind": int})


def number(default: float | None, help: str, *, zero: bool = False, most: float = math.inf) -> Any:
    """A finite number above 0 (``zero``: 0 too), at most ``most``."""
    return field(default=default, metadata={"help": help, "zero": zero, "most": most, "kind": float})


def text(default: str | None, help: str) -> Any:
    """A name that is looked up elsewhere."""
    return field(default=default, metadata={"help": help, "kind": str})


def switch(help: str) -> Any:
    """Off unless asked for."""
    return field(default=False, metadata={"help": help, "kind": bool})


@dataclass(frozen=True)
class Batches:
    """Which rows make a batch."""

    batch_size: int = whole(128, 2, "pairs in a batch, or images")
    batches: str | None = one_of(None, ("pairs", "images"), "what a batch is made of; None: as the loss was published")
    positives: str = one_of(
        "diagonal", ("diagonal", "image"), "of pairs: own pair only, as published, or every caption of the image"
    )
    accumulate: int = whole(1, 1, "batches per update, each with its own score matrix, their gradients averaged")


@dataclass(frozen=True)
class Augment:
    """What training changes about its inputs, each time anew."""

    behaviour: ClassVar[int] = 1  # of the part, icrlib.training.behaviour

    drop_words: float = number(0.0, "share of the words of a caption that become <unk>", zero=True, most=1.0)
    delete_words: float = number(0.0, "share of the words of a caption that are left out", zero=True, most=0.9)
    erase: float = number(0.0, "share of the pictures that lose a rectangle; on pictures only", zero=True, most=1.0)


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
    beta: float = number(1.0, "weight of the auxiliary, with objective dual")
    eta: float | None = number(None, "bound of the auxiliary, with objective lagrange")
    multiplier: str = one_of("published", MULTIPLIERS, "how it stays in its bounds, with objective lagrange")


@dataclass(frozen=True)
class Optim:
    """How long, how fast, and by which rule."""

    behaviour: ClassVar[int] = 1  # of the part, icrlib.training.behaviour

    updates: int | None = whole(None, 1, "number of updates")
    epochs: int | None = whole(None, 1, "or epochs of the sampler instead of updates")
    optimiser: str = one_of("adam", OPTIMISERS, "the rule of an update")
    lr: float = number(2e-4, "learning rate")
    weight_decay: float = number(0.0, "weight decay", zero=True)
    schedule: str = one_of("step", SCHEDULES, "how the rate falls: by steps, or along a cosine, each update or epoch")
    lr_update: int | None = whole(None, 1, "every so many epochs the rate falls to a tenth; None: once, halfway")
    lr_warmup: int = whole(0, 0, "first updates in which the rate rises from 0 in a straight line")
    grad_clip: float = number(2.0, "the gradient's norm is cut to this; 0: never", zero=True)
    batch_norm: str | None = one_of(
        None, ("train", "eval"), "of the network, on pictures: batch statistics, as released (train), or stored ones"
    )
    finetune_after: int | None = whole(None, 0, "updates after which the network inside the model learns, too")
    finetune_epochs: int | None = whole(None, 0, "or epochs of the sampler instead of finetune_after")
    finetune_lr: float | None = number(None, "its learning rate; None: a tenth of lr")
    restart_lr: float | None = number(None, "with finetune_after: from there on everybody's rate, the schedule anew")


@dataclass(frozen=True)
class Averaging:
    """Whether weights are averaged."""

    average: str = one_of("none", AVERAGES, "swa: each epoch ends with the mean of snapshots from its last part")
    average_from: float = number(0.9, "share of an epoch after which snapshots are taken, with average swa", most=0.99)
    average_times: int = whole(5, 1, "snapshots an epoch, with average swa")


@dataclass(frozen=True)
class Selection:
    """What is looked at, to choose the weights."""

    behaviour: ClassVar[int] = 1  # of the part, icrlib.training.behaviour

    evaluate_every: int | None = whole(None, 1, "updates between evaluations; None: an epoch, or a twelfth of updates=")


@dataclass(frozen=True)
class Machine:
    """Where it runs; of these only the precision is part of what a run is."""

    device: str = text("auto", "auto, cpu, cuda or cuda:1")
    threads: int = whole(1, 1, "CPU threads; with one, results are exactly repeatable")
    precision: str = one_of("float32", PRECISIONS, "of the encoders; scores and losses stay in single precision")


GROUPS = (Batches, Augment, Objective, Optim, Averaging, Selection, Machine)
SETTINGS: dict[str, Field] = {f.name: f for group in GROUPS for f in fields(group)}
OWNER: dict[str, type] = {f.name: group for group in GROUPS for f in fields(group)}


def checked(name: str, value: Any) -> Any:
    """``value`` if the setting allows it; ``ValueError`` says what was got and what is allowed. None is the default."""
    about = SETTINGS[name].metadata
    if value is None and SETTINGS[name].default is None:
        return None
    if "allowed" in about:
        return choose(value, about["allowed"], name)
    if about["kind"] is bool and not isinstance(value, bool):
        raise ValueError(f"{name} must be True or False; got {value!r}")
    if about["kind"] is int:
        return at_least(name, value, about["least"])
    if about["kind"] is float:
        return _number(name, value, about)
    if about["kind"] is str and not isinstance(value, str):
        raise ValueError(f"{name} must be a name; got {value!r}")
    return value


def at_least(name: str, value: Any, least: int) -> int:
    """A whole number of at least ``least``, else ``ValueError``."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}; got {value!r}")
    return value


def _number(name: str, value: Any, about: Any) -> float:
    fits = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    if not fits or value < 0 or (value == 0 and not about["zero"]) or value > about["most"]:
        kind = "a number, 0 or more" if about["zero"] else "a positive number"
        most = "" if about["most"] == math.inf else f", at most {about['most']:g}"
        raise ValueError(f"{name} must be {kind}{most}; got {value!r}")
    return float(value)


# What the parameters cell of book/reproduce/run names; papermill takes any other setting by its name all the same.
COMMON = ("updates", "epochs", "lr", "lr_update", "warmup", "batch_size", "finetune_after", "precision", "device")


def parameter_line(name: str) -> str:
    """The line of a parameters cell for a setting: None, for what data, method or the default say, and its help."""
    about = SETTINGS[name].metadata
    return f"{name}: {about['kind'].__name__} = None  # {about['help']}"


class Options:
    """Whose option is it? Settings, and the options of the chosen model, loss and auxiliary, under flat names.

    A name that two of them have must be spelled out, such as ``loss_margin`` or ``model_margin``.
    """

    def __init__(self, **owners: Iterable[str]) -> None:
        self.owners = {"setting": list(SETTINGS), **{owner: list(names) for owner, names in owners.items()}}

    def place(self, name: str) -> tuple[str, str]:
        """(owner, name) of a flat or spelled-out name; ``ValueError`` for unknown and ambiguous ones."""
        having = [owner for owner, names in self.owners.items() if name in names]
        if len(having) == 1:
            return having[0], name
        if having:
            forms = " or ".join(f"{owner}_{name}=" for owner in having)
            raise ValueError(f"{name}= is an option of the {' and of the '.join(having)}; write {forms}")
        owner, _, rest = name.partition("_")
        if rest in self.owners.get(owner, ()):
            return owner, rest
        raise ValueError(self._unknown(name))

    def _unknown(self, name: str) -> str:
        known = [option for names in self.owners.values() for option in names]
        near = difflib.get_close_matches(name.lower(), known, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        own = "; ".join(
            f"of the {owner}: {', '.join(names) or 'none'}"
            for owner, names in self.owners.items()
            if owner != "setting"
        )
        return f"unknown option {name!r}.{hint} Options {own}. Settings: {', '.join(self.owners['setting'])}."

"""What a run is: every choice that can change its outcome, resolved and checked before anything starts."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from icrlib.data import targets
from icrlib.data.load import DRAWN
from icrlib.data.splits import Dataset
from icrlib.errors import at_least, true_or_false
from icrlib.losses.build import by_name, canonical
from icrlib.names import AUXILIARIES, METHODS
from icrlib.records.files import load, rounded
from icrlib.training import options
from icrlib.training.rules import RULES, Context
from icrlib.training.settings import NEUTRAL, SETTINGS, checked

_NEVER = object()
REPEATS = ("blocks",)  # of a model's numbers the one that counts layers, of which there may be none

# Where it ran, and how it was asked for: neither is part of what it is. Epochs are in updates and drops.
NOT_KEPT = ("auxiliary", "epochs", "lr_update", "finetune_epochs", "start_from", "drops", "per_epoch")
NO_PART = ("device", "threads", "asked", "changed", "epochs", "lr_update", "finetune_epochs", "per_epoch", "data_seed")
PICTURES_OF = {"rendered": "scenes"}  # data that are the pictures behind the features of others
OF_PICTURES = ("backbone", "images")  # options of data that say how features come from their pictures


@dataclass(frozen=True)
class Config:
    """All choices of a run. ``settings``: flat, resolved; ``drops``: updates at which the rate falls to a tenth.

    ``per_epoch``: updates in an epoch of the sampler. ``data_options``: what the data set was asked for, with its seed.
    ``asked``: what the caller gave, as it was given, but for ``start_from``: what the first stage was (:func:`kept`).
    """

    dataset: str
    data_options: dict
    data_hash: str
    data_seed: int | None
    method: str
    model_options: dict
    loss: str
    loss_options: dict
    auxiliary: str | None
    auxiliary_options: dict
    seed: int
    settings: dict
    drops: list[int]
    per_epoch: int
    backbone: str | None = None
    smoke: bool = False
    start_from: dict | None = None
    asked: dict = field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["settings"][name]
        except KeyError:
            raise AttributeError(name) from None

    def flat(self) -> dict:
        """All of it as one level of names and plain JSON values: what a record holds."""
        values = asdict(self)
        settings, asked = values.pop("settings"), values.pop("asked")
        return values | settings | {"asked": asked}

    def identity(self) -> str:
        """Ten hex digits that name this run."""
        return identity(self.flat())


def identity(flat: dict) -> str:
    """The identity of a configuration as a record holds it: what differs from the neutral values, hashed."""
    part = {name: value for name, value in flat.items() if name not in NO_PART and NEUTRAL.get(name, _NEVER) != value}
    return hashlib.sha256(json.dumps(part, sort_keys=True).encode()).hexdigest()[:10]


def kept(flat: Mapping) -> dict:
    """The part of a configuration that names its run wherever it is trained, with numbers as a record holds them.

    Of drawn data the fingerprint is left out, since it follows from the options and the seed; of photos it counts.
    """
    part = rounded({name: value for name, value in flat.items() if name not in (*NO_PART, "data_hash")})
    part = {name: value for name, value in part.items() if NEUTRAL.get(name, _NEVER) != value}
    return part if flat["dataset"] in DRAWN else part | {"data_hash": flat["data_hash"][:8]}


def resolve(data: Dataset, method: str, loss: str, *, seed: int = 0, smoke: bool = False, given: dict) -> Config:
    """Fill in what ``given`` (flat names and values) leaves open, by :mod:`icrlib.training.rules`, and check all of it.

    Given comes before what the data set dictates (``data.defaults_for``), that before what the method was published
    with, that before a setting's own default. None stands for a setting that was left alone. ``start_from``: the folder
    of a first stage or its configuration. ``ValueError`` for a name or value that is not allowed, for a setting that
    the chosen parts would ignore, and for a first stage of another model or of other data.
    """
    method, loss = METHODS.canonical(method), canonical(loss)
    kind = METHODS.find(method)
    for name, value in (("seed", seed), ("data_seed", data.options.get("seed") or 0)):
        if at_least(name, value, 0) >= 1 << 64:
            raise ValueError(f"{name} must be below 2**64; got {value}")
    given = _target({name: value for name, value in given.items() if value is not None})
    first = _first_stage(given.pop("start_from", None))
    levels = (given, data.defaults_for(method, loss), published_for(kind, loss, data.name))
    auxiliary, objective = _objective(levels)
    names = options.options_for(method, loss, auxiliary)
    levels = [options.given(names, levels[0]), *(options.usual(names, level) for level in levels[1:])]
    chosen = {owner: {**levels[2][owner], **levels[1][owner], **levels[0][owner]} for owner in names.owners}
    _check_sizes(kind, chosen["model"])
    made = by_name(loss, **chosen["loss"])
    run = Context(data, kind, made, seed, smoke, *(level["setting"] for level in levels), first)
    values = {name: field.default for name, field in SETTINGS.items()} | chosen["setting"]
    values |= {"auxiliary": auxiliary, "objective": objective}
    for rule in RULES:
        rule(values, run)
    config = Config(
        dataset=data.name,
        data_options=data.options,
        data_hash=data.fingerprint,
        data_seed=data.options.get("seed"),
        method=method,
        model_options={name: v for name, v in chosen["model"].items() if kind.neutral.get(name, _NEVER) != v},
        loss=loss,
        loss_options={name: v for name, v in asdict(made).items() if name not in options.NOT_OPTIONS},
        auxiliary=auxiliary,
        auxiliary_options=chosen["auxiliary"],
        seed=seed,
        settings={name: value for name, value in values.items() if name not in NOT_KEPT},
        drops=values["drops"],
        per_epoch=values["per_epoch"],
        backbone=data.options.get("backbone") if run.on_pictures else None,
        smoke=smoke,
        start_from=first,
        asked=given,
    )
    if first is not None:
        _check_first_stage(first, kept(config.flat()))
    return config


def published_for(kind: type, loss: str, dataset: str) -> dict:
    """What a method was published with, for this loss and data: the more special word counts."""
    keys = ("*", loss, dataset, f"{dataset} {loss}")
    return {name: value for key in keys for name, value in kind.published.get(key, {}).items()}


def _first_stage(start: str | Path | Mapping | None) -> dict | None:
    """What the first stage was, by the folder of its finished run or by its configuration."""
    if start is None or isinstance(start, Mapping):
        return start and kept(start)
    record = Path(start) / "record.json"
    if not record.is_file():
        raise FileNotFoundError(f"start_from={start}: no finished run here; give the out= of the first stage")
    return kept(load(record)["config"])


def _check_first_stage(first: Mapping, second: dict) -> None:
    """Both of one model and one data; the second may be trained on the pictures behind the features of the first."""
    if "backbone" in second and "backbone" not in first:
        options = {name: value for name, value in second["data_options"].items() if name not in OF_PICTURES}
        same = {"backbone": None, "data_hash": first.get("data_hash"), "data_options": options}
        second = second | same | {"dataset": PICTURES_OF.get(second["dataset"], second["dataset"])}
    for name in ("method", "model_options", "dataset", "data_options", "backbone", "data_hash"):
        theirs, ours = first.get(name), second.get(name)
        if theirs != ours and ours != "":  # the hash of data that nobody has read
            raise ValueError(f"start_from= was another run than can go on here: {name} {theirs!r} there, {ours!r} here")


def _check_sizes(kind: type, chosen: dict) -> None:
    """Sizes of a model are whole numbers, switches True or False; ``ValueError`` names the one that is not."""
    parameters = inspect.signature(kind).parameters
    for name, value in chosen.items():
        usual = parameters[name].default if name in parameters else None
        if isinstance(usual, bool):
            true_or_false(name, value)
        elif type(usual) is int or (type(value) is int and not isinstance(usual, float)):
            at_least(name, value, 0 if name in REPEATS else 1)


def _target(given: dict) -> dict:
    """``target=`` by name: the words themselves are a decoder of their own, an object with ``encode`` gets a name."""
    target = given.get("target")
    if target is None or (isinstance(target, str) and target != "tokens"):
        return given
    if target != "tokens":
        return given | {"target": targets.hold(target)}
    if given.get("auxiliary", "tokens") != "tokens":
        raise ValueError(f"target='tokens' is what auxiliary='tokens' decodes; got auxiliary={given['auxiliary']!r}")
    return {name: value for name, value in given.items() if name != "target"} | {"auxiliary": "tokens"}


def _objective(levels: tuple[dict, ...]) -> tuple[str | None, str]:
    """The auxiliary's name and the objective: with an auxiliary "dual" unless something else is said."""
    auxiliary, objective = (
        next((checked(name, level[name]) for level in levels if level.get(name) is not None), None)
        for name in ("auxiliary", "objective")
    )
    if auxiliary is not None:
        auxiliary = AUXILIARIES.canonical(auxiliary)
    objective = objective or ("con" if auxiliary is None else "dual")
    if objective != "con" and auxiliary is None:
        raise ValueError(
            f"objective={objective!r} needs an auxiliary to weigh; name it with auxiliary=, or take a "
            "method that brings one"
        )
    return (None if objective == "con" else auxiliary), objective

"""What a run is: every choice that can change its outcome, resolved and checked before anything starts."""

from __future__ import annotations

import hashlib
import inspect
import json
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Any

from icrlib.data import targets
from icrlib.data.splits import Dataset
from icrlib.errors import at_least, true_or_false
from icrlib.losses.build import by_name, canonical
from icrlib.names import AUXILIARIES, METHODS
from icrlib.training import options, settings
from icrlib.training.fields import Asked
from icrlib.training.settings import NEUTRAL

_NEVER = object()
REPEATS = ("blocks",)  # of a model's numbers the one that counts layers, of which there may be none

# Where it ran, and how it was asked for: neither is part of what it is. Epochs are in updates and drops.
NOT_KEPT = ("auxiliary", "epochs", "lr_update", "finetune_epochs", "drops", "per_epoch")
NO_PART = ("device", "threads", "asked", "changed", "epochs", "lr_update", "finetune_epochs", "per_epoch", "data_seed")

# What fills in and checks the settings: each rule upon what those before it have decided. An epoch is known before
# lengths are counted in it, and a length before its drops and its start; a smoke run cuts the length first, and shows a
# start all the same. What is not there (a network, words) is forgotten before anybody asks what follows from it. What
# was given and does nothing is refused before the weighing forgets what was not given. Averaging rounds the length.
RULES = (
    settings.batches,
    settings.machine,
    settings.epoch,
    settings.length,
    settings.drops,
    settings.smoke,
    settings.start,
    settings.finetuning,
    settings.network,
    settings.rates,
    settings.words,
    settings.effects,
    settings.weighing,
    settings.learned,
    settings.averaging,
    settings.selection,
)


@dataclass(frozen=True)
class Config:
    """All choices of a run. ``settings``: flat, resolved; ``drops``: updates at which the rate falls to a tenth.

    ``per_epoch``: updates in an epoch of the sampler. ``data_options``: what the data set was asked for, with its seed.
    ``asked``: what the caller gave, as it was given.
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
    asked: dict = field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["settings"][name]
        except KeyError:
            raise AttributeError(name) from None

    def flat(self) -> dict:
        """All of it as one level of names and plain JSON values: what a record holds."""
        whole = asdict(self)
        return {
            **{k: v for k, v in whole.items() if k not in ("settings", "asked")},
            **whole["settings"],
            "asked": whole["asked"],
        }

    def identity(self) -> str:
        """Ten hex digits that name this run."""
        return identity(self.flat())


def identity(flat: dict) -> str:
    """The identity of a configuration as a record holds it: what differs from the neutral values, hashed."""
    part = {
        name: value
        for name, value in flat.items()
        if name not in NO_PART and (name not in NEUTRAL or NEUTRAL[name] != value)
    }
    return hashlib.sha256(json.dumps(part, sort_keys=True).encode()).hexdigest()[:10]


def resolve(data: Dataset, method: str, loss: str, *, seed: int = 0, smoke: bool = False, given: dict) -> Config:
    """Fill in what ``given`` (flat names and values) leaves open, by ``RULES``, and check all of it.

    Given comes before what the data set dictates (``data.defaults_for``), that before what the method was published
    with, that before a setting's own default. None stands for a setting that was left alone. ``ValueError`` for a name
    or value that is not allowed, and for a setting that the chosen parts would ignore.
    """
    method = METHODS.canonical(method)
    loss = canonical(loss)
    kind = METHODS.find(method)
    given = _target({name: value for name, value in given.items() if value is not None})
    defaults = data.defaults_for(method, loss)
    published = published_for(kind, loss, data.name)
    levels = (given, defaults, published)
    if data.word_vectors is not None and not kind.takes_word_vectors:
        raise ValueError(
            f"{kind.label or method} starts its words from nothing and takes no word vectors; load the "
            "data without word_vectors=, or take method='ltd'"
        )
    auxiliary, objective = _objective(levels)
    owners = options.options_for(method, loss, auxiliary)
    asked, *others = (options.given(owners, given), *(options.usual(owners, level) for level in (defaults, published)))
    chosen = {owner: {**others[1][owner], **others[0][owner], **asked[owner]} for owner in owners.owners}
    _check_sizes(kind, chosen["model"])
    chosen["model"] = {name: v for name, v in chosen["model"].items() if kind.neutral.get(name, _NEVER) != v}
    _check_seeds(seed, data)
    made = by_name(loss, **chosen["loss"])
    wanted = Asked(data, kind, made, seed, smoke, *(level["setting"] for level in (asked, *others)))
    values = {name: f.default for name, f in settings.SETTINGS.items()} | chosen["setting"]
    values |= {"auxiliary": auxiliary, "objective": objective}
    for rule in RULES:
        values = values | rule(MappingProxyType(values), wanted)
    return Config(
        dataset=data.name,
        data_options=data.options,
        data_hash=data.fingerprint,
        data_seed=data.options.get("seed"),
        method=method,
        model_options=chosen["model"],
        loss=loss,
        loss_options={k: v for k, v in asdict(made).items() if k not in options.NOT_OPTIONS},
        auxiliary=auxiliary,
        auxiliary_options=chosen["auxiliary"],
        seed=seed,
        settings={k: v for k, v in values.items() if k not in NOT_KEPT},
        drops=values["drops"],
        per_epoch=values["per_epoch"],
        backbone=data.options.get("backbone") if settings.on_pictures(data) else None,
        smoke=smoke,
        asked=given,
    )


def published_for(kind: type, loss: str, dataset: str) -> dict:
    """What a method was published with, for this loss and data: the more special word counts."""
    keys = ("*", loss, dataset, f"{dataset} {loss}")
    return {name: value for key in keys for name, value in kind.published.get(key, {}).items()}


def _check_sizes(kind: type, chosen: dict) -> None:
    """Sizes of a model are whole numbers, switches True or False; ``ValueError`` names the one that is not."""
    parameters = inspect.signature(kind).parameters
    for name, value in chosen.items():
        usual = parameters[name].default if name in parameters else None
        if isinstance(usual, bool):
            true_or_false(name, value)
            continue
        whole = any(isinstance(one, int) and not isinstance(one, bool) for one in (usual, value))
        if whole and not isinstance(usual, float):  # a share, which the model looks at itself
            at_least(name, value, 0 if name in REPEATS else 1)


def _check_seeds(seed: int, data: Dataset) -> None:
    """Seeds are whole numbers that 64 bits hold."""
    at_least("seed", seed, 0)
    for name, value in (("seed", seed), ("data_seed", data.options.get("seed") or 0)):
        if value >= 1 << 64:
            raise ValueError(f"{name} must be below 2**64; got {value}")


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

    def pick(name: str) -> Any:
        return next((settings.checked(name, level[name]) for level in levels if level.get(name) is not None), None)

    auxiliary, objective = pick("auxiliary"), pick("objective")
    if auxiliary is not None:
        auxiliary = AUXILIARIES.canonical(auxiliary)
    objective = objective or ("con" if auxiliary is None else "dual")
    if objective != "con" and auxiliary is None:
        raise ValueError(
            f"objective={objective!r} needs an auxiliary to weigh; name it with auxiliary=, or take a "
            "method that brings one"
        )
    return (None if objective == "con" else auxiliary), objective

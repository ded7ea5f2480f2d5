"""What a run is: every choice that can change its outcome, resolved and checked before anything starts."""

from __future__ import annotations

import hashlib
import inspect
import json
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import torch

from icrlib import devices
from icrlib.data import targets
from icrlib.data.splits import Dataset
from icrlib.losses.build import by_name, canonical
from icrlib.losses.build import options_of as loss_options_of
from icrlib.models.build import options_of as model_options_of
from icrlib.names import AUXILIARIES, METHODS
from icrlib.sampling import Sampler
from icrlib.training import behaviour
from icrlib.training.average import snapshots
from icrlib.training.settings import SETTINGS, Options, at_least, checked

SMOKE_UPDATES = 24
NOT_OPTIONS = ("memory_budget", "triplet_weight", "pair_weight")  # the first changes no number, the others are the name
REPEATS = ("blocks",)  # of a model's numbers the one that counts layers, of which there may be none

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
    "accumulate": 1,
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
    "behaviour": {},
}
# Where it ran, and how it was asked for: neither is part of what it is. Epochs are in updates and drops.
NOT_KEPT = ("auxiliary", "epochs", "lr_update", "finetune_epochs")
NO_PART = ("device", "threads", "asked", "changed", "epochs", "lr_update", "finetune_epochs", "per_epoch", "data_seed")


@dataclass(frozen=True)
class Config:
    """All choices of a run. ``settings``: flat, resolved; ``drops``: updates at which the rate falls to a tenth.

    ``per_epoch``: updates in an epoch of the sampler. ``data_options``: what the data set was asked for, with its seed.
    ``behaviour``: of the parts whose behaviour has risen (:mod:`icrlib.training.behaviour`).
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
    behaviour: dict = field(default_factory=dict)
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
    """Fill in what ``given`` (flat names and values) leaves open, and check all of it.

    Given comes before what the data set dictates (``data.defaults_for``), that before what the method was published
    with, that before a setting's own default. None stands for a setting that was left alone. ``ValueError`` for a name
    or value that is not allowed, and for a setting that the chosen parts would ignore.
    """
    method = METHODS.canonical(method)
    loss = canonical(loss)
    kind = METHODS.find(method)
    given = _target({name: value for name, value in given.items() if value is not None})
    defaults = data.defaults_for(method, loss)
    published = {name: value for key in ("*", loss, data.name) for name, value in kind.published.get(key, {}).items()}
    levels = (given, defaults, published)
    if data.word_vectors is not None and not kind.takes_word_vectors:
        raise ValueError(
            f"{kind.label or method} starts its words from nothing and takes no word vectors; load the "
            "data without word_vectors=, or take method='ltd'"
        )
    auxiliary, objective = _objective(levels)
    owners = options_for(method, loss, auxiliary)
    chosen = _placed(owners, levels)
    made = by_name(loss, **chosen["loss"])
    usual = inspect.signature(kind).parameters
    for name, value in chosen["model"].items():
        sizes = name in usual and isinstance(usual[name].default, int) and not isinstance(usual[name].default, bool)
        if sizes or (isinstance(value, int) and not isinstance(value, bool)):
            at_least(name, value, 0 if name in REPEATS else 1)
    values = {name: f.default for name, f in SETTINGS.items()} | chosen["setting"]
    values |= {"auxiliary": auxiliary, "objective": objective, "batches": values["batches"] or made.batches}
    values["device"] = devices.device(values["device"])
    devices.precision(values["precision"], values["device"])
    at_least("seed", seed, 0)
    for name, value in (("seed", seed), ("data_seed", data.options.get("seed") or 0)):
        if value >= 1 << 64:
            raise ValueError(f"{name} must be below 2**64; got {value}")
    sampler = Sampler(data.train, seed, values["batch_size"], values["batches"], values["positives"])
    per_epoch = max(1, sampler.per_epoch // values["accumulate"])
    drops = _schedule(values, owners, levels, per_epoch, data)
    if smoke:
        values["updates"], half = min(values["updates"], SMOKE_UPDATES), SMOKE_UPDATES // 2
        drops, values["evaluate_every"] = [half], half
    settings_given = _given(owners, given)["setting"]
    if not smoke or "warmup" not in settings_given:
        values["warmup"] = _start(values, settings_given, defaults)
    _finetuning(values, settings_given, per_epoch)
    _pictures(values, data, kind, settings_given)
    _words(values, kind, settings_given)
    _refuse_ignored(settings_given, values, made)
    _weighing(values, settings_given)
    _averaging(values, per_epoch, given, smoke)
    return Config(
        dataset=data.name,
        data_options=data.options,
        data_hash=data.fingerprint,
        data_seed=data.options.get("seed"),
        method=method,
        model_options=chosen["model"],
        loss=loss,
        loss_options={k: v for k, v in asdict(made).items() if k not in NOT_OPTIONS},
        auxiliary=auxiliary,
        auxiliary_options=chosen["auxiliary"],
        seed=seed,
        settings={k: v for k, v in values.items() if k not in NOT_KEPT},
        drops=drops,
        per_epoch=per_epoch,
        backbone=data.options.get("backbone") if _on_pictures(data) else None,
        smoke=smoke,
        behaviour=behaviour.of(values | {"method": method, "loss": loss}),
        asked=given,
    )


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


def group(config: Config, kind: type) -> Any:
    """One group of settings as the parts of the loop take it, such as ``group(config, settings.Optim)``."""
    return kind(**{f.name: config.settings[f.name] for f in fields(kind) if f.name in config.settings})


def _objective(levels: tuple[dict, ...]) -> tuple[str | None, str]:
    """The auxiliary's name and the objective: with an auxiliary "dual" unless something else is said."""

    def pick(name: str) -> Any:
        return next((checked(name, level[name]) for level in levels if level.get(name) is not None), None)

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


def options_for(method: str, loss: str, auxiliary: str | None = None) -> Options:
    """All names that a run of these parts takes, with their owners."""
    of_loss = [name for name in loss_options_of(loss) if name not in NOT_OPTIONS]
    extra = [] if auxiliary is None else list(inspect.signature(AUXILIARIES.find(auxiliary)).parameters)
    return Options(model=model_options_of(method), loss=of_loss, auxiliary=extra)


def _given(owners: Options, given: dict) -> dict[str, dict]:
    """What was given, by owner, each value checked."""
    found: dict[str, dict] = {owner: {} for owner in owners.owners}
    for spelled, value in given.items():
        owner, name = owners.place(spelled)
        found[owner][name] = checked(name, value) if owner == "setting" else value
    return found


def _placed(owners: Options, levels: tuple[dict, ...]) -> dict[str, dict]:
    """Options by owner, the first level before the others. Defaults that nobody here takes are left out."""
    given, *others = levels
    found = _given(owners, given)
    for level in others:
        for name, value in level.items():
            having = [owner for owner, names in owners.owners.items() if name in names]
            for owner in having[:1]:
                found[owner].setdefault(name, checked(name, value) if owner == "setting" else value)
    return found


def _schedule(values: dict, owners: Options, levels: tuple[dict, ...], per_epoch: int, data: Dataset) -> list[int]:
    """Set updates and evaluate_every; return the updates at which a schedule of steps drops the rate."""
    given = levels[0]
    if given.get("updates") is not None and given.get("epochs") is not None:
        raise ValueError("give updates= or epochs=, not both")
    # The budget comes whole from the first level that has one; a drop belongs to the budget that it was made for.
    level = next((level for level in levels if {"updates", "epochs"} & set(level)), {})
    own = level is given
    # Equal updates: an epoch over images is shorter than one over their captions by captions per image.
    each = round(len(data.train.captions) / len(data.train)) if values["batches"] == "images" and not own else 1
    if level.get("updates") is not None:
        updates, every = checked("updates", level["updates"]), None
    else:
        updates, every = checked("epochs", level.get("epochs", 30)) * each * per_epoch, per_epoch
    values["updates"] = updates
    values["evaluate_every"] = values["evaluate_every"] or every or max(1, updates // 12)
    step = given.get("lr_update", None if own else level.get("lr_update"))
    if values["schedule"] != "step":
        return []
    if step is None:
        return [updates // 2]
    step = checked("lr_update", step) * (1 if "lr_update" in given else each) * per_epoch
    return list(range(step, updates, step))


def _on_pictures(data: Dataset) -> bool:
    return not isinstance(data.train.features, torch.Tensor)


def _pictures(values: dict, data: Dataset, kind: type, given: dict) -> None:
    """What is about a network inside the model: only where there is one, and complete."""
    pictures = _on_pictures(data)
    tunable = pictures or hasattr(kind, "finetune")
    fits = {
        "batch_norm": pictures,
        "erase": pictures,
        **dict.fromkeys(("finetune_after", "finetune_lr", "restart_lr"), tunable),
    }
    for name in [name for name, there in fits.items() if not there and values[name] != SETTINGS[name].default]:
        if name in given:
            raise ValueError(
                f"{name}= is about a network inside the model, but this data are finished features; "
                "load_dataset(…, root=PHOTOS, images='published') trains on pictures"
            )
        values[name] = SETTINGS[name].default
    for name in ("finetune_lr", "restart_lr"):
        if values[name] is not None and values["finetune_after"] is None:
            raise ValueError(f"{name}= needs finetune_after=, the updates after which the network learns; 0: at once")
    if values["finetune_after"] is not None and values["finetune_lr"] is None:
        values["finetune_lr"] = values["lr"] / 10
    if pictures and values["batch_norm"] is None:
        values["batch_norm"] = "train"


def _finetuning(values: dict, given: dict, per_epoch: int) -> None:
    """Epochs after which a network inside of the model learns, as updates."""
    if values["finetune_epochs"] is None:
        return
    if given.get("finetune_after") is not None:
        raise ValueError("give finetune_after= in updates or finetune_epochs= in epochs, not both")
    values["finetune_after"] = values["finetune_epochs"] * per_epoch


def _words(values: dict, kind: type, given: dict) -> None:
    """What is left out of captions: only where a model sees words."""
    for name in ("drop_words", "delete_words") if not kind.reads_words else ():
        if given.get(name):
            raise ValueError(f"{name}= leaves words out, but {kind.label or kind.__name__} knows captions as wholes")
        values[name] = SETTINGS[name].default


def _weighing(values: dict, given: dict) -> None:
    """What belongs to another way of weighing the auxiliary, and was not asked for, is as if it had not been named."""
    for name, objective in (("beta", "dual"), ("eta", "lagrange"), ("multiplier", "lagrange")):
        if values["objective"] != objective and name not in given:
            values[name] = NEUTRAL[name]


def _start(values: dict, given: dict, usual: dict) -> int:
    """Updates of the start with all negatives. One that the data dictates is a share of the usual length of a run."""
    if "warmup" not in given:
        return values["warmup"] * values["updates"] // usual.get("updates", values["updates"])
    if values["warmup"] >= values["updates"]:
        raise ValueError(
            f"warmup={values['warmup']} of {values['updates']} updates: the loss itself would never be "
            "trained with; take fewer, or 0"
        )
    return values["warmup"]


def _refuse_ignored(given: dict, values: dict, loss: Any) -> None:
    """``ValueError`` for a given value that differs from the neutral one and would change nothing."""
    needs = {
        "beta": ("objective", "dual"),
        "eta": ("objective", "lagrange"),
        "multiplier": ("objective", "lagrange"),
        "lr_update": ("schedule", "step"),
        "average_from": ("average", "swa"),
        "average_times": ("average", "swa"),
        "positives": ("batches", "pairs"),
    }
    for name, (other, wanted) in needs.items():
        if name in given and given[name] != NEUTRAL.get(name) and values[other] != wanted:
            raise ValueError(f"{name}= has no effect with {other}={values[other]!r}; it belongs to {other}={wanted!r}")
    if values["objective"] == "lagrange" and values["eta"] is None:
        raise ValueError("objective='lagrange' needs eta=, the bound that the auxiliary is held below")
    for name, scalar in (("learn_tau", "tau"), ("learn_bias", "bias")):
        if values[name] and scalar not in loss.learnable:
            raise ValueError(f"{name}: {type(loss).__name__} has no {scalar} that can be learned")
    if values["learn_bias"] and not values["learn_tau"]:
        raise ValueError("learn_bias= goes with learn_tau=True: a bias is learned in units of the learned scale")


def _averaging(values: dict, per_epoch: int, given: dict, smoke: bool) -> None:
    """With averaged weights a run has whole epochs, and evaluations at their ends: between them nothing is averaged."""
    if values["average"] == "none":
        return
    if smoke and "average" not in given:  # what a method was published with
        values["average"] = "none"
        return
    if smoke:
        raise ValueError("a smoke run is shorter than an epoch, so average='swa' would average nothing; leave it out")
    for name in ("updates", "evaluate_every"):
        if name in given and values[name] % per_epoch:
            raise ValueError(
                f"average='swa' averages at ends of epochs: {name} must be a multiple of {per_epoch} "
                f"updates, an epoch; got {values[name]}"
            )
    if "evaluate_every" not in given:
        values["evaluate_every"] = per_epoch
    values["updates"] = max(per_epoch, values["updates"] - values["updates"] % per_epoch)
    snapshots(per_epoch, values["average_from"], values["average_times"])  # raises where they would lie too close

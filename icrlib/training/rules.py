"""What the settings of a run mean together: each rule fills in what follows from others, and refuses what cannot be.

A rule changes ``values``, all settings by name, upon what those before it decided; ``ValueError`` for what no run
takes. The order of ``RULES`` matters: batches are known before lengths are counted in epochs of them, and a length
before its start; a smoke run cuts the length first, and shows a start all the same. What is not there (a network,
words) is forgotten before anybody looks at what follows from it. Averaging rounds the length.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from icrlib import devices
from icrlib.data.regions import Regions
from icrlib.data.splits import Dataset
from icrlib.losses.base import Loss
from icrlib.sampling import Sampler
from icrlib.training.average import snapshots
from icrlib.training.settings import NEEDS, NEUTRAL, SETTINGS

SMOKE_UPDATES = 24
Values = dict[str, Any]


@dataclass(frozen=True)
class Context:
    """What a rule looks at beside the values: the model's class, the loss, and settings by who wants them.

    First those that a person ``given``, then those that the data ``dictated``, then what the method ``published``.
    """

    data: Dataset
    kind: type
    loss: Loss
    seed: int
    smoke: bool
    given: Mapping[str, Any]
    dictated: Mapping[str, Any]
    published: Mapping[str, Any]
    first: Mapping[str, Any] | None = None  # stage, that is: what it was

    @property
    def on_pictures(self) -> bool:
        """Whether the data holds pictures, so that a network in the model makes the features."""
        return not isinstance(self.data.train.features, (torch.Tensor, Regions))


def machine(values: Values, run: Context) -> None:
    """The device that there is, which must have the precision: float16 scales its loss, which needs a GPU."""
    values["device"] = devices.device(values["device"])
    if values["precision"] == "float16" and not values["device"].startswith("cuda"):
        raise ValueError("precision 'float16' needs a GPU; on a CPU use 'bfloat16' or 'float32'")


def batches(values: Values, run: Context) -> None:
    """What a batch is made of, by default as the loss was published; and ``per_epoch``: updates in an epoch."""
    if values["negatives"] == "foils":
        if not run.data.foils:
            raise ValueError(
                f"negatives='foils' needs captions whose logical form is known, and {run.data.name!r} does not know "
                "them; take scenes, or leave it out"
            )
        if not run.kind.reads_words or values["objective"] != "con":
            raise ValueError("negatives='foils' goes with methods that read words, and with objective='con' only")
    values["batches"] = values["batches"] or run.loss.batches
    if values["batches"] == "images" and run.given.get("positives") == "image":
        raise ValueError("positives='image' has no effect with batches='images'; it belongs to batches='pairs'")
    sampler = Sampler(run.data.train, run.seed, values["batch_size"], values["batches"], values["positives"])
    values["per_epoch"] = max(1, sampler.per_epoch // values["accumulate"])


def length(values: Values, run: Context) -> None:
    """Updates of a run, how often it is evaluated, and ``drops``: updates at which steps divide the rate by ten.

    The first level that has a length says all of it. A person's drops belong to any length, others only to their own:
    a given length has one drop, halfway, unless ``lr_update`` is given, too. Over images an epoch is shorter than over
    captions by captions per image, so that a default's number of epochs is that many times as large.
    """
    if {"updates", "epochs"} <= set(run.given):
        raise ValueError("give updates= or epochs=, not both")
    levels = (run.given, run.dictated, run.published)
    budget = next((level for level in levels if {"updates", "epochs"} & set(level)), {})
    epoch = longer = values["per_epoch"]
    if values["batches"] == "images" and budget is not run.given:
        longer *= round(len(run.data.train.captions) / len(run.data.train))
    updates = budget.get("updates")
    values["evaluate_every"] = values["evaluate_every"] or (epoch if updates is None else max(1, updates // 12))
    values["updates"] = budget.get("epochs", 30) * longer if updates is None else updates
    drops = [values["updates"] // 2]
    if "lr_update" in run.given:
        drops = range(run.given["lr_update"] * epoch, values["updates"], run.given["lr_update"] * epoch)
    elif budget is not run.given and budget.get("lr_update") is not None:
        drops = range(budget["lr_update"] * longer, values["updates"], budget["lr_update"] * longer)
    values["drops"] = list(drops) if values["schedule"] == "step" else []


def smoke(values: Values, run: Context) -> None:
    """A run to try things out: a few updates, its rate falls and it is evaluated halfway."""
    if run.smoke:
        half = SMOKE_UPDATES // 2
        values.update(updates=min(values["updates"], SMOKE_UPDATES), drops=[half], evaluate_every=half)


def second_stage(values: Values, run: Context) -> None:
    """What goes on from a first stage: at a tenth of its rate, all parameters alike, and with no start of its own."""
    if run.first is None:
        return
    if "lr" not in run.given:
        values["lr"] = run.first["lr"] / 10
    if "warmup" not in run.given:
        values["warmup"] = 0
    if run.on_pictures and not {"finetune_after", "finetune_epochs"} & set(run.given):
        values.update(finetune_after=0, finetune_epochs=None)
        values["finetune_lr"] = run.given.get("finetune_lr", values["lr"])


def start(values: Values, run: Context) -> None:
    """Updates of the start with all negatives. One that the data dictates is a share of the usual length of a run."""
    if "warmup" not in run.given:
        usual = run.dictated.get("updates", values["updates"])
        values["warmup"] = values["warmup"] * values["updates"] // usual
    if run.smoke:
        values["warmup"] = min(values["warmup"], values["updates"] // 2)
    elif values["warmup"] >= values["updates"]:
        raise ValueError(
            f"warmup={values['warmup']} of {values['updates']} updates: the loss itself would never be "
            "trained with; take fewer, or 0"
        )


def network(values: Values, run: Context) -> None:
    """When and how a network inside the model learns, where there is one."""
    if values["finetune_epochs"] is not None:
        if "finetune_after" in run.given:
            raise ValueError("give finetune_after= in updates or finetune_epochs= in epochs, not both")
        values["finetune_after"] = values["finetune_epochs"] * values["per_epoch"]
    for name in () if run.on_pictures else ("batch_norm", "erase", "finetune_after", "finetune_lr", "restart_lr"):
        usual = SETTINGS[name].default
        if name in run.given and values[name] != usual:
            raise ValueError(
                f"{name}= is about a network inside the model, but this data are finished features; "
                "load_dataset(…, root=PHOTOS, images='published') trains on pictures"
            )
        values[name] = usual
    for name in ("finetune_lr", "restart_lr"):
        if values[name] is not None and values["finetune_after"] is None:
            raise ValueError(f"{name}= needs finetune_after=, the updates after which the network learns; 0: at once")
    if values["finetune_after"] is not None and values["finetune_lr"] is None:
        values["finetune_lr"] = values["lr"] / 10
    if run.on_pictures and values["batch_norm"] is None:
        values["batch_norm"] = "train"


def words(values: Values, run: Context) -> None:
    """What is left out of captions: only where a model sees words."""
    for name in () if run.kind.reads_words else ("drop_words", "delete_words"):
        if run.given.get(name):
            whose = run.kind.label or run.kind.__name__
            raise ValueError(f"{name}= leaves words out, but {whose} knows captions as wholes")
        values[name] = SETTINGS[name].default


def effects(values: Values, run: Context) -> None:
    """Refuse what is given and would change nothing; what belongs to another objective is as if nobody had named it."""
    for name, (other, wanted) in NEEDS.items():
        if values[other] == wanted:
            continue
        if name in run.given and run.given[name] != NEUTRAL.get(name):
            raise ValueError(f"{name}= has no effect with {other}={values[other]!r}; it belongs to {other}={wanted!r}")
        if name not in run.given and other == "objective":
            values[name] = NEUTRAL[name]
    if values["objective"] == "lagrange" and values["eta"] is None:
        raise ValueError("objective='lagrange' needs eta=, the bound that the auxiliary is held below")


def learned(values: Values, run: Context) -> None:
    """What the loss has and can be learned, and no bias without its scale."""
    for name, scalar in (("learn_tau", "tau"), ("learn_bias", "bias")):
        if values[name] and scalar not in run.loss.learnable:
            raise ValueError(f"{name}: {type(run.loss).__name__} has no {scalar} that can be learned")
    if values["learn_tau"] and run.loss.tau < 0.01:
        raise ValueError(f"learn_tau: a learned tau is kept at 0.01 or above, and tau={run.loss.tau} begins below")
    if values["learn_bias"] and not values["learn_tau"]:
        raise ValueError("learn_bias= goes with learn_tau=True: a bias is learned in units of the learned scale")


def averaging(values: Values, run: Context) -> None:
    """With averaged weights a run has whole epochs, and evaluations at their ends: between them nothing is averaged."""
    if run.smoke and "average" in run.given and values["average"] != "none":
        raise ValueError("a smoke run is shorter than an epoch, so average='swa' would average nothing; leave it out")
    if run.smoke:  # what a method was published with
        values["average"] = "none"
    if values["average"] == "none":
        return
    epoch = values["per_epoch"]
    for name in ("updates", "evaluate_every"):
        if name in run.given and values[name] % epoch:
            raise ValueError(
                f"average='swa' averages at ends of epochs: {name} must be a multiple of {epoch} "
                f"updates, an epoch; got {values[name]}"
            )
    snapshots(epoch, values["average_from"], values["average_times"])  # raises where they would lie too close
    values["updates"] = max(epoch, values["updates"] - values["updates"] % epoch)
    if "evaluate_every" not in run.given:
        values["evaluate_every"] = epoch


def selection(values: Values, run: Context) -> None:
    """Who can rerank; and equal texts as right answers leave every query something to tell them from."""
    if values["rerank"] is not None:
        if run.kind.match is None:
            whose = run.kind.label or run.kind.__name__
            raise ValueError(f"rerank= asks a matching head, and {whose} has none (no match)")
        if values["objective"] == "con":
            raise ValueError(
                "rerank= asks the matching head, which objective='con' leaves untrained; take auxiliary='matching'"
            )
    if values["relevance"] == "text":
        for split in (run.data.val, run.data.test):
            split.check_texts("relevance")


RULES = (machine, batches, length, smoke, second_stage, start, network, words, effects, learned, averaging, selection)

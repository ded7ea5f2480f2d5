"""What a run is: every choice that can change its outcome, resolved and checked before anything starts."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import asdict, dataclass, field

import torch

from icrlib import losses, models
from icrlib.data.splits import Dataset
from icrlib.errors import choose

SMOKE_UPDATES = 24
NOT_OPTIONS = ("memory_budget", "triplet_weight", "pair_weight")  # the first changes no number, the others are the name


@dataclass(frozen=True)
class Config:
    """All settings of a run. ``drops``: updates at which the learning rate falls to a tenth.

    ``warmup``: first updates with the plain Triplet loss in place of ``loss``. ``evaluate_every`` in updates.
    ``precision``: of the encoders' arithmetic; ``accumulate``: batches whose gradients make one update.
    ``pictures``: the network inside the model and its batch normalisation, where the data are pictures, else empty;
    ``finetune_after``: updates after which that network learns, at ``finetune_lr``; None: never.
    ``changed``: what the caller asked for beyond the defaults.
    """

    dataset: str
    data_options: dict
    data_hash: str
    method: str
    model_options: dict
    loss: str
    loss_options: dict
    seed: int
    updates: int
    batch_size: int
    batches: str
    positives: str
    lr: float
    drops: list[int]
    grad_clip: float
    warmup: int
    evaluate_every: int
    precision: str
    accumulate: int
    pictures: dict
    finetune_after: int | None
    finetune_lr: float
    device: str
    threads: int
    smoke: bool = False
    changed: dict = field(default_factory=dict)

    def hash(self) -> str:
        """Ten hex digits that name this configuration."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:10]


def resolve(data: Dataset, method: str, loss: str, given: dict) -> tuple[Config, int]:
    """Fill in what ``given`` (the arguments of ``train``) leaves open; returns the config and batches per epoch.

    Raises ``ValueError`` for a name or value that is not allowed, listing what is.
    """
    from icrlib.sampling import Sampler

    choose(method, models.METHODS, "method")
    made = losses.by_name(loss, **given["loss_options"])
    loss = losses.canonical(loss)
    defaults = data.defaults

    def pick(name: str, fallback=None):
        return given[name] if given[name] is not None else defaults.get(name, fallback)

    where = device(given["device"])
    batches = given["batches"] or ("images" if loss == "smoothap" else "pairs")
    batch_size = _at_least("batch_size", pick("batch_size", 128), 2)
    sampler = Sampler(data.train, given["seed"], batch_size, batches, given["positives"])
    accumulate = _at_least("accumulate", given.get("accumulate", 1), 1)
    per_epoch = max(1, sampler.per_epoch // accumulate)
    updates, drops, every = _schedule(given, defaults, per_epoch, batches, data)
    if given["smoke"]:
        updates, drops, every = min(updates, SMOKE_UPDATES), [SMOKE_UPDATES // 2], SMOKE_UPDATES // 2
    lr, clip = pick("lr", 2e-4), given["grad_clip"]
    finetune_lr = given.get("finetune_lr") or lr / 10
    for name, value in (("lr", lr), ("grad_clip", clip), ("finetune_lr", finetune_lr)):
        if not (isinstance(value, (int, float)) and 0 < value < math.inf):
            raise ValueError(f"{name} must be a positive number; got {value!r}")
    model_options = {name: pick(name) for name in models.options_of(method) if pick(name) is not None}
    for name, value in model_options.items():
        _at_least(name, value, 1)
    config = Config(
        dataset=data.name, data_options=data.options, data_hash=data.fingerprint, method=method,
        model_options=model_options, loss=loss,
        loss_options={k: v for k, v in asdict(made).items() if k not in NOT_OPTIONS},
        seed=_at_least("seed", given["seed"], 0), updates=updates, batch_size=batch_size, batches=batches,
        positives=given["positives"], lr=float(lr), drops=drops, grad_clip=float(clip),
        warmup=_at_least("warmup", given["warmup"], 0), evaluate_every=every,
        precision=precision(given.get("precision", "float32"), where), accumulate=accumulate,
        pictures=_pictures(data, given), finetune_after=given.get("finetune_after"), finetune_lr=float(finetune_lr),
        device=where,
        threads=_at_least("threads", given["threads"], 1), smoke=bool(given["smoke"]),
        changed={k: given[k] for k in TUNABLE if given.get(k) not in (None, FALLBACKS.get(k))} | given["loss_options"],
    )  # fmt: skip
    return config, per_epoch


# What train() passes for arguments that its caller left alone, where that is not None.
FALLBACKS = {"positives": "diagonal", "grad_clip": 2.0, "warmup": 0, "precision": "float32", "accumulate": 1}
TUNABLE = ("updates", "epochs", "batch_size", "batches", "positives", "lr", "lr_update", "grad_clip", "warmup",
           "evaluate_every", "precision", "accumulate", "batch_norm", "finetune_after", "finetune_lr", "embed_dim",
           "word_dim")  # fmt: skip


def _pictures(data: Dataset, given: dict) -> dict:
    """What :func:`icrlib.models.build` needs to know about pictures; empty where the data are features."""
    wanted = [name for name in ("batch_norm", "finetune_after", "finetune_lr") if given.get(name) is not None]
    if isinstance(data.train.features, torch.Tensor):
        if wanted:
            raise ValueError(f"{wanted[0]}= is about a network inside the model, but this data are finished features; "
                             "load_dataset(…, root=PHOTOS, images='published') trains on pictures")  # fmt: skip
        return {}
    if given.get("finetune_after") is not None:
        _at_least("finetune_after", given["finetune_after"], 0)
    elif given.get("finetune_lr") is not None:
        raise ValueError("finetune_lr= needs finetune_after=, the updates after which the network learns; 0: at once")
    mode = given.get("batch_norm") or "train"
    return {"backbone": data.options["backbone"], "batch_norm": choose(mode, models.MODES, "batch_norm")}


def _schedule(
    given: dict, defaults: dict, per_epoch: int, batches: str, data: Dataset
) -> tuple[int, list[int], int]:
    """Number of updates, the updates at which the learning rate drops, and updates between evaluations."""
    if given["updates"] is not None and given["epochs"] is not None:
        raise ValueError("give updates= or epochs=, not both")
    use_updates = given["updates"] is not None or (given["epochs"] is None and "updates" in defaults)
    if use_updates:
        updates = defaults["updates"] if given["updates"] is None else given["updates"]
        updates = _at_least("updates", updates, 1)
        every = max(1, updates // 12)
        drops = [updates // 2] if given["lr_update"] is None else None
    else:
        # Equal updates: an epoch over images is shorter than one over their captions by captions per image.
        longer = round(len(data.train.captions) / len(data.train)) if batches == "images" else 1
        epochs = defaults.get("epochs", 30) * longer if given["epochs"] is None else given["epochs"]
        updates, every = _at_least("epochs", epochs, 1) * per_epoch, per_epoch
        lr_update = given["lr_update"] or (
            max(1, epochs // 2) if given["epochs"] else defaults["lr_update"] * longer
        )
        drops = (
            None if given["lr_update"] else list(range(lr_update * per_epoch, updates, lr_update * per_epoch))
        )
    if drops is None:
        step = _at_least("lr_update", given["lr_update"], 1) * per_epoch
        drops = list(range(step, updates, step))
    if given["evaluate_every"] is not None:
        every = _at_least("evaluate_every", given["evaluate_every"], 1)
    return updates, drops, every


def precision(name: str, device: str) -> str:
    """"float32", "bfloat16", or "float16" with loss scaling, which needs a GPU."""
    choose(name, ("float32", "bfloat16", "float16"), "precision")
    if name == "float16" and not device.startswith("cuda"):
        raise ValueError("precision 'float16' needs a GPU; on a CPU use 'bfloat16' or 'float32'")
    return name


def device(name: str) -> str:
    """``"auto"`` is CUDA where there is one; anything else must name a device that is there."""
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError) as err:
        there = ["auto", "cpu", *(f"cuda:{i}" for i in range(torch.cuda.device_count()))]
        raise ValueError(f"device {name!r} is not available; allowed here: {', '.join(there)}") from err
    return name


def _at_least(name: str, value, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}; got {value!r}")
    return value

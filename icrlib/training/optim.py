"""Rules of an update, and learning rates as pure functions of the update: there is no schedule to save."""

from __future__ import annotations

import math

import torch

from icrlib.training.config import Config


def build(groups: list[dict], config: Config) -> torch.optim.Optimizer:
    """The optimiser over groups of parameters, each with its rate ``"base"`` before any schedule.

    "adam" and "adamw" are PyTorch's, "adamp" its authors' package (Heo et al. 2021). ``ImportError`` with the way out
    where that is missing.
    """
    options = {"lr": config.lr, "weight_decay": config.weight_decay}
    if config.optimiser == "adamw":
        return torch.optim.AdamW(groups, **options)
    if config.optimiser == "adamp":
        try:
            from adamp import AdamP
        except ImportError as err:
            raise ImportError("optimiser='adamp' needs a small package: pip install adamp") from err
        return AdamP(groups, **options)
    return torch.optim.Adam(groups, **options)


def factor(update: int, config: Config) -> float:
    """What the rate of a group is multiplied by at ``update``, counted from 0.

    Steps: a tenth for each drop that lies behind. A cosine falls from 1 towards 0 over the run, or, with
    ``restart_lr``, over each of its two parts; "cosine_epoch" moves once an epoch, as LTD's release does.
    ``lr_warmup`` comes on top.
    """
    rising = min(1.0, (update + 1) / config.lr_warmup) if config.lr_warmup else 1.0
    if config.schedule == "step":
        return rising * 0.1 ** sum(update >= drop for drop in config.drops)
    first, end = 0, config.updates
    if config.restart_lr is not None:
        first, end = (config.finetune_after, end) if update >= config.finetune_after else (0, config.finetune_after)
    unit = config.per_epoch if config.schedule == "cosine_epoch" else 1
    share = ((update - first) // unit) / max(1, math.ceil((end - first) / unit))
    return rising * (1 + math.cos(math.pi * share)) / 2


def set_rates(optimiser: torch.optim.Optimizer, update: int, config: Config) -> float:
    """Set the rate of every group for ``update``; returns the first group's."""
    restarted = config.restart_lr is not None and update >= config.finetune_after
    times = factor(update, config)
    for part in optimiser.param_groups:
        part["lr"] = (config.restart_lr if restarted else part["base"]) * times
    return optimiser.param_groups[0]["lr"]

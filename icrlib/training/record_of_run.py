"""The record of a finished run: plain JSON values, from which the book's tables and figures are made."""

from __future__ import annotations

import base64
import platform
from importlib.metadata import PackageNotFoundError, version

import numpy as np
import torch

from icrlib import devices
from icrlib.auxiliary.base import Criterion
from icrlib.data.splits import Dataset
from icrlib.models.base import RetrievalModel
from icrlib.records.files import rounded
from icrlib.records.form import SCHEMA
from icrlib.training.config import Config


def record(
    config: Config, data: Dataset, state: dict, tested: dict, model: RetrievalModel, criterion: Criterion, commit: str
) -> dict:
    """What the run leaves: configuration, identity, which data, code and machine, cost, history, choice, test."""
    ranks, best, auxiliary = tested.pop("ranks", None), state["best"], criterion.auxiliary
    extras = [] if auxiliary is None else ["contrastive", auxiliary.name, *criterion.weighing.notes()]
    found = {
        "schema": SCHEMA,
        "identity": config.identity(),
        "config": config.flat(),
        "data_hash": data.fingerprint,
        "commit": commit,
        "versions": {"python": platform.python_version(), **{n: _version(n) for n in ("icrlib", "torch", "numpy")}},
        "device": devices.describe(config.device),
        "threads": config.threads,
        "wall_seconds": round(state["seconds"], 2),
        "seconds_per_epoch": round(state["seconds"] / config.updates * config.per_epoch, 3),
        "updates_per_epoch": config.per_epoch,
        "parameters": sum(p.numel() for p in model.parameters()),
        "peak_memory_mb": devices.peak_memory_mb(),
        "history": state["history"],
        "log": state["log"],
        "log_columns": ["update", "loss", *extras],
        "chosen": {"update": best["update"], "val_rsum": best["rsum"]},
        "test": tested,
    }
    if ranks:  # of each image and each caption the best, and whose captions they are, so that images can be resampled
        tested["ranks"] = {side: packed(some) for side, some in ranks.items()}
        tested["ranks"]["image_of"] = packed(data.test.image_of.tolist())
    if "reranked" in best:  # the weights were chosen by the rsum before it
        found["chosen"]["val_reranked_rsum"] = best["reranked"]
    if auxiliary is not None and auxiliary.about():
        found["auxiliary"] = auxiliary.about()
    if config.device.startswith("cuda"):
        found["peak_device_memory_mb"] = round(torch.cuda.max_memory_allocated() / (1 << 20))
    return rounded(found)


def packed(ranks: list[int]) -> str:
    """Ranks as base64 of little-endian uint16; those beyond its range become its last."""
    return base64.b64encode(np.minimum(ranks, 0xFFFF).astype("<u2").tobytes()).decode()


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None

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
    ranks = tested.pop("ranks", None)
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
        "log_columns": ["update", "loss", *_extras(criterion)],
        "chosen": _chosen(state["best"]),
        "test": tested | ({"ranks": _ranks(ranks, data)} if ranks else {}),
    }
    if criterion.auxiliary is not None and criterion.auxiliary.about():
        found["auxiliary"] = criterion.auxiliary.about()
    if config.device.startswith("cuda"):
        found["peak_device_memory_mb"] = round(torch.cuda.max_memory_allocated() / (1 << 20))
    return rounded(found)


def _chosen(best: dict) -> dict:
    """The evaluation whose weights were kept. It was chosen by its rsum; what reranking makes of it is beside it."""
    more = {"val_reranked_rsum": best["reranked"]} if "reranked" in best else {}
    return {"update": best["update"], "val_rsum": best["rsum"]} | more


def packed(ranks: list[int]) -> str:
    """Ranks as base64 of little-endian uint16; those beyond its range become its last."""
    return base64.b64encode(np.minimum(ranks, 0xFFFF).astype("<u2").tobytes()).decode()


def _ranks(ranks: dict[str, list[int]], data: Dataset) -> dict[str, str]:
    """Best rank of each image and of each caption, and whose captions they are, so that images can be resampled."""
    return {side: packed(some) for side, some in ranks.items()} | {"image_of": packed(data.test.image_of.tolist())}


def _extras(criterion: Criterion) -> list[str]:
    return [] if criterion.auxiliary is None else ["contrastive", criterion.auxiliary.name, *criterion.weighing.notes()]


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None

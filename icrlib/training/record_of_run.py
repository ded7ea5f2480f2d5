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
from icrlib.names import AUXILIARIES
from icrlib.records.files import SCHEMA, rounded
from icrlib.records.sources import place_of, sources_of
from icrlib.training.config import Config


def sources(config: Config, data: Dataset, model: RetrievalModel, criterion: Criterion) -> dict[str, str]:
    """The code that this run uses: the loop, and what the run built."""
    kinds = [type(getattr(model, "inner", model)), type(criterion.loss)]
    kinds += [type(model)] if config.backbone else []
    kinds += [type(criterion.first)] if config.warmup else []
    kinds += getattr(model, "inner", model).uses()
    if config.auxiliary:
        kinds += [AUXILIARIES.find(config.auxiliary), *criterion.auxiliary.uses()]
    return sources_of("icrlib.training.loop", *([data.made_by] if data.made_by else []), *map(place_of, kinds))


def record(
    config: Config, data: Dataset, state: dict, tested: dict, model: RetrievalModel, criterion: Criterion, code: dict
) -> dict:
    """What the run leaves: configuration, identity, hashes of data and code, machine, cost, history, choice, test."""
    ranks = tested.pop("ranks", None)
    found = {
        "schema": SCHEMA,
        "identity": config.identity(),
        "config": config.flat(),
        "data_hash": data.fingerprint,
        "sources": code,
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
        "chosen": {"update": state["best"]["update"], "val_rsum": state["best"]["rsum"]},
        "test": tested | ({"ranks": _ranks(ranks, data)} if ranks else {}),
    }
    if criterion.auxiliary is not None and criterion.auxiliary.about():
        found["auxiliary"] = criterion.auxiliary.about()
    if config.device.startswith("cuda"):
        found["peak_device_memory_mb"] = round(torch.cuda.max_memory_allocated() / (1 << 20))
    return rounded(found)


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

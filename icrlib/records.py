"""Records: what a run leaves behind as one JSON file, written once, by the run itself."""

from __future__ import annotations

import json
import math
import platform
import resource
import sys
from collections.abc import Iterable
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch
from torch import nn

from icrlib.config import Config
from icrlib.data.splits import Dataset
from icrlib.files import write_bytes
from icrlib.sources import PACKAGE, code_hash

SCHEMA = 1


def root() -> Path:
    """The folder of the book's records: ``records/`` of a checkout, else the copy inside the installed package."""
    checkout = PACKAGE.parent / "records"
    return (
        checkout
        if checkout.is_dir() and (PACKAGE.parent / "pyproject.toml").exists()
        else PACKAGE / "_records"
    )


def path_for(dataset: str, method: str, loss: str, seed: int, tag: str = "") -> Path:
    """Where the book keeps the record of a run; ``tag`` names what differs from the defaults."""
    loss = loss.replace(":", "-").replace(" x ", "-")
    return root() / dataset / method.replace("++", "pp") / loss / f"{tag + '-' if tag else ''}seed{seed}.json"


def build(
    config: Config, data: Dataset, state: dict, test: dict, per_epoch: int, model: nn.Module, code: str
) -> dict:
    """The record of a finished run; plain JSON values. ``code``: the hash from before the run."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (
        1 << 20 if sys.platform == "darwin" else 1 << 10
    )
    record = {
        "schema": SCHEMA,
        "config": asdict(config),
        "config_hash": config.hash(),
        "data_hash": data.fingerprint,
        "code_hash": code,
        "versions": {
            "python": platform.python_version(),
            **{name: _version(name) for name in ("icrlib", "torch", "numpy")},
        },
        "device": torch.cuda.get_device_name() if config.device.startswith("cuda") else platform.machine(),
        "threads": config.threads,
        "wall_seconds": round(state["seconds"], 2),
        "seconds_per_epoch": round(state["seconds"] / config.updates * per_epoch, 3),
        "updates_per_epoch": per_epoch,
        "parameters": sum(p.numel() for p in model.parameters()),
        "peak_memory_mb": round(peak),
        "history": state["history"],
        "log": state["log"],
        "chosen": {"update": state["best"]["update"], "val_rsum": state["best"]["rsum"]},
        "test": test,
    }
    if config.device.startswith("cuda"):
        record["peak_device_memory_mb"] = round(torch.cuda.max_memory_allocated() / (1 << 20))
    return _rounded(record)


def write(record: dict, path: str | Path) -> Path:
    """Write ``record`` atomically; ``ValueError`` if one is there, for records are never changed."""
    path = Path(path)
    if path.exists():
        raise ValueError(f"{path}: this record exists, and a record is written once. Choose another path.")
    write_bytes(path, (json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode())
    return path


def load(path: str | Path) -> dict:
    """Read one record; ``record["stale"]`` says whether the library has changed since it was written."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no record here")
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        config = record["config"]
        if not isinstance(config, dict) or record["schema"] > SCHEMA:
            raise KeyError("config")
    except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError) as err:
        raise ValueError(f"{path}: not a record of a run ({err!r})") from err
    try:
        images = config["data_options"].get("images", "features")
        now = code_hash(config["dataset"], config["method"], config["loss"], images)
    except (ValueError, KeyError):  # a loss or method that this version does not know
        now = None
    return record | {"path": str(path), "stale": record["code_hash"] != now}


def find(folder: str | Path | None = None, **wanted) -> list[dict]:
    """All records whose ``config`` agrees with ``wanted`` (``dataset=``, ``method=``, ``loss=``, ``seed=``, …).

    Sorted by path. ``folder`` defaults to the book's records. An empty list where none agrees.
    """
    paths: Iterable[Path] = sorted(Path(folder or root()).rglob("*.json"))
    return [
        r for r in map(load, paths) if all(r["config"].get(key) == value for key, value in wanted.items())
    ]


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _rounded(value):
    """Floats to eight significant digits, so that a record stays small and readable; NaN becomes None."""
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(item) for item in value]
    if isinstance(value, float):
        return float(f"{value:.8g}") if math.isfinite(value) else None
    return value

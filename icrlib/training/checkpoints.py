"""What a run keeps in its folder while it is under way: whose folder it is, and checkpoints to go on from."""

from __future__ import annotations

import contextlib
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from icrlib import parsing
from icrlib.files import alone, atomic_path, write_bytes
from icrlib.training.config import NO_PART, Config

NOTE, CHECKPOINT, RECORD = "config.json", "checkpoint.pt", "record.json"
WAY_OUT = "delete it to start this run from its beginning, or put a copy back"


@contextlib.contextmanager
def claimed(folder: Path | None, config: Config) -> Iterator[None]:
    """Make ``folder`` this run's own, or make sure that it already is, and keep other processes out of it.

    A run that ended before its first checkpoint left nothing but its note, and its folder is free. The lock goes with
    the process, however that ends. None: nothing is kept, nothing to claim.
    """
    if folder is None:
        yield
        return
    with alone(folder, "another process is training in this folder; choose another out="):
        _claim(folder, config)
        yield


def _claim(folder: Path, config: Config) -> None:
    note, ours = folder / NOTE, config.flat() | {"identity": config.identity()}
    if note.exists() and (other := _other(note, ours)):
        raise ValueError(f"{folder} holds another run ({other}); choose another out=, or delete that folder")
    write_bytes(note, json.dumps(ours, indent=1, sort_keys=True).encode())


def _other(note: Path, ours: dict) -> str | None:
    """What tells the run of that ``note`` from ``ours``; None where it is ours, or has left nothing to lose."""
    try:
        theirs = parsing.of_json(note, {"type": "object", "required": ["identity"]}, NOTE)
    except parsing.BadFile as err:  # cut off, or another program's
        return f"{NOTE}: {err.why}"
    if theirs["identity"] == ours["identity"] or not _began(note.parent):
        return None
    names = [name for name in ours if name not in (*NO_PART, "identity") and theirs.get(name) != ours[name]]
    return (
        "; ".join(f"{name}: {theirs.get(name)!r:.90}, now {ours[name]!r:.90}" for name in names[:3]) or "other settings"
    )


def _began(folder: Path) -> bool:
    """Whether a run has left something in the folder that would be lost."""
    return (folder / CHECKPOINT).exists() or (folder / RECORD).exists()


def write(folder: Path | None, state: dict, parts: dict[str, Any]) -> None:
    """Save all that the rest of the run depends on, in one atomic file; None: nowhere."""
    if folder is None:
        return
    rng = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        rng["cuda"] = torch.cuda.get_rng_state_all()
    states = {name: part.state_dict() for name, part in parts.items()}
    with atomic_path(folder / CHECKPOINT) as path, open(path, "wb") as file:
        torch.save({"state": state, "parts": states, "rng": rng}, file)


def resume(folder: Path | None, parts: dict[str, Any]) -> dict | None:
    """Load the last checkpoint into the ``parts`` and return the loop's state; None at a first start."""
    path = None if folder is None else folder / CHECKPOINT
    if path is None or not path.exists():
        return None
    saved = _read(path)
    try:
        for name, part in parts.items():
            part.load_state_dict(saved["parts"][name])
        torch.set_rng_state(saved["rng"]["cpu"])
        if "cuda" in saved["rng"] and torch.cuda.is_available():
            torch.cuda.set_rng_state_all(saved["rng"]["cuda"][: torch.cuda.device_count()])
        return saved["state"]
    except (RuntimeError, KeyError, ValueError, TypeError) as err:
        raise ValueError(f"{path}: not a checkpoint of this run ({err}); {WAY_OUT}") from err


def _read(path: Path) -> dict:
    """What :func:`write` wrote: tensors and plain values, never a pickle. ``ValueError`` where it is damaged."""
    try:
        with zipfile.ZipFile(path) as archive:
            if name := archive.testzip():  # torch.load does not look at checksums
                raise ValueError(f"{name} is not as it was written")
        return torch.load(path, weights_only=True, map_location="cpu")
    except Exception as err:  # of bytes that are no checkpoint the unpickler dies in any way
        why = str(err).partition("\n")[0]
        raise ValueError(f"{path}: damaged, or of an earlier version of the library ({why}); {WAY_OUT}") from err

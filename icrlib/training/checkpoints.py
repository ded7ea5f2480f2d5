"""What a run keeps in its folder while it is under way: whose folder it is, and checkpoints to go on from."""

from __future__ import annotations

import contextlib
import io
import json
import pickle
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from icrlib import parsing
from icrlib.files import DamagedFile, alone, busy, read_sealed, write_bytes, write_sealed
from icrlib.records.files import load
from icrlib.training.config import NO_PART, Config

KEPT = ("checkpoint.pt", "record.json")  # what a run leaves behind; without any of them there is nothing to lose


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
    note, ours = folder / "config.json", config.flat() | {"identity": config.identity()}
    if not note.exists():
        write_bytes(note, json.dumps(ours, indent=1, sort_keys=True).encode())
        return
    try:
        theirs = parsing.of_json(note)
    except parsing.BadFile:
        theirs = None
    if not isinstance(theirs, dict) or "identity" not in theirs:
        what = "its config.json is damaged" if theirs is None else "of an earlier version of the library"
        raise ValueError(f"{folder} holds another run ({what}); choose another out=, or delete that folder")
    if theirs["identity"] == ours["identity"]:
        return
    if not any((folder / name).exists() for name in KEPT):
        write_bytes(note, json.dumps(ours, indent=1, sort_keys=True).encode())
    else:
        raise ValueError(
            f"{folder} holds another run ({_differences(theirs, ours)}); choose another out=, or delete that folder"
        )


def write(folder: Path | None, state: dict, parts: dict[str, Any]) -> None:
    """Save all that the rest of the run depends on, in one atomic file with its own checksum; None: nowhere."""
    if folder is None:
        return
    rng = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        rng["cuda"] = torch.cuda.get_rng_state_all()
    states = {name: part.state_dict() for name, part in parts.items()}
    buffer = io.BytesIO()
    torch.save({"state": state, "parts": states, "rng": rng}, buffer)
    write_sealed(folder / "checkpoint.pt", buffer.getvalue())


def resume(folder: Path | None, parts: dict[str, Any]) -> dict | None:
    """Load the last checkpoint into the ``parts`` and return the loop's state; None at a first start."""
    path = None if folder is None else folder / "checkpoint.pt"
    if path is None or not path.exists():
        return None
    way_out = "delete it to start this run from its beginning, or put a copy back"
    try:
        saved = torch.load(io.BytesIO(read_sealed(path)), weights_only=True, map_location="cpu")
        for name, part in parts.items():
            part.load_state_dict(saved["parts"][name])
    except DamagedFile as err:
        raise DamagedFile(f"{err}; {way_out}") from err
    except (RuntimeError, KeyError, ValueError, pickle.UnpicklingError, zipfile.BadZipFile) as err:
        raise ValueError(f"{path}: not a checkpoint of this run ({err}); {way_out}") from err
    torch.set_rng_state(saved["rng"]["cpu"])
    if "cuda" in saved["rng"] and torch.cuda.is_available():
        torch.cuda.set_rng_state_all(saved["rng"]["cuda"])
    return saved["state"]


def runs_below(folder: Path) -> list[Path]:
    """Folders of runs, whole or damaged; another program's config.json makes none."""
    return sorted(path.parent for path in folder.rglob("config.json") if _ours(path))


def state_of(folder: Path) -> str:
    """One line on the run in ``folder``: finished, under way, interrupted or damaged, and how far it is.

    Nothing is written there.
    """
    try:
        return _state(folder)
    except Exception as err:  # whatever is wrong with the files of one run, the others are still listed
        return f"damaged: {type(err).__name__}: {err}" if not isinstance(err, ValueError) else f"damaged: {err}"


def _ours(note: Path) -> bool:
    if any((note.parent / name).exists() for name in KEPT):
        return True
    try:
        return "identity" in parsing.of_json(note, {"type": "object"})
    except (parsing.BadFile, OSError):
        return False


def _state(folder: Path) -> str:
    known = {"type": "object", "required": ["updates"], "properties": {"updates": {"type": "integer"}}}
    wanted = parsing.of_json(folder / "config.json", known, "config.json")["updates"]
    if (folder / "record.json").exists():
        test = load(folder / "record.json")["test"]
        return f"finished, test rsum {test['rsum']:.1f}"
    word = "under way" if busy(folder) else "interrupted"
    if not (folder / "checkpoint.pt").exists():
        return f"{word}, no evaluation yet of {wanted} updates"
    saved = torch.load(io.BytesIO(read_sealed(folder / "checkpoint.pt")), weights_only=True, map_location="cpu")
    state = saved["state"]
    return f"{word} at update {state['update']} of {wanted}, best validation rsum {state['best']['rsum']:.1f}"


def _differences(theirs: dict, ours: dict) -> str:
    pairs = [
        f"{key}: {theirs.get(key)!r}, now {ours[key]!r}"
        for key in ours
        if key not in (*NO_PART, "identity") and theirs.get(key) != ours[key]
    ]
    return "; ".join(pairs[:3]) or "other settings"

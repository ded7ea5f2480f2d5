"""What a run leaves in its folder: checkpoints to go on from, and the trained model."""

from __future__ import annotations

import contextlib
import io
import json
import pickle
import zipfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import torch
from filelock import FileLock, Timeout
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors

from icrlib import models, records
from icrlib.config import Config
from icrlib.data.text import Vocabulary
from icrlib.files import DamagedFile, alone, read_sealed, sha256_of, write_bytes, write_sealed
from icrlib.models.base import RetrievalModel


@contextlib.contextmanager
def claimed(folder: Path | None, config: Config) -> Iterator[None]:
    """Make ``folder`` this run's own, or make sure that it already is, and keep other processes out of it.

    The lock goes with the process, however that ends. None: nothing is kept, nothing to claim.
    """
    if folder is None:
        yield
        return
    with alone(folder, "another process is training in this folder; choose another out="):
        _claim(folder, config)
        yield


def _claim(folder: Path, config: Config) -> None:
    note, ours = folder / "config.json", json.dumps(asdict(config), indent=1, sort_keys=True)
    if note.exists():
        theirs = note.read_text()
        if theirs != ours:
            changed = _differences(theirs, asdict(config))
            raise ValueError(
                f"{folder} holds another run ({changed}); choose another out=, or delete that folder"
            )
    else:
        write_bytes(note, ours.encode())


def write(folder: Path, state: dict, model: RetrievalModel, optimiser: torch.optim.Optimizer) -> None:
    """Save all that the rest of the run depends on, in one atomic file with its own checksum."""
    rng = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        rng["cuda"] = torch.cuda.get_rng_state_all()
    buffer = io.BytesIO()
    torch.save(
        {"state": state, "model": model.state_dict(), "optimiser": optimiser.state_dict(), "rng": rng}, buffer
    )
    write_sealed(folder / "checkpoint.pt", buffer.getvalue())


def resume(folder: Path, model: RetrievalModel, optimiser: torch.optim.Optimizer) -> dict | None:
    """Load the last checkpoint into ``model`` and ``optimiser`` and return the loop's state; None at a first start."""
    path = folder / "checkpoint.pt"
    if not path.exists():
        return None
    way_out = "delete it to start this run from its beginning, or put a copy back"
    try:
        saved = torch.load(io.BytesIO(read_sealed(path)), weights_only=True, map_location="cpu")
        model.load_state_dict(saved["model"])
        optimiser.load_state_dict(saved["optimiser"])
    except DamagedFile as err:
        raise DamagedFile(f"{err}; {way_out}") from err
    except (RuntimeError, KeyError, ValueError, pickle.UnpicklingError, zipfile.BadZipFile) as err:
        raise ValueError(f"{path}: not a checkpoint of this run ({err}); {way_out}") from err
    torch.set_rng_state(saved["rng"]["cpu"])
    if "cuda" in saved["rng"] and torch.cuda.is_available():
        torch.cuda.set_rng_state_all(saved["rng"]["cuda"])
    return saved["state"]


def finished(folder: Path) -> tuple[dict, RetrievalModel] | None:
    """Record and model of a run that has ended, else None."""
    if not (folder / "record.json").exists():
        return None
    return records.load(folder / "record.json"), load_model(folder)


def state_of(folder: Path) -> str:
    """One line on the run in ``folder``: finished, under way or interrupted, and how far it is."""
    wanted = json.loads((folder / "config.json").read_text())["updates"]
    if (folder / "record.json").exists():
        test = records.load(folder / "record.json")["test"]
        return f"finished, test rsum {test['rsum']:.1f}"
    lock = FileLock(folder / ".lock")
    try:
        with lock.acquire(timeout=0):
            word = "interrupted"
    except Timeout:
        word = "under way"
    if not (folder / "checkpoint.pt").exists():
        return f"{word}, no evaluation yet of {wanted} updates"
    saved = torch.load(io.BytesIO(read_sealed(folder / "checkpoint.pt")), weights_only=True, map_location="cpu")
    state = saved["state"]
    return f"{word} at update {state['update']} of {wanted}, best validation rsum {state['best']['rsum']:.1f}"


def save_model(model: RetrievalModel, method: str, folder: str | Path) -> Path:
    """Write ``model.safetensors`` and ``model.json`` (method, options, vocabulary) to ``folder``."""
    folder = Path(folder)
    weights = save_tensors(
        {name: value.detach().cpu().contiguous() for name, value in model.state_dict().items()}
    )
    about = {
        "method": method,
        "options": model.options,
        "words": model.vocabulary.words,
        "sha256": sha256_of(weights),
    }
    write_bytes(folder / "model.safetensors", weights)
    write_bytes(folder / "model.json", json.dumps(about, ensure_ascii=False).encode())
    return folder


def load_model(folder: str | Path) -> RetrievalModel:
    """Read what :meth:`icrlib.training.Run.save` wrote: a model in evaluation mode, with its vocabulary."""
    folder = Path(folder)
    for name in ("model.json", "model.safetensors"):
        if not (folder / name).is_file():
            raise FileNotFoundError(
                f"{folder}: no {name} here; a folder written by Run.save holds both files of a model"
            )
    try:
        about = json.loads((folder / "model.json").read_text(encoding="utf-8"))
        content = (folder / "model.safetensors").read_bytes()
        if sha256_of(content) != about["sha256"]:
            raise ValueError("its checksum does not match")
        model = models.build(about["method"], **about["options"])
        model.load_state_dict(load_tensors(content))
    except (ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as err:
        raise ValueError(f"{folder}: the saved model is damaged ({err}); save or train it again") from err
    model.vocabulary = Vocabulary(about["words"])
    return model.eval()


def _differences(theirs: str, ours: dict) -> str:
    try:
        other = json.loads(theirs)
    except json.JSONDecodeError:
        return "its config.json is damaged"
    pairs = [f"{key}: {other.get(key)!r}, now {ours[key]!r}" for key in ours if other.get(key) != ours[key]]
    return "; ".join(pairs[:3]) or "other settings"

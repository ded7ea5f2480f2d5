"""A trained model with its vocabulary, written and read again."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors

from icrlib import parsing
from icrlib.data import backbones
from icrlib.data.targets.teachers import HELD, TEACHERS
from icrlib.data.text import Vocabulary
from icrlib.files import sha256_of, write_bytes
from icrlib.models.base import RetrievalModel
from icrlib.models.build import build
from icrlib.names import METHODS, handed

WEIGHTS, ABOUT = "model.safetensors", "model.json"
KINDS = {"method": {"type": "string"}, "options": {"type": "object"}, "sha256": {"type": "string"}}
KINDS |= {"words": {"type": "array", "items": {"type": "string"}}}
FORM = {"type": "object", "required": [*KINDS], "properties": KINDS}


def save_model(model: RetrievalModel, method: str, folder: str | Path) -> Path:
    """Write ``model.safetensors`` and ``model.json`` (method, options, vocabulary, whose weights) to ``folder``."""
    folder = Path(folder)
    # Copies, for safetensors takes no two names of one memory, which tied weights are.
    weights = save_tensors({name: value.cpu().contiguous().clone() for name, value in model.state_dict().items()})
    about = {"method": method, "options": model.options, "words": model.vocabulary.words, "sha256": sha256_of(weights)}
    write_bytes(folder / WEIGHTS, weights)
    write_bytes(folder / ABOUT, json.dumps(about, ensure_ascii=False).encode())
    return folder


def folder_of(model: Path) -> Path:
    """The folder of a saved model, which may be named by the record in it, too."""
    return model.parent if model.name == "record.json" else model


def load_model(
    folder: str | Path, *, method: str | None = None, backbone: str | None = None, teacher: str | None = None
) -> RetrievalModel:
    """Read what :meth:`icrlib.Run.save` wrote: a model in evaluation mode, with its vocabulary.

    A file never names code to import: a ``method``, a ``backbone`` or a sentence encoder (``teacher``) of your own,
    ``"package.module:Name"``, has to be handed over again, an object by :func:`icrlib.data.targets.hold` before.
    ``ValueError`` says so, and names a damaged model; ``FileNotFoundError`` where files are missing.
    """
    folder = Path(folder)
    for name in (ABOUT, WEIGHTS):
        if not (folder / name).is_file():
            raise FileNotFoundError(f"{folder}: no {name} here; Run.save writes both files of a model to a folder")
    with _damage_named(folder):
        about = parsing.of_json(folder / ABOUT, FORM, ABOUT)
        content = (folder / WEIGHTS).read_bytes()
        if sha256_of(content) != about["sha256"]:
            raise ValueError("its two files do not belong together")
        options, words, tensors = about["options"], Vocabulary(about["words"]), load_tensors(content)
    method = handed(folder, "method", about["method"], method, METHODS)
    if "teacher" in options:
        options["teacher"] = handed(folder, "teacher", options["teacher"], teacher, [*TEACHERS, *HELD])
    if "backbone" in options:
        options["backbone"] = handed(folder, "backbone", options["backbone"], backbone, backbones.NAMES)
        options["network"] = backbones.load(options["backbone"]).network
    with _damage_named(folder):
        model = build(method, **options)
        model.load_state_dict(tensors)
    model.vocabulary = model.vocabulary or words  # a model that reads whole sentences has its own
    return model.eval()


@contextlib.contextmanager
def _damage_named(folder: Path) -> Iterator[None]:
    try:
        yield
    except (ValueError, KeyError, TypeError, RuntimeError, AttributeError, SafetensorError) as err:
        raise ValueError(f"{folder}: the saved model is damaged ({err}); save or train it again") from err

"""A trained model with its vocabulary, written and read again."""

from __future__ import annotations

import json
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
from icrlib.names import METHODS, NotHandedOver, from_file, handed

FORM = {
    "type": "object",
    "required": ["method", "options", "words", "sha256"],
    "properties": {
        "method": {"type": "string"},
        "options": {"type": "object"},
        "sha256": {"type": "string"},
        "words": {"type": "array", "items": {"type": "string"}},
    },
}


def save_model(model: RetrievalModel, method: str, folder: str | Path) -> Path:
    """Write ``model.safetensors`` and ``model.json`` (method, options, vocabulary) to ``folder``."""
    folder = Path(folder)
    weights = save_tensors({name: value.detach().cpu().contiguous() for name, value in model.state_dict().items()})
    about = {
        "method": method,
        "options": model.options,
        "words": model.vocabulary.words,
        "sha256": sha256_of(weights),
    }
    write_bytes(folder / "model.safetensors", weights)
    write_bytes(folder / "model.json", json.dumps(about, ensure_ascii=False).encode())
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
    for name in ("model.json", "model.safetensors"):
        if not (folder / name).is_file():
            raise FileNotFoundError(
                f"{folder}: no {name} here; a folder written by Run.save holds both files of a model"
            )
    try:
        about = parsing.of_json(folder / "model.json", FORM, "model.json")
        content = (folder / "model.safetensors").read_bytes()
        if sha256_of(content) != about["sha256"]:
            raise ValueError("its checksum does not match")
        options, words = dict(about["options"]), Vocabulary(about["words"])
        tensors, noted = load_tensors(content), about["method"]
    except (ValueError, KeyError, TypeError, SafetensorError) as err:
        raise ValueError(f"{folder}: the saved model is damaged ({err}); save or train it again") from err
    method = handed(folder, "method", noted, method, METHODS)
    if "teacher" in options:
        options["teacher"] = handed(folder, "teacher", options["teacher"], teacher, [*TEACHERS, *HELD])
    if "backbone" in options:
        options["backbone"] = handed(folder, "backbone", options["backbone"], backbone, backbones.NAMES)
        options["network"] = backbones.load(options["backbone"]).network
    try:
        with from_file(folder, {method, backbone, teacher} - {None}):
            model = build(method, **options)
        model.load_state_dict(tensors)
    except NotHandedOver:
        raise
    except (ValueError, KeyError, TypeError, RuntimeError, AttributeError) as err:
        raise ValueError(f"{folder}: the saved model is damaged ({err}); save or train it again") from err
    if model.vocabulary is None and options.get("words", len(words)) != len(words):
        raise ValueError(
            f"{folder}: the saved model is damaged (it was made for {options['words']!r} words and lists "
            f"{len(words)}); save or train it again"
        )
    model.vocabulary = model.vocabulary or words  # a model that reads whole sentences has its own
    return model.eval()

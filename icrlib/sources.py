"""Which code a run used: a hash over the sources that can change its numbers."""

from __future__ import annotations

import ast
import inspect
from functools import cache
from pathlib import Path

from icrlib.files import sha256_of

PACKAGE = Path(__file__).parent
# The parts of the library that every run uses; _sources adds those of its data, method and loss. A change elsewhere
# cannot change its numbers.
COMMON = ("config.py", "training.py", "sampling.py", "evaluation.py", "metrics.py", "cocos.py", "scores.py",
          "data/splits.py", "data/text.py", "models/base.py", "losses/base.py", "losses/triplet.py")  # fmt: skip
METHODS = {"vse++": ("models/vse.py", "models/gru.py"), "bow": ("models/bow.py",)}
FEATURES = ("data/precomputed.py",)
PICTURES = ("data/photos.py", "data/crops.py", "data/backbones.py", "data/pictures.py", "models/on_pictures.py")


def code_hash(dataset: str, method: str, loss: str, images: str = "features") -> str:
    """SHA-256 over the sources that such a run uses, as they were when this process first asked.

    Comments, docstrings and layout do not count. A loss from outside the library counts with its own source, or with
    its name where no source is at hand. ``images``: ``data.options["images"]``, where pictures take part in training.
    """
    from icrlib import losses

    kind = type(losses.by_name(loss))
    inside, outside = _hash(_sources(dataset, method, kind, images)), _outside(kind)
    return sha256_of(inside, *outside) if outside else inside


def _sources(dataset: str, method: str, kind: type, images: str = "features") -> tuple[Path, ...]:
    """Files of the library that a run with a loss of this class uses."""
    if dataset == "scenes":
        data = [f"data/scenes/{path.name}" for path in (PACKAGE / "data" / "scenes").glob("*.py")]
    else:
        data = PICTURES if images == "published" else FEATURES
    own = [f"{base.__module__.removeprefix('icrlib.').replace('.', '/')}.py"
           for base in kind.__mro__ if base.__module__.startswith("icrlib.losses.")]  # fmt: skip
    return tuple(sorted({PACKAGE / name for name in (*COMMON, *METHODS.get(method, ()), *own, *data)}))


def _outside(kind: type) -> list[str]:
    if kind.__module__.startswith("icrlib."):
        return []
    try:
        return [inspect.getsource(kind)]
    except (OSError, TypeError):
        return [f"{kind.__module__}.{kind.__qualname__}"]


@cache
def _hash(files: tuple[Path, ...]) -> str:
    named = ((file.relative_to(PACKAGE).as_posix(), meaning(file.read_text("utf-8"))) for file in files)
    return sha256_of(*(part for pair in named for part in pair))


def meaning(source: str) -> str:
    """What a Python source does, as text: its syntax tree without docstrings, the same in all versions of Python."""
    return repr(_plain(ast.parse(source)))


def _plain(node: object) -> object:
    if isinstance(node, list):
        return [_plain(item) for item in node]
    if not isinstance(node, ast.AST):
        return node
    fields = dict(ast.iter_fields(node))
    if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node) is not None:
        fields["body"] = fields["body"][1:]
    # Empty fields come and go between versions.
    return type(node).__name__, [(name, _plain(value)) for name, value in fields.items() if value not in ([], None)]

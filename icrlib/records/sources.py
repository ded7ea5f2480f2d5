"""Which code a run used: the sources that can change its numbers, each with a hash of what it does."""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from icrlib.files import sha256_of
from icrlib.names import is_own
from icrlib.records.folder import PACKAGE

# Reading, writing, progress, messages, reports and the reading of settings change no number: what settings come to is
# in the record itself, and so are the hashes of the data. An __init__.py holds no code (tests/test_house.py).
OUTSIDE = (
    "devices",
    "errors",
    "files",
    "names",
    "progress",
    "reading",
    "records",
    "data.cache",
    "data.karpathy",
    "data.load",
    "losses.build",
    "models.build",
    "training.checkpoints",
    "training.config",
    "training.outcome",
    "training.probe",
    "training.run",
    "training.settings",
)


def sources_of(*parts: str) -> dict[str, str]:
    """``{"models/vse.py": "ab12…", …}``: every file of the library that the ``parts`` import, directly or not.

    ``parts``: modules of the library ("icrlib.models.vse"), or a caller's own classes ("package.module:Name"), which
    count with their own source, or with their name where none is at hand. Imports are read from the syntax tree, those
    inside of functions too. Comments, docstrings and layout do not count.
    """
    files = closure(part for part in parts if not is_own(part))
    found = {path.relative_to(PACKAGE).as_posix(): _hash(path) for path in sorted(files)}
    return found | {part: _own_hash(part) for part in parts if is_own(part)}


def place_of(kind: type) -> str:
    """What :func:`sources_of` wants to know of a class: its module if that is the library's, else module and name."""
    inside = kind.__module__.startswith("icrlib.")
    return kind.__module__ if inside else f"{kind.__module__}:{kind.__qualname__.rpartition('.')[2]}"


def now(name: str) -> str | None:
    """The present hash of a file that a record lists; None where it is gone."""
    if is_own(name):
        return _own_hash(name)
    path = PACKAGE / name
    return _hash(path) if path.is_file() else None


def closure(modules: Iterable[str]) -> set[Path]:
    """Files of the library that these modules use."""
    waiting, found = [m for m in modules if m.split(".")[0] == "icrlib"], set()
    while waiting:
        module = waiting.pop()
        inside = module.removeprefix("icrlib.")
        if any(inside == name or inside.startswith(f"{name}.") for name in OUTSIDE):
            continue
        path = _file(module)
        if path is None or path in found:
            continue
        found.add(path)
        waiting += _imports(path)
    return found


@cache
def _imports(path: Path) -> tuple[str, ...]:
    """Modules of the library that a file imports, but for type checkers' sake."""
    tree = ast.parse(path.read_text("utf-8"))
    typing = [node for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)]
    skipped = {id(inner) for node in typing for inner in ast.walk(node)}
    found = []
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return tuple(name for name in found if name.startswith("icrlib.") and _file(name))


def _file(module: str) -> Path | None:
    """The file of a module; None for a package, whose __init__.py holds no code, and for what is no module."""
    path = PACKAGE.parent.joinpath(*module.split(".")).with_suffix(".py")
    return path if path.is_file() else None


@cache
def _hash(path: Path) -> str:
    return sha256_of(meaning(path.read_text("utf-8")))[:16]


def _own_hash(place: str) -> str:
    module, _, name = place.partition(":")
    try:
        kind = getattr(sys.modules.get(module) or importlib.import_module(module), name)
        text = "\n".join(inspect.getsource(base) for base in kind.__mro__ if not _library(base))
    except (OSError, TypeError, AttributeError, ImportError):
        text = place
    return sha256_of(text)[:16]


def _library(kind: type) -> bool:
    return kind.__module__.split(".")[0] in ("icrlib", "torch", "builtins", "abc", "typing")


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

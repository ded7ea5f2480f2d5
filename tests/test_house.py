"""The house (DESIGN, "The house"): arrows point one way, there is no circle, packages hold no code of their own."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import icrlib

PACKAGE = Path(icrlib.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))

# Which rooms a room may look into, beside itself and the first ones, which look into few. A room that is not listed may
# look into the first ones only.
FIRST = dict.fromkeys(("parsing", "errors", "files", "progress", "score_checks"), "")
FIRST |= {"names": "errors", "devices": "errors"}
MAY = FIRST | {
    "sampling": "data",
    "cocos": "losses",
    "evaluation": "data models metrics",
    "judged": "data models metrics evaluation",
    "auxiliary": "losses data",
    "paper": "losses",
    "experiments": "data paper records training",
    "widgets": "plots",
    "toy": "widgets",
    "training": "data models losses metrics auxiliary cocos evaluation sampling records",
    "probes": "data models evaluation",
    "search": "data models evaluation training",
    "parameters": "training",
    "chapter": "data experiments parameters plots records training",
    "cli": "chapter data experiments losses models paper parameters records search training",
    "__main__": "cli",
}


def may(room: str) -> set[str]:
    return {room, "__init__", *MAY.get(room, "").split(), *(() if room in FIRST else FIRST)}


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path) -> set[Path]:
    """Files of the library that a file imports, at its top or inside of a function, or for a type checker's sake."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names] + [node.module]
        for name in names:
            parts = name.split(".")
            if parts[0] == "icrlib":
                at = PACKAGE.joinpath(*parts[1:])
                found |= {target for target in (at.with_suffix(".py"), at / "__init__.py") if target.is_file()}
    return found


CODE = [path for path in FILES if path.name != "__init__.py"]


@pytest.mark.parametrize("path", CODE, ids=lambda p: p.relative_to(PACKAGE).as_posix())
def test_arrows_point_one_way(path):
    wrong = {room(target) for target in imports(path)} - may(room(path))
    assert not wrong, f"{path.relative_to(PACKAGE)} looks into {', '.join(sorted(wrong))}"


def test_there_is_no_circle():
    """Not between files, those inside of functions included, and not between rooms."""
    files: dict[str, set[str]] = {}
    rooms: dict[str, set[str]] = {}
    for path in CODE:
        others = {target for target in imports(path) if target.name != "__init__.py"}
        files[path.relative_to(PACKAGE).as_posix()] = {target.relative_to(PACKAGE).as_posix() for target in others}
        rooms.setdefault(room(path), set()).update({room(target) for target in others} - {room(path)})
    for graph in (files, rooms):
        TopologicalSorter(graph).prepare()  # CycleError names the circle


@pytest.mark.parametrize("path", [p for p in FILES if p.name == "__init__.py"], ids=lambda p: p.parent.name)
def test_a_package_holds_no_code(path):
    """Docstring, imports and __all__: a reader looks for code in files that are named for it."""
    for node in ast.parse(path.read_text("utf-8")).body:
        text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        # Imports that wait until they are asked for are a table of names, too.
        tables = ("__all__ = ", "__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, ")
        listed = text or isinstance(node, (ast.Import, ast.ImportFrom)) or ast.unparse(node).startswith(tables)
        assert listed, f"{path}: {ast.unparse(node)[:80]}"


@pytest.mark.parametrize("path", CODE, ids=lambda p: p.relative_to(PACKAGE).as_posix())
def test_code_imports_from_where_things_are_defined(path):
    """Never a class or function through a package: so a reader finds the file behind a name."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "icrlib":
            folder = PACKAGE.joinpath(*node.module.split(".")[1:])
            if folder.is_dir():
                for alias in node.names:
                    module = (folder / f"{alias.name}.py").is_file() or (folder / alias.name / "__init__.py").is_file()
                    assert module, f"{path.relative_to(PACKAGE)}: from {node.module} import {alias.name}"


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.relative_to(PACKAGE).as_posix())
def test_files_can_be_held_in_the_head(path):
    assert len(path.read_text("utf-8").splitlines()) <= 400


# Lines of Python, which are part of the design (DESIGN section 1): lowered as rooms shrink, never raised in silence.
LINES = {"icrlib": 16_500, "tests": 14_500, "book": 12_700, "scripts": 1_220, "benchmarks": 390}


@pytest.mark.parametrize("folder", LINES)
def test_the_house_is_no_larger_than_it_was(folder):
    files = (PACKAGE.parent / folder).rglob("*.py")
    assert sum(len(path.read_text("utf-8").splitlines()) for path in files) <= LINES[folder]

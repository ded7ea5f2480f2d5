"""The house (DESIGN, "The house"): arrows point one way, there is no circle, packages hold no code of their own."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import icrlib

PACKAGE = Path(icrlib.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))

# Which rooms a room may look into, beside itself. A room that is not listed may look into none.
BASE = {"parsing", "errors", "files", "names", "progress", "devices", "score_checks"}
MAY = {
    "errors": set(),
    "files": set(),
    "names": {"errors"},
    "progress": set(),
    "devices": {"errors"},
    "score_checks": set(),
    "data": BASE,
    "models": BASE,
    "losses": BASE,
    "metrics": BASE,
    "agreement": BASE,
    "sampling": BASE | {"data"},
    "cocos": BASE | {"losses"},
    "evaluation": BASE | {"data", "models", "metrics"},
    "judged": BASE | {"data", "models", "metrics", "evaluation"},
    "auxiliary": BASE | {"losses", "data"},
    "records": BASE,
    "paper": BASE | {"losses"},
    "experiments": BASE | {"data", "paper", "records", "training"},
    "plots": BASE,
    "widgets": BASE | {"plots"},
    "toy": {"widgets"},
    "training": BASE
    | {"data", "models", "losses", "metrics", "auxiliary", "cocos", "evaluation", "sampling", "records"},
    "probes": BASE | {"data", "models", "evaluation"},
    "search": BASE | {"data", "models", "evaluation", "training", "sampling", "losses", "cocos"},
    "parameters": BASE | {"training"},
    "chapter": BASE | {"data", "experiments", "parameters", "plots", "records", "training"},
    "cli": BASE
    | {
        "chapter",
        "data",
        "experiments",
        "losses",
        "models",
        "paper",
        "parameters",
        "records",
        "search",
        "training",
    },
    "__main__": {"cli"},
}


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
                for target in (
                    PACKAGE.joinpath(*parts[1:]).with_suffix(".py"),
                    PACKAGE.joinpath(*parts[1:], "__init__.py"),
                ):
                    if target.is_file():
                        found.add(target)
    return found


CODE = [path for path in FILES if path.name != "__init__.py"]


@pytest.mark.parametrize("path", CODE, ids=lambda p: p.relative_to(PACKAGE).as_posix())
def test_arrows_point_one_way(path):
    wrong = {room(target) for target in imports(path)} - {room(path)} - MAY.get(room(path), set()) - {"__init__"}
    assert not wrong, f"{path.relative_to(PACKAGE)} looks into {', '.join(sorted(wrong))}"


def assert_no_circle(graph: dict[str, set[str]]) -> None:
    try:
        tuple(TopologicalSorter(graph).static_order())
    except CycleError as err:
        pytest.fail(f"a circle: {' -> '.join(err.args[1])}")


def test_there_is_no_circle():
    """Not between files, those inside of functions included, and not between rooms."""
    files: dict[str, set[str]] = {}
    rooms: dict[str, set[str]] = {}
    for path in CODE:
        others = {target for target in imports(path) if target.name != "__init__.py"}
        files[path.relative_to(PACKAGE).as_posix()] = {target.relative_to(PACKAGE).as_posix() for target in others}
        rooms.setdefault(room(path), set()).update({room(target) for target in others} - {room(path)})
    assert_no_circle(files)
    assert_no_circle(rooms)


@pytest.mark.parametrize("path", [p for p in FILES if p.name == "__init__.py"], ids=lambda p: p.parent.name)
def test_a_package_holds_no_code(path):
    """Docstring, imports and __all__: a reader looks for code in files that are named for it."""
    for node in ast.parse(path.read_text("utf-8")).body:
        listed = isinstance(node, ast.Assign) and [ast.unparse(t) for t in node.targets] == ["__all__"]
        text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        # Imports that wait until they are asked for are a table of names, too.
        listed |= isinstance(node, ast.Assign) and ast.unparse(node.value).startswith("lazy_loader.attach(__name__, ")
        assert listed or text or isinstance(node, (ast.Import, ast.ImportFrom)), f"{path}: {ast.unparse(node)[:80]}"


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


def test_importing_the_library_imports_no_method_loss_or_auxiliary_by_name():
    """Registries hold places, so that nothing is imported before somebody asks for it."""
    from icrlib.names import AUXILIARIES, LOSSES, METHODS

    for registry in (METHODS, LOSSES, AUXILIARIES):
        assert all(isinstance(place, (str, type)) for place in registry.data.values())
        for name in registry:
            assert registry[name].__name__


# Lines of Python, which are part of the design (DESIGN section 1): lowered as rooms shrink, never raised in silence.
LINES = {"icrlib": 18_040, "tests": 16_800, "book": 12_590, "scripts": 1_220, "benchmarks": 390}


@pytest.mark.parametrize("folder", LINES)
def test_the_house_is_no_larger_than_it_was(folder):
    files = (PACKAGE.parent / folder).rglob("*.py")
    assert sum(len(path.read_text("utf-8").splitlines()) for path in files) <= LINES[folder]

"""A method or a data set is named in its own file, in a registry, and in lists of what was printed or is to be run."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import icrlib
from icrlib.data.load import DATASETS
from icrlib.names import METHODS

PACKAGE = Path(icrlib.__file__).parent
ROOMS = ("paper", "evidence")  # what was printed, and lists of the book's own runs
# Where a method or a data set is at home. A method publishes settings for a data set of its paper.
AT_HOME = {
    "names.py": set(METHODS),
    "data/load.py": set(DATASETS),
    "data/karpathy.py": set(DATASETS),
    "data/scenes": {"scenes", "rendered", "stamps"},
    "models/cmn.py": {"scenes"},
    "models/vsrn.py": {"coco", "flickr30k"},
}
OTHERWISE = {
    ("data/making.py", "sentence"): "a column of captions",
    ("data/backbones.py", "scenes"): "the name of a network",
}


def named(path: Path) -> set[str]:
    """Methods and data sets that a file has as strings of its own; docstrings and messages are sentences."""
    strings = {n.value for n in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(n, ast.Constant)}
    return strings & {*METHODS, *DATASETS}


def places() -> list[Path]:
    files = (path.relative_to(PACKAGE) for path in sorted(PACKAGE.rglob("*.py")))
    return [path for path in files if path.parts[0] not in ROOMS]


@pytest.mark.parametrize("path", places(), ids=Path.as_posix)
def test_nobody_else_names_a_method_or_a_data_set(path):
    home = set().union(*(names for place, names in AT_HOME.items() if path.as_posix().startswith(place)))
    found = {name for name in named(PACKAGE / path) - home if (path.as_posix(), name) not in OTHERWISE}
    assert not found, f"{path} names {', '.join(sorted(found))}: make it an attribute of the class or of the data set"


def test_the_check_sees_names(tmp_path):
    text = tmp_path / "plan.py"
    text.write_text(
        'TAKES = {"vsrn": 2}\nif data == "stamps":\n    """Of vse++."""\n    print("take method=\'ltd\'")\n'
    )
    assert named(text) == {"vsrn", "stamps"}
    assert all(named(PACKAGE / file) >= {name} for file, name in OTHERWISE)

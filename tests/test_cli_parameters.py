"""The parameters of a notebook: as papermill, which takes seconds to import, finds them."""

import json
from pathlib import Path

import papermill
import pytest

from icrlib.cli.parameters import declared

BOOK = Path(__file__).resolve().parents[1] / "book"


@pytest.mark.parametrize("path", sorted(BOOK.rglob("*.ipynb")), ids=lambda path: path.stem)
def test_they_are_what_papermill_finds(path):
    theirs = {
        name: (about["default"], about["inferred_type_name"].strip("'\" ").replace("None", ""), about["help"])
        for name, about in papermill.inspect_notebook(str(path)).items()
    }
    assert {name: tuple(about.values()) for name, about in declared(path).items()} == theirs


def test_what_is_no_parameter_and_no_notebook(tmp_path):
    def written(*cells):
        path = tmp_path / "a.ipynb"
        path.write_text(json.dumps({"cells": cells}))
        return path

    tagged = {
        "metadata": {"tags": ["parameters"]},
        "source": ["x: int = 3  # how many\n", "y = 'ü' # so\n", "print(1)"],
    }
    assert declared(written({"source": ["z = 1"]}, tagged)) == {
        "x": {"default": "3", "type": "int", "help": "how many"},
        "y": {"default": "'ü'", "type": "", "help": "so"},
    }
    assert declared(written({"source": ["z = 1"]})) == {}
    with pytest.raises(ValueError, match="a.ipynb: its cell of parameters is no Python"):
        declared(written(tagged | {"source": ["x ="]}))
    (tmp_path / "b.ipynb").write_text("[]")
    with pytest.raises(ValueError, match="b.ipynb"):
        declared(tmp_path / "b.ipynb")

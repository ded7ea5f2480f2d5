"""The parameters of a notebook: as papermill, which takes seconds to import, finds them."""

import json
from pathlib import Path

import papermill
import pytest

from icrlib.cli import runs
from icrlib.cli.settings import meaning
from icrlib.losses.build import kind_of
from icrlib.names import LOSSES, METHODS
from icrlib.parameters import declared
from icrlib.training.options import options_for
from tests.test_cli import icr

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


def test_a_value_without_a_type_may_be_anything():
    """A notebook that says neither type nor value; one whose default is computed; too long a number."""
    for default in ("None", "compute()"):
        found = {"lr": {"default": default, "type": "", "help": ""}}
        assert runs.parse(("lr=0.5",), found, "page.ipynb") == {"lr": 0.5}
    with pytest.raises(ValueError, match="a whole number of 50 digits"):
        runs.parse(("lr=" + "9" * 50,), found, "page.ipynb")
    with pytest.raises(ValueError, match="not of type float"):
        runs.parse(("lr=NaN",), {"lr": {"default": "0.1", "type": "float", "help": ""}}, "page.ipynb")


def test_notebooks_that_no_program_can_run(tmp_path):
    place = tmp_path / "a.ipynb"
    for cell in (
        {"source": ""},
        {"source": "", "cell_type": "song"},
        {"source": "", "cell_type": "code", "outputs": 3},
    ):
        about = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}}
        place.write_text(json.dumps(about | {"cells": [cell]}))
        result = icr("run", place, tmp_path / "out.ipynb")
        assert result.exit_code == 1 and f"Error: {place}: " in result.output, result.output


def test_braces_in_a_name_are_braces(tmp_path):
    from papermill.parameterize import parameterize_path

    assert parameterize_path(runs.as_it_is(tmp_path / "{a} {}.ipynb"), {"a": 1}) == str(tmp_path / "{a} {}.ipynb")


@pytest.mark.parametrize("method", METHODS)
def test_options_of_models_are_explained(method):
    for name in options_for(method, "ntxent").owners["model"]:
        assert not meaning(METHODS.find(method), name).startswith("option of"), (method, name)


@pytest.mark.parametrize("loss", LOSSES)
def test_options_of_losses_are_explained(loss):
    for name in options_for("bow", loss).owners["loss"]:
        assert not meaning(kind_of(loss)[0], name).startswith("option of"), (loss, name)


def test_the_explanation_is_the_docstring_s():
    assert meaning(LOSSES.find("triplet"), "margin") == "margin: α, 0.2 in VSE++ and ECIR (option of Triplet)"
    assert "how many a word has on its way in (option of VSE)" in meaning(METHODS.find("vse++"), "word_dim")

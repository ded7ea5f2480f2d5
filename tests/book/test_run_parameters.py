"""The parameters cell of book/reproduce/run: generated from the settings, and only a part of what papermill may set."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import papermill
import pytest

from icrlib import chapter
from icrlib.training.settings import SETTINGS

PAGE = Path(__file__).resolve().parents[2] / "book" / "reproduce" / "run.ipynb"


def test_the_cell_says_what_the_settings_say():
    (cell,) = [c for c in nbformat.read(PAGE, as_version=4).cells if "parameters" in c.metadata.get("tags", [])]
    lines = cell.source.splitlines()
    told = {name: line for line in lines if (name := re.match(r"\w+", line)[0]) in SETTINGS}
    about = {name: SETTINGS[name].metadata for name in told}
    assert told == {name: f"{name}: {a['kind'].__name__} = None  # {a['help']}" for name, a in about.items()}
    assert {"updates", "lr", "precision", "device"} <= set(told)
    assert set(papermill.inspect_notebook(str(PAGE))) >= {*told, "dataset", "method", "loss", "seed", "data_seed"}


def test_every_setting_is_of_one_group():
    from dataclasses import fields

    from icrlib.training.settings import GROUPS

    names = [f.name for group in GROUPS for f in fields(group)]
    assert len(names) == len(set(names)) == len(SETTINGS)


def test_settings_are_taken_by_name():
    """What a notebook's globals hold and a run takes; None, and what no run takes, is left."""
    names = {"drop_words": 0.1, "lr": None, "embed_dim": 8, "tau": None, "loss_margin": 0.3, "json": 1, "scale": [1]}
    assert chapter.settings(names, "bow", "triplet") == {"drop_words": 0.1, "embed_dim": 8, "loss_margin": 0.3}


@pytest.mark.parametrize(("loss", "name"), [("triplet", "tau"), ("ntxent", "margin"), ("ntxent", "word_dim")])
def test_an_option_of_another_loss_or_model_is_refused_as_the_library_does(loss, name):
    """papermill asks nobody: it would train with the default and say nothing."""
    with pytest.raises(ValueError, match=f"unknown option '{name}'"):
        chapter.settings({name: 0.05 if name == "tau" else 4, "lr": None}, "bow", loss)


@pytest.mark.process
@pytest.mark.slow
def test_any_setting_reaches_the_run(tmp_path):
    """drop_words is not in the cell; word_dim is an option of the model."""
    given = {"smoke": True, "drop_words": 0.1, "word_dim": 5}
    papermill.execute_notebook(str(PAGE), str(tmp_path / "out.ipynb"), given, kernel_name="python3", progress_bar=False)
    text = (tmp_path / "out.ipynb").read_text()
    assert '\\"drop_words\\": 0.1' in text and '\\"word_dim\\": 5' in text

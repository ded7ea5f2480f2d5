"""The parameters cell of book/reproduce/run: generated from the settings, and only a part of what papermill may set."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import nbformat
import papermill
import pytest

from icrlib import chapter
from icrlib.losses import LOSSES
from icrlib.names import METHODS
from icrlib.training.settings import GROUPS, SETTINGS

PAGE = Path(__file__).resolve().parents[2] / "book" / "reproduce" / "run.ipynb"


def test_the_cell_says_what_the_settings_say():
    (cell,) = [c for c in nbformat.read(PAGE, as_version=4).cells if "parameters" in c.metadata.get("tags", [])]
    declared = {name: line for line in cell.source.splitlines() if (name := re.match(r"\w+", line)[0]) in SETTINGS}
    about = {name: SETTINGS[name].metadata for name in declared}
    assert declared == {name: f"{name}: {a['kind'].__name__} = None  # {a['help']}" for name, a in about.items()}
    assert {"updates", "lr", "precision", "device"} <= set(declared)
    assert set(papermill.inspect_notebook(str(PAGE))) >= {*declared, "dataset", "method", "loss", "seed", "data_seed"}
    names = [f.name for group in GROUPS for f in fields(group)]
    assert len(names) == len(set(names)) == len(SETTINGS)  # every setting is of one group


def test_the_page_names_every_loss_and_method():
    text = PAGE.with_suffix(".py").read_text("utf-8").split("# ## The data")[0]
    assert {*LOSSES, *METHODS} <= set(re.findall(r"[\w+]+", text))


def test_settings_are_taken_by_name():
    """What a notebook's globals hold and a run takes; None, and what no run takes, is left."""
    names = {"drop_words": 0.1, "lr": None, "embed_dim": 8, "tau": None, "loss_margin": 0.3, "json": 1, "scale": [1]}
    assert chapter.settings(names, "bow", "triplet") == {"drop_words": 0.1, "embed_dim": 8, "loss_margin": 0.3}


@pytest.mark.parametrize(("loss", "name"), [("triplet", "tau"), ("ntxent", "margin"), ("ntxent", "word_dim")])
def test_an_option_of_another_loss_or_model_is_refused_as_the_library_does(loss, name):
    """papermill asks nobody: it would train with the default and say nothing."""
    with pytest.raises(ValueError, match=name):
        chapter.settings({name: 4, "lr": None}, "bow", loss)

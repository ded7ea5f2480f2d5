"""Texts are no truths: papermill hands over "false", and that is not True; nor is a number a path."""

from __future__ import annotations

from pathlib import Path

import papermill
import pytest

import icrlib
from icrlib import chapter

RUN = Path(__file__).resolve().parents[1] / "book" / "reproduce" / "run.ipynb"


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda tiny: icrlib.train(tiny, smoke="false"), "smoke"),
        (lambda tiny: icrlib.train(tiny, loss="siglip", learn_tau="false"), "learn_tau"),
        (lambda tiny: icrlib.train(tiny, "sentence", caption_norm=0), "caption_norm"),
        (lambda tiny: icrlib.load_dataset("scenes", regions="false"), "regions"),
    ],
)
def test_a_switch_is_true_or_false(tiny, call, what):
    with pytest.raises(ValueError, match=f"{what} must be True or False"):
        call(tiny)


def declared(**names):
    return {"__annotations__": {"smoke": bool, "out": str, "tau": float, "seed": int}, **names}


def test_parameters_are_read_as_they_are_declared():
    names = declared(smoke="false", out=7, tau=1, seed=None)
    chapter.parameters(names)
    assert names == declared(smoke=False, out="7", tau=1, seed=None)
    for wrong in ({"smoke": "perhaps"}, {"smoke": 1}, {"tau": "much"}, {"seed": 1.5}, {"seed": True}):
        with pytest.raises(ValueError, match=f"parameter {next(iter(wrong))}"):
            chapter.parameters(declared(**wrong))


def test_what_a_notebook_holds_is_of_its_kind(monkeypatch):
    monkeypatch.delenv("ICR_SMOKE", raising=False)
    assert [chapter.start(given) for given in ("false", "true", True)] == [False, True, True]
    found = chapter.settings({"learn_tau": "false", "updates": "30", "objective": "con"}, "vse++", "siglip")
    assert found == {"learn_tau": False, "updates": 30, "objective": "con"}
    found = chapter.data_options({"min_count": "2", "vocabulary": "all"}, "flickr8k")
    assert found == {"min_count": 2, "vocabulary": "all"}


@pytest.mark.slow
def test_papermill_s_texts_are_read(tmp_path):
    """As its command line hands them over: `-p smoke true -p regions false -p out 7`. drop_words and word_dim are not
    in the parameters cell: any setting and any option of the model reaches the run."""
    given = {"smoke": "true", "regions": "false", "out": 7, "learn_tau": "false", "drop_words": 0.1, "word_dim": 5}
    papermill.execute_notebook(
        RUN, tmp_path / "out.ipynb", given, kernel_name="python3", cwd=tmp_path, progress_bar=False, start_timeout=3600
    )
    config = icrlib.records.load(tmp_path / "7" / "record.json")["config"]
    assert config["smoke"] is True and config["data_options"]["regions"] is False and config["learn_tau"] is False
    assert config["drop_words"] == 0.1 and config["model_options"]["word_dim"] == 5

"""A study as one object: what a made-up one lists, has, lacks and types; and that nobody else knows a study's name."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import icrlib
from icrlib.planning import asked
from icrlib.records import files, write
from icrlib.studies import Register, Run, Unfinished, lists, studies, study

ROOT = Path(icrlib.__file__).parents[1]
LOSSES = ("ntxent", "triplet")


@pytest.fixture
def book(tmp_path, monkeypatch):
    """Two studies of one's own: a search, and what waits for it; no record is there."""
    lists()
    monkeypatch.setattr(files, "root", lambda: tmp_path)
    monkeypatch.setattr(studies, "_known", dict(studies._known))

    @study(needs="features")
    def my_tuning():
        for loss in LOSSES:
            yield Run("my_tuning", "flickr8k", "bow", loss, 100, "lr0.1", {"lr": 0.1})

    @study(search="my_tuning", wanted=2, needs="features", apart={("bow", "smoothap"): "my_smoothap"})
    def mine():
        """Is mine ``better``?

        More about it.
        """
        for seed in range(2):
            for loss in LOSSES:
                yield Run("mine", "flickr8k", "bow", loss, seed, "", {"lr": 0.1, "updates": 12})

    @study(needs="features")
    def my_smoothap():
        yield Run("mine", "flickr8k", "bow", "smoothap", 0)

    return tmp_path


def finish(run: Run) -> None:
    """As much of a record as a list looks at."""
    config = {"dataset": run.dataset, "method": run.method, "loss": run.loss, "seed": run.seed}
    chosen = {"update": 1, "val_rsum": 1.0}
    write({"schema": 2, "config": config, "identity": "0", "history": [], "chosen": chosen}, run.path)


def test_a_study_of_ones_own_from_the_list_to_the_command(book):
    one = studies["mine"]
    assert one.question == "Is mine better?"
    with pytest.raises(Unfinished, match="2 runs of the search are missing; make records STUDY=my_tuning first"):
        one.runs()
    for run in studies["my_tuning"].missing():
        finish(run)
    assert not studies["my_tuning"].missing() and [run.seed for run in one.runs()] == [0, 0, 1, 1]
    first = one.runs()[0]
    assert first.path == book / "studies/mine/flickr8k/bow/ntxent/seed0.json" and not first.done
    assert first.folder == "studies/mine/flickr8k/bow/ntxent/seed0"
    config, _ = first.configuration()
    assert config == asked.configuration("flickr8k", "bow", "ntxent", given={"lr": 0.1, "updates": 12})[0]
    assert first.identity != Run("mine", "flickr8k", "bow", "ntxent", 0, settings={"lr": 0.2}).identity
    for run in one.missing(["ntxent"]):
        finish(run)
    assert [run.loss for run in one.missing()] == ["triplet", "triplet"] and first.done
    assert [record["config"]["seed"] for record in one.records(loss="ntxent")] == [0, 1]
    assert one.complete("bow", "ntxent") and not one.complete("bow", "triplet")
    assert studies["my_tuning"].complete("bow", "triplet")


def test_a_command_for_each_list_that_is_needed(book):
    def typed(*names):
        return tuple(f"make records STUDY={name} FEATURES=folder" for name in names)

    one = studies["mine"]
    assert one.command(["ntxent"], "bow") == one.command() == typed("my_tuning", "mine")
    assert one.command(["ntxent"], "bow", search=False) == typed("mine")
    assert one.command(["smoothap"], "bow") == typed("my_smoothap")
    assert one.command(["smoothap", "ntxent"], "bow") == typed("my_tuning", "mine", "my_smoothap")
    assert one.command(["smoothap"], "vse++") == typed("my_tuning", "mine")  # nothing is apart for that model


def test_a_search_comes_before_what_waits_for_it(book):
    """Each list is made when its turn has come: the second one rests on what was trained of the first."""
    done = []
    for one, runs in studies["mine"].todo():
        done.append((one.name, len(runs)))
        for run in runs:
            finish(run)
    assert done == [("my_tuning", 2), ("mine", 4)] and list(studies["mine"].todo()) == []
    studies["my_tuning"].runs()[0].path.unlink()
    waiting = studies["mine"].todo()
    assert next(waiting)[0].name == "my_tuning"
    with pytest.raises(Unfinished):
        next(waiting)


def test_what_a_study_leaves_out_is_not_missing(book):
    @study(leaves_out=lambda run: run.seed == 1)
    def my_hopeless():
        yield from (Run("my_hopeless", "scenes", "bow", "ntxent", seed) for seed in range(3))

    assert [run.seed for run in my_hopeless.missing()] == [0, 2]


def test_names_are_known_once_and_an_unknown_one_says_what_is_meant(book):
    with pytest.raises(ValueError, match="unknown study 'mien'.*Did you mean 'mine'"):
        studies["mien"]
    with pytest.raises(ValueError, match="'mine' is declared twice"):
        study()(studies["mine"].plan)
    assert "mine" in studies and "mien" not in studies and isinstance(studies, Register)


def test_a_run_is_the_same_run_in_a_notebook():
    run = Run("mine", "scenes", "bow", "ntxent", 3, "x", {"lr": 0.1}, {"seed": 3, "train": 60})
    named = {"dataset": "scenes", "method": "bow", "loss": "ntxent", "seed": 3}
    assert run.parameters == named | {"train": 60, "lr": 0.1}
    other = Run("mine", "scenes", "bow", "ntxent", 3, "x", {}, {"seed": 4})
    assert other.parameters == named | {"data_seed": 4}
    assert run.on(None, "cuda").parameters["device"] == "cuda" and "features" not in run.on(None).data


# Words that are more than a study's name: of papers, methods, modules and measures.
EVERYBODYS = {"ecir", "goal", "ltd", "vsrn", "album", "reading", "beyond", "few", "half", "sizes", "batches", "twice"}
EVERYBODYS |= {"tuned", "tuning", "clipping", "false_negatives"}


def test_only_lists_chapters_and_tests_know_a_study_by_name():
    names = set(studies) - EVERYBODYS
    assert len(names) > 50
    told = {}
    for path in [*(ROOT / "icrlib").rglob("*.py"), *(ROOT / "workflow").glob("*"), ROOT / "setup.py"]:
        if path.is_file() and path.suffix in ("", ".py"):
            text = path.read_text("utf-8")
            words = set(re.findall(r"STUDY=(\w+)", text)) - {"name", "NAME"} & set(studies)
            if path.suffix == ".py":
                strings = (node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant))
                words |= names & {value for value in strings if isinstance(value, str)}
            if words:
                told[path.relative_to(ROOT).as_posix()] = words
    assert told == {}

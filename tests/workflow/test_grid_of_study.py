"""make reproduce STUDY=name: a study of the book on a cluster, its search first."""

from __future__ import annotations

import pytest

import reproduce
from icrlib.records import files
from icrlib.studies import Run, lists, studies, study

from .test_job import invoke


@pytest.fixture
def book(tmp_path, monkeypatch):
    """A search and what waits for it, without a record; training is writing one, and the stages are listed."""
    monkeypatch.setattr(files, "root", lambda: tmp_path / "records")
    lists()  # so that the studies of the book are known before, and after
    monkeypatch.setattr(studies, "_known", dict(studies._known))
    small = {"seed": 0, "train": 60, "val": 20, "test": 20}

    @study()
    def my_tuning():
        yield from (Run("my_tuning", "scenes", "bow", "ntxent", 100, f"lr{lr}", {"lr": lr}, small) for lr in (0.1, 0.2))

    @study(search="my_tuning")
    def mine():
        yield Run("mine", "scenes", "bow", "ntxent", 0, settings={"lr": 0.1}, data=small)

    @study(needs="features")
    def my_photos():
        yield Run("my_photos", "flickr8k", "bow", "ntxent", 0)

    stages = []

    def train(result, place, folder, flags, own, dry):
        stages.append(list(result.missing))
        for run in result.missing if train.works else ():
            files.write({"schema": 2, "config": run.configuration(), "history": []}, run.path)
        return int(not train.works)

    train.works, train.stages = True, stages
    monkeypatch.setattr(reproduce, "_train", train)
    return train


def test_a_study_is_trained_with_its_search_first(book):
    book.works = False
    assert invoke("--study", "mine").exit_code == 1 and [len(runs) for runs in book.stages] == [2]  # and no further
    book.works = True
    book.stages.clear()
    done = invoke("--study", "mine", "--profile", "local")
    assert done.exit_code == 0 and [len(runs) for runs in book.stages] == [2, 1]
    first, last = book.stages[0][0], book.stages[1][0]
    assert (first.study, last.study) == ("my_tuning", "mine") and last.folder == "studies/mine/scenes/bow/ntxent/seed0"
    assert last.parameters["train"] == 60 and last.parameters["device"] == "cpu" and "data_seed" not in last.parameters
    assert invoke("--study", "mine").exit_code == 0 and len(book.stages) == 2  # nothing is missing


def test_the_plan_of_a_study_trains_nothing_and_says_what_waits(book):
    done = invoke("--study", "mine", "--plan")
    assert done.exit_code == 0 and not book.stages
    assert "2 runs: 0 finished, 2 to train" in done.output and "which these are the search will say" in done.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--study", "mine", "--dataset", "scenes", "--seeds", "0"], "leave DATASET=, SEEDS= out"),
        (["--study", "mien"], "Did you mean 'mine'"),
        (["--study", "my_photos"], "FEATURES=folder"),
    ],
)
def test_what_a_study_says_itself_is_refused_beside_it(book, words, message):
    done = invoke(*words)
    assert done.exit_code == 1 and message in " ".join(done.output.split()) and not book.stages

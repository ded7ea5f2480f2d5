"""Studies: one of one's own from the list to the command; the book's lists against their records; what trains them."""

import os
from functools import cache

import pytest
import torch
from click.testing import CliRunner

import icrlib
import make_records
from icrlib import records
from icrlib.records import files, write
from icrlib.studies import Run, Unfinished, lists, studies, study
from icrlib.training import unread

from .experiments.made import record

STILL_TO_RUN = {"reading", "ltd_stamps", "vsrn_size_edges", "vsrn_parts_tuning", "vsrn_parts", "vsrn_own_tuning"}
STILL_TO_RUN |= {"vsrn_own", "ladder_tuning", "ladder", "ladder_parts", "quick_tuning", "quick"}
STILL_TO_RUN |= {f"photo_{name}" for name in ("smoothap_tuning", "smoothap", "vsrn_tuning", "vsrn_edges")}

# The book's lists


@cache
def planned(name):
    """The runs of a study; none where it waits for its search."""
    try:
        return studies[name].runs()
    except Unfinished as waiting:
        assert "make records STUDY=" in str(waiting)
        return []


@pytest.mark.parametrize("name", studies)
def test_runs_have_places_of_their_own_and_can_be_asked_for(name):
    """Some lists wait for a search for months, and a check that came later may not refuse what they want."""
    assert len({run.path for run in planned(name)}) == len(planned(name))
    first = {(run.method, run.loss, str(run.settings)): run for run in planned(name)}
    for run in first.values():
        unread.configuration(run.dataset, run.method, run.loss, seed=run.seed, source=run.data, given=run.settings)


def test_every_record_is_on_its_list_and_every_list_has_its_records():
    listed = {run.path for name in studies for run in planned(name)}
    kept = set((records.root() / "studies").rglob("*.json"))
    waiting = {name for name in studies if not planned(name)}
    assert kept and {path.relative_to(records.root() / "studies").parts[0] for path in kept - listed} <= waiting
    assert {name for name in studies if not all(run.done for run in planned(name))} | waiting <= STILL_TO_RUN


def test_every_record_has_the_settings_of_its_list():
    """What was given stands in it: a list that is mended later may not claim other runs than were trained."""
    done = [run for name in studies for run in planned(name) if run.path.exists()]
    for run in done:
        config = records.load(run.path)["config"]
        parts = config, config["loss_options"], config["model_options"], config["auxiliary_options"] or {}
        found = {name: [part[name] for part in parts if name in part] for name in run.settings}
        assert found == {name: [value] for name, value in run.settings.items()}, run.path
    assert len(done) > 1200


def test_a_search_may_be_asked_for_one_size_only(monkeypatch):
    def trial(lr, train, rsum):
        made = record("ntxent", 100, lr=lr, data_options={"seed": 100, "train": train})
        return made | {"chosen": {"update": 250, "val_rsum": rsum}}

    few_and_many = [
        trial(lr, train, rsum)
        for lr, train, rsum in ((1e-3, 400, 210.0), (3e-3, 400, 200.0), (1e-3, 6000, 450.0), (3e-3, 6000, 460.0))
    ]
    monkeypatch.setattr(records, "outlines", lambda study, method, loss: few_and_many)
    found = [lists().chosen("size_tuning", "vse++", "ntxent", {"train": train}) for train in (400, 6000, 1500)]
    assert found == [{"lr": 1e-3}, {"lr": 3e-3}, {}]


def test_what_a_search_held_fixed_is_chosen_with_the_rest(monkeypatch):
    """A start that all candidates of Triplet-SH shared was once left out of the runs: all of them collapsed."""

    def candidate(lr, rsum):
        made = record("triplet_sh", 100, lr=lr, warmup=200)
        made["config"]["asked"] = {"lr": lr, "warmup": 200, "embed_dim": 64, "device": "cpu"}
        return made | {"chosen": {"update": 500, "val_rsum": rsum}}

    kept = [candidate(1e-3, 100.0), candidate(3e-3, 120.0), candidate(1e-2, 110.0)]
    monkeypatch.setattr(records, "outlines", lambda study, method, loss: kept)
    assert lists().chosen("made_up", "vse++", "triplet_sh") == {"lr": 3e-3, "warmup": 200, "embed_dim": 64}


# One of one's own


@pytest.fixture
def book(tmp_path, monkeypatch):
    """Two studies of one's own: a search, and what waits for it; no record is there."""
    lists()
    monkeypatch.setattr(files, "root", lambda: tmp_path)
    monkeypatch.setattr(studies, "_known", dict(studies._known))

    @study(needs="features")
    def my_tuning():
        for loss in ("ntxent", "triplet"):
            yield Run("my_tuning", "flickr8k", "bow", loss, 100, "lr0.1", {"lr": 0.1})

    @study(search="my_tuning", wanted=2, needs="features")
    def mine():
        """Is mine ``better``?

        More about it.
        """
        for seed in range(2):
            for loss in ("ntxent", "triplet"):
                yield Run("mine", "flickr8k", "bow", loss, seed, "", {"lr": 0.1, "updates": 12})

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
    given = {"lr": 0.1, "updates": 12}
    assert first.configuration() == unread.configuration("flickr8k", "bow", "ntxent", given=given)[0]
    assert first.identity != Run("mine", "flickr8k", "bow", "ntxent", 0, settings={"lr": 0.2}).identity
    for run in one.missing(["ntxent"]):
        finish(run)
    assert [run.loss for run in one.missing()] == ["triplet", "triplet"] and first.done
    assert [record["config"]["seed"] for record in one.records(loss="ntxent")] == [0, 1]
    typed = tuple(f"make records STUDY={name} FEATURES=folder" for name in ("my_tuning", "mine"))
    assert one.command(["ntxent"], "bow") == one.command() == typed and one.command(search=False) == typed[1:]
    assert one.complete("bow", "ntxent") and not one.complete("bow", "triplet")
    assert studies["my_tuning"].complete("bow", "triplet")


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
    assert "mine" in studies and "mien" not in studies


# What trains them


def noted(run, features):
    """Stands for a training, in another process: which one, and with how many threads."""
    (features / f"{run.loss}-{run.seed}").write_text(f"{os.getpid()} {torch.get_num_threads()}")


@pytest.mark.process
def test_several_at_a_time_each_in_a_process_and_a_thread_of_its_own(monkeypatch, tmp_path):
    monkeypatch.setattr(make_records, "train", noted)
    runs = studies["clipping"].runs()[:3]
    make_records.train_all(runs, tmp_path, jobs=2)
    notes = {path.name: path.read_text().split() for path in tmp_path.iterdir()}
    assert set(notes) == {f"{run.loss}-{run.seed}" for run in runs} and len(notes) == 3
    processes = {process for process, _ in notes.values()}
    assert len(processes) == 3 and str(os.getpid()) not in processes
    assert {threads for _, threads in notes.values()} == {"1"}


def test_a_run_killed_just_before_its_record_gets_it(tmp_path, monkeypatch):
    """Its folder says finished, so that it is not trained again; the record is written from there, byte for byte."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(files, "root", lambda: tmp_path / "records")
    small = {"embed_dim": 8, "word_dim": 8, "updates": 4, "batch_size": 16, "evaluate_every": 2}
    run = Run("any", "scenes", "vse++", "triplet", 0, "", small, {"train": 32, "val": 16, "test": 16})
    make_records.train(run, None)
    before = run.path.read_bytes()
    run.path.unlink()
    monkeypatch.setattr(icrlib.training.run.loop, "fit", None)  # must not be needed
    make_records.train(run, None)
    assert run.path.read_bytes() == before


def test_the_command_lists_studies_and_plans_one(monkeypatch):
    everything = CliRunner().invoke(make_records.main, []).output
    assert all(f"{name} " in everything for name in studies) and "Everything as the data set's defaults" in everything
    monkeypatch.setattr(Run, "path", property(lambda run: records.root() / "nowhere" / run.tag))

    def missing(*losses):
        words = [word for loss in losses for word in ("--loss", loss)]
        return int(CliRunner().invoke(make_records.main, ["reading", "--plan", *words]).output.split()[1])

    assert 0 < missing("smoothap") < missing("smoothap", "ntxent") < missing()
    wrong = CliRunner().invoke(make_records.main, ["reading", "--plan", "--loss", "smothap"])
    assert wrong.exit_code == 1 and "smothap" in wrong.output
    assert CliRunner().invoke(make_records.main, ["--plan"]).exit_code == 2

"""The lists of the studies, and the command that trains them."""

import os
from collections import Counter
from functools import cache
from itertools import product
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner

import icrlib
import make_records
import reproduce
from icrlib import records
from icrlib.planning import asked, cost
from icrlib.records import files
from icrlib.studies import Run, Study, Unfinished, lists, studies

from .evidence.made import record

STILL_TO_RUN = {"reading", "ltd_stamps", "vsrn_size_edges", "vsrn_parts_tuning", "vsrn_parts"}
STILL_TO_RUN |= {
    "vsrn_own_tuning",
    "vsrn_own",
    "ladder_tuning",
    "ladder",
    "ladder_parts",
    "quick_tuning",
    "quick",
}
STILL_TO_RUN |= {f"photo_{name}" for name in ("smoothap_tuning", "smoothap", "vsrn_tuning", "vsrn_edges")}


@cache
def planned(name):
    """The runs of a study; None where it waits for its search."""
    try:
        return studies[name].runs()
    except Unfinished as waiting:
        assert "make records STUDY=" in str(waiting)
        return None


@pytest.mark.parametrize("name", studies)
def test_each_run_has_a_place_of_its_own(name):
    runs = planned(name) or []
    assert len({run.path for run in runs}) == len(runs)


def test_every_record_of_a_study_is_on_its_list():
    listed = {run.path for name in studies for run in planned(name) or []}
    waiting = {name for name in studies if planned(name) is None}
    there = {
        path
        for path in (records.root() / "studies").rglob("*.json")
        if path.parts[len((records.root() / "studies").parts)] not in waiting
    }
    assert there and there <= listed


def test_the_other_studies_have_every_run():
    lacking = {name for name in studies if not planned(name) or not all(run.path.exists() for run in planned(name))}
    assert lacking <= STILL_TO_RUN


def test_every_record_has_the_settings_of_its_list():
    """What was given stands in it: a list that is mended later may not claim other runs than were trained."""
    there = [run for name in studies for run in planned(name) or [] if run.path.exists()]
    for run in there:
        config = records.load(run.path)["config"]
        parts = config, config["loss_options"], config["model_options"], config["auxiliary_options"] or {}
        found = {name: [part[name] for part in parts if name in part] for name in run.settings}
        assert found == {name: [value] for name, value in run.settings.items()}, run.path
    assert len(there) > 1200


@pytest.mark.parametrize("name", studies)
def test_every_run_of_a_list_can_be_asked_for(name):
    """Some lists wait for a search for months, and a check that came later may not refuse what they want."""
    first = {(run.method, run.loss, str(run.settings)): run for run in planned(name) or []}
    for run in first.values():
        asked.configuration(run.dataset, run.method, run.loss, seed=run.seed, source=run.data, given=run.settings)


@pytest.fixture
def nothing_made(monkeypatch):
    monkeypatch.setattr(Run, "path", property(lambda run: records.root() / "nowhere" / run.tag))


def test_a_plan_says_what_it_cannot_count(monkeypatch, nothing_made):
    monkeypatch.setattr(cost, "estimate", lambda wanted, known, sizes: None)
    said = CliRunner().invoke(make_records.main, ["clipping", "--plan"]).output
    assert said == (
        "clipping: 20 runs are missing, about 0.0 core-hours as past records suggest; "
        "20 are like no past record and not counted\n"
    )


def test_only_some_losses(nothing_made):
    def missing(*more):
        said = CliRunner().invoke(make_records.main, ["reading", "--plan", *more])
        assert said.exit_code == 0 and said.output.startswith("reading: ")
        return int(said.output.split()[1])

    assert 0 < missing("--loss", "smoothap") < missing("--loss", "smoothap", "--loss", "ntxent") < missing()
    wrong = CliRunner().invoke(make_records.main, ["reading", "--plan", "--loss", "smothap"])
    assert wrong.exit_code == 1 and "no runs with smothap" in wrong.output and "smoothap" in wrong.output


def test_a_study_waits_for_its_search(nothing_made):
    with pytest.raises(Unfinished, match="runs of the search are missing; make records STUDY=goal_tuning"):
        studies["goal"].runs()


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


def test_the_ladder_has_each_system_on_captions_of_both_kinds(monkeypatch):
    ladder = lists("ladder")
    tried = Counter(run.tag.rsplit("-lr", 1)[0] for run in ladder.ladder_tuning.runs())
    assert tried == dict.fromkeys(ladder.SYSTEMS, 12)
    monkeypatch.setattr(ladder, "rate", lambda name: 3e-3)
    monkeypatch.setattr(ladder, "quick_rate", lambda: 1e-2)
    rows = Counter(run.tag for run in ladder.ladder.plan())
    systems = (*ladder.KNOWN, *ladder.SYSTEMS, "maxima")
    assert rows == {f"{name}-{phrasing}": 5 for name in systems for phrasing in ("plain", "apart")}
    parts = {run.tag: run for run in ladder.ladder_parts.plan()}
    assert parts["foils-apart"].settings["negatives"] == parts["maxima-foils-apart"].settings["negatives"] == "foils"
    assert parts["norelation-plain"].settings["relation"] == "none" and len(parts) == 8


def test_ecir_s_losses_are_asked_again_where_the_baseline_reads(monkeypatch):
    """On ten draws each loss with its published constant, and with its own where that is another one."""
    ladder = lists("ladder")
    asked = {"ntxent": 27, "smoothap": 27, "triplet": 27, "triplet_sh": 54}  # its start with all negatives, too
    tried = Counter(run.loss for run in ladder.quick_tuning.runs())
    assert tried == {loss: runs + 3 for loss, runs in asked.items()}, "and one rate higher"

    def chosen(study, method, loss, **fixed):
        ((name, values),) = ladder.CONSTANTS[loss].items()
        return {name: fixed[name] if fixed else values[0 if loss == "ntxent" else 1]}

    monkeypatch.setattr(ladder, "chosen", chosen)
    made = [(run.loss, run.tag, *run.settings.values()) for run in ladder.quick.plan() if run.seed == 9]
    assert sorted(made) == [
        ("ntxent", "published", 0.1),
        ("smoothap", "own", 0.03),
        ("smoothap", "published", 0.01),
        ("triplet", "own", 0.1),
        ("triplet", "published", 0.2),
        ("triplet_sh", "own", 0.1),
        ("triplet_sh", "published", 0.2),
    ]


def noted(run, features):
    """Stands for a training, in another process: which one, and with how many threads."""
    (features / f"{run.loss}-{run.seed}").write_text(f"{os.getpid()} {torch.get_num_threads()}")


@pytest.mark.process
def test_several_at_a_time_each_in_a_process_and_a_thread_of_its_own(monkeypatch, tmp_path):
    monkeypatch.setattr(make_records, "train", noted)
    runs = studies["clipping"].runs()[:3]
    make_records.train_all(runs, tmp_path, jobs=2)
    told = {path.name: path.read_text().split() for path in tmp_path.iterdir()}
    assert set(told) == {f"{run.loss}-{run.seed}" for run in runs} and len(told) == 3
    processes = {process for process, _ in told.values()}
    assert len(processes) == 3 and str(os.getpid()) not in processes
    assert {threads for _, threads in told.values()} == {"1"}


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


def test_photos_get_another_constant_only_where_it_was_better(monkeypatch):
    """Made-up search: a larger margin is better for Triplet on the bag of words, and nothing else is."""
    monkeypatch.setattr(Study, "ready", lambda one: None)
    monkeypatch.setattr(lists().flickr8k, "chosen", lambda *a, **k: {"lr": 0.003})
    listed = studies["photo_constants"].runs()
    assert ("vse++", "smoothap") not in {(run.method, run.loss) for run in listed} and len(listed) == 19

    def fake(study, method, loss):
        if study == "photo_tuning":
            return [{"path": "published", "chosen": {"val_rsum": 300.0}}]
        better = ("bow", "triplet", 0.4)
        return [
            {
                "path": str(run.path),
                "config": {"loss_options": run.settings},
                "chosen": {
                    "val_rsum": 310.0 if (run.method, run.loss, run.settings.get("margin")) == better else 299.0
                },
            }
            for run in listed
            if (run.method, run.loss) == (method, loss)
        ]

    monkeypatch.setattr(lists().flickr8k.records, "outlines", fake)
    made = studies["photo_own"].runs()
    assert [(run.method, run.loss, run.seed, run.settings["margin"]) for run in made] == [
        ("bow", "triplet", seed, 0.4) for seed in range(3)
    ]


def test_settings_on_photos_are_each_losss_own(monkeypatch):
    """Rate, word dropout and start by the search; the book's runs and TUNED=1 take the same."""
    searched = [
        record(loss, 100, drawn=False, lr=lr, drop_words=drop, warmup=warmup)
        | {"chosen": {"update": 250, "val_rsum": 250.0 if (lr, drop, warmup) == best else 200.0}}
        for loss, best in (("ntxent", (3e-3, 0.4, 0)), ("triplet_sh", (1e-3, 0.0, 600)))
        for lr, drop, warmup in product((1e-3, 3e-3), (0.0, 0.4), (0, 600))
    ]
    monkeypatch.setattr(
        records,
        "outlines",
        lambda study, method, loss: [
            r for r in searched if (study, method, loss) == ("photo_tuning", r["config"]["method"], r["config"]["loss"])
        ],
    )
    waited = []
    monkeypatch.setattr(Study, "ready", lambda one: waited.append(one.name))
    assert reproduce.tuned_settings("flickr8k", "vse++", "ntxent") == {"lr": 3e-3, "drop_words": 0.4, "warmup": 0}
    assert reproduce.tuned_settings("flickr8k", "vse++", "triplet_sh") == {"lr": 1e-3, "drop_words": 0.0, "warmup": 600}
    assert reproduce.tuned_settings("flickr8k", "vse++", "smoothap") == {}  # none made up here
    assert waited == ["photo_tuning", "photo_tuning", "photo_smoothap_tuning"]
    assert {lists().search_of("scenes", "bow", loss) for loss in lists().ECIR} == {("tuning", "tuning")}
    assert lists().search_of("flickr8k", "bow", "smoothap") == ("photo_tuning", "photo_tuning")
    assert lists().search_of("flickr8k", "vse++", "smoothap") == ("photo_smoothap_tuning", "photo_tuning")
    runs = {(run.method, run.loss): run.settings for run in studies["photo_runs"].runs()}
    own = {"lr": 3e-3, "drop_words": 0.4, "warmup": 0}
    assert runs["vse++", "ntxent"] == {"embed_dim": 256, "updates": lists().PHOTO_UPDATES} | own


def test_what_a_search_has_left_open_is_left_out_and_named(monkeypatch, tmp_path, capsys):
    """VSRN on photos takes hours: a loss whose search is finished need not wait for the others'."""
    runs = studies["photo_vsrn_tuning"].runs()
    ended = {run.tag for run in runs if run.loss == "ntxent"} - {runs[0].tag}
    losses = {"ntxent"}
    monkeypatch.setattr(
        Run,
        "path",
        property(lambda run: Path(__file__) if run.loss in losses and run.tag in ended else tmp_path / "none"),
    )
    monkeypatch.setattr(lists().flickr8k, "chosen", lambda *a, **k: {"lr": 0.003})
    with pytest.raises(Unfinished, match=f"{len(runs) - 3} runs of the search are missing"):
        studies["photo_vsrn"].runs()
    ended |= {runs[0].tag}
    assert [(run.loss, run.seed) for run in studies["photo_vsrn"].runs()] == [("ntxent", seed) for seed in range(3)]
    assert "triplet_sh, triplet, smoothap; make records STUDY=photo_vsrn_tuning first" in capsys.readouterr().err
    losses |= {"smoothap"}  # last, so that its first seed may be its only one
    assert [(run.loss, run.seed) for run in studies["photo_vsrn"].runs()] == [
        *(("ntxent", seed) for seed in range(3)),
        *(("smoothap", seed) for seed in range(3)),
    ]


def test_beyond_the_edge_one_setting_is_moved_at_a_time(monkeypatch):
    best = {"lr": 3e-3, "drop_words": 0.4}
    monkeypatch.setattr(lists().flickr8k, "searched", lambda *a: ["ntxent"])
    monkeypatch.setattr(lists().flickr8k, "chosen", lambda *a, **k: best)
    found = [run.settings for run in studies["photo_vsrn_edges"].runs()]
    moved = [{name for name in best if run[name] != best[name]} for run in found]
    assert moved == [{"lr"}, {"drop_words"}]
    assert found[0]["lr"] > 3e-3 and found[1]["drop_words"] > 0.4


def test_without_a_study_all_are_listed():
    done = CliRunner().invoke(make_records.main, [])
    lines = {line.split()[0]: line for line in done.output.splitlines() if " records  " in line}
    assert done.exit_code == 0 and list(lines) == list(studies)
    assert " 80 records  Everything as the data set's defaults" in lines["ecir"]
    assert all(len(line.split("records  ")[1]) > 15 for line in lines.values())
    for words in (["--plan"], ["--loss", "ntxent"], ["--features", "."]):
        done = CliRunner().invoke(make_records.main, words)
        assert done.exit_code == 2 and "about one study; name it" in done.output

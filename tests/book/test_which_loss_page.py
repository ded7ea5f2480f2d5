"""What the decision page says, with the records of today and with all; the command line takes what it names."""

from __future__ import annotations

import copy
import itertools
import re

import pytest

from icrlib import parameters, records
from icrlib.cli.runs import parse
from icrlib.evidence import decision
from icrlib.evidence.decision.commands import missing
from icrlib.studies import Study, lists, studies
from record_files import one, real
from which_loss_runs import (
    BOOK,
    COST,
    LOSSES,
    NOTEBOOK,
    decide,
    of_sentences,
    run,
    sizes,
    without_runs,
)


@pytest.fixture
def made(monkeypatch):
    return without_runs(monkeypatch)


# What the page says.


def test_runs_of_a_list_apart_are_asked_of_that_list(made, monkeypatch):
    real = records.find
    monkeypatch.setattr(
        records,
        "find",
        lambda folder=None, *, study=None, **wanted: [] if study == "photo_runs" else real(study=study, **wanted),
    )
    wanted = {commands: places["photos 6000"] for commands, places in missing(decide(), "photos 6000").items()}
    apart = tuple(f"make records STUDY=photo_smoothap{of} FEATURES=folder" for of in ("_tuning", ""))
    assert list(wanted[apart]) == [("vse++", "smoothap")]


def test_every_command_about_missing_runs_names_a_list(made):
    found = decide()
    typed = set(re.findall(r"STUDY=(\w+)", decision.list_missing(found, *found.runs)))
    assert typed <= set(studies) and len(typed) > 10
    makefile = (BOOK.parent / "Makefile").read_text()
    assert re.search(r"^records:", makefile, re.M)


def test_every_run_that_the_page_waits_for_is_on_its_list(made, monkeypatch):
    """The lists with searches that are finished: the page's studies, models, losses, sizes and numbers of runs."""
    monkeypatch.setattr(Study, "ready", lambda one: None)
    monkeypatch.setattr(lists().flickr8k, "searched", lambda study, losses: list(losses))
    for module in (lists().decision, lists().flickr8k, lists().regions):
        monkeypatch.setattr(module, "chosen", lambda *a, **k: {"lr": 1e-2})
    found = decide()
    for (_situation, model, loss), row in found.place.items():
        name = row.study.apart.get((model, loss), row.study.name)
        listed = [
            r
            for r in studies[name].runs()
            if (r.method, r.loss) == (model, loss)
            and all((r.data | r.settings)[key] == value for key, value in row.only.items())
        ]
        seeds = sorted(r.seed for r in listed)
        assert seeds[: row.wanted] == list(range(row.wanted)), (name, model, loss)
        assert all(row.study.name in r.path.parts for r in listed)


def test_the_commands_give_the_settings_of_the_runs(made):
    """What is typed for whatever might be recommended: taken by the command line, and the runs' own settings."""
    found, declared = decide(), parameters.declared(NOTEBOOK)
    for situation in ("scenes 1500", "photos 6000"):
        for system in found.ready(situation):
            text = decision.command(found, situation, system)
            start, *given = text.split(" -p ")
            assert start == "icr run book/reproduce/run.ipynb"
            values = parse(tuple(given), declared, NOTEBOOK)
            config = found.runs[situation][system][0]["config"]
            known = config | config["loss_options"] | config["model_options"]
            assert values.pop("dataset") == config["dataset"] and values.pop("features", "FOLDER") == "FOLDER"
            assert values.pop("train", None) == config["data_options"].get("train")
            assert all(known[name] == value for name, value in values.items()) and values["method"] == system[0]
            assert (config["warmup"] or None) == values.get("warmup")
            assert (config["drop_words"] or None) == values.get("drop_words") and values["lr"] == config["lr"]


def test_commands_for_other_sizes_ask_for_them(made):
    sizes(made, rsum={("vsrn", loss): 360.0 for loss in LOSSES})
    found, declared = decide(), parameters.declared(NOTEBOOK)
    for system, regions in ((("vsrn", "dcl"), True), (("bow", "dcl"), None)):
        values = parse(tuple(decision.command(found, "scenes 400", system).split(" -p ")[1:]), declared, NOTEBOOK)
        assert values | {"lr": 0.003, "updates": 3000, "tau": 0.1, "train": 400} == values
        assert (values["dataset"], values["method"], values["loss"]) == ("scenes", *system)
        assert values.get("regions") == regions


def everything(made):
    """All that the page waits for, from today's records: another study's runs under the names that are wanted."""
    for train in (400, 6000):
        sizes(made, train=train, rsum={("vsrn", loss): 360.0 for loss in LOSSES})
    sizes(made, train=1500, rsum={("vsrn", loss): 470.0 for loss in LOSSES}, models=("vsrn",), seeds=10)
    for study, made_as in (("vsrn", "sizes"), ("vsrn_tuning", "size_tuning")):
        made[study] = [r for r in made[made_as] if r["config"]["data_options"]["train"] == 1500]
    made["twice"] = [*real("twice"), *(run("vse++", "smoothap", seed, 380.0, updates=6000) for seed in range(5))]
    for record in made["twice"][-5:]:
        record["config"] |= {"drops": [3000], "evaluate_every": 500, "lr": 0.01}
        record["config"]["data_hash"] = record["data_hash"] = next(
            r["data_hash"] for r in real("ecir") if r["config"]["seed"] == record["config"]["seed"]
        )
    for size, loss, seed in itertools.product((32, 512), ("ntxent", "triplet_sh"), range(3)):
        own = "tuned" if loss == "triplet_sh" else "ecir"  # NT-Xent's published temperature is the best
        base = one(own, method="vse++", loss=loss, seed=seed)
        options, more = base["config"]["loss_options"], (40 if size == 512 else -40) + seed / 10
        record = run("vse++", loss, seed, base["test"]["rsum"] + more, batch_size=size, loss_options=options)
        record["data_hash"] = record["config"]["data_hash"] = base["data_hash"]
        record["config"]["model_options"] = base["config"]["model_options"]
        made["batches"].append(record)
        if seed == 0:
            made["batch_tuning"] += [
                run("vse++", loss, 100, 1.0, lr=lr, val=400 - lr, batch_size=size, loss_options=options)
                for lr in (0.003, 0.01)
            ]
    for record in made["sizes"]:
        c = record["config"]
        if (c["method"], c["data_options"]["train"]) == ("vse++", 400) and c["loss"] in ("ntxent", "triplet_sh"):
            twin = copy.deepcopy(record) | {"config": c | {"positives": "image"}}
            twin["test"]["rsum"] += 12 + c["seed"] / 10
            made["false_negatives"].append(twin)
    photos(made)
    lengths(made)


def lengths(made):
    """Schedules of 1,200 updates on photos, which are better than the usual one for the bag of words with Triplet."""
    for loss, better in (("triplet", 10), ("ntxent", -10)):
        usual = max(
            (r for r in real("photo_tuning") if (r["config"]["method"], r["config"]["loss"]) == ("bow", loss)),
            key=lambda r: r["chosen"]["val_rsum"],
        )
        schedule = {"updates": 1200, "evaluate_every": 100, "drops": [600]}
        short = copy.deepcopy(usual) | {"config": usual["config"] | schedule}
        short["chosen"] |= {"val_rsum": usual["chosen"]["val_rsum"] + better}
        made["photo_short"].append(short)
        made["photo_length"] += [
            r | {"config": r["config"] | schedule}
            for r in made["photo_runs"]
            if better > 0 and (r["config"]["method"], r["config"]["loss"]) == ("bow", loss)
        ]


def shorter(made, model, loss, updates, better, seeds=3):
    """Runs of 400 scenes with a schedule of their own, and the search that found it better or worse than the usual."""
    schedule = {"updates": updates, "evaluate_every": updates // 12, "drops": [updates // 2]}
    usual = max(
        (r for r in made["size_tuning"] if (r["config"]["method"], r["config"]["loss"]) == (model, loss)),
        key=lambda r: r["chosen"]["val_rsum"],
    )
    other = {"updates": 2100 - updates, "evaluate_every": 1, "drops": [1050 - updates // 2]}
    for length, lr, gain in ((other, 0.003, better - 30), (schedule, 0.003, better), (schedule, 0.01, better - 20)):
        found = copy.deepcopy(usual) | {"config": usual["config"] | length | {"lr": lr}}
        found["chosen"]["val_rsum"] = usual["chosen"]["val_rsum"] + gain
        made["few_tuning"].append(found)
    for r in [r for r in made["sizes"] if (r["config"]["method"], r["config"]["loss"]) == (model, loss)][:seeds]:
        short = copy.deepcopy(r) | {"config": r["config"] | schedule | {"lr": 0.003}}
        short["test"]["rsum"] += 30
        made["few"].append(short)


def test_with_400_scenes_a_loss_has_the_length_that_was_best_for_it(made):
    sizes(made, train=400)
    shorter(made, "vsrn", "triplet_sh", 600, better=25)
    shorter(made, "bow", "dcl", 1500, better=-5, seeds=2)  # not whole: does not count
    found = decide()
    assert found.place["scenes 400", "vsrn", "triplet_sh"].study.name == "few"
    usual = {
        row.study.name
        for (where, *system), row in found.place.items()
        if where == "scenes 400" and system != ["vsrn", "triplet_sh"]
    }
    assert usual == {"sizes", "vsrn_sizes"}
    chosen = found.chosen("scenes 400", "vsrn", "triplet_sh")
    assert (chosen["updates"], chosen["drops"], chosen["lr"]) == (600, [300], 0.003)
    assert found.chosen("scenes 400", "bow", "triplet")["updates"] == 3000
    lead = found.versus("scenes 400", ("vsrn", "triplet_sh"), ("bow", "triplet"))
    assert lead.word == "holds" and 28 < lead.difference.mean < 32
    assert found.seconds("scenes 400", ("vsrn", "triplet_sh")) == pytest.approx(COST["vsrn"] * 600 / 3000)
    assert found.answer("scenes 400").system == ("vsrn", "triplet_sh")


def photos(made):
    """400 photos, and photos as regions, and what is lacking of SmoothAP: runs on photos under other names."""
    runs = {
        (r["config"]["method"], r["config"]["seed"]): r for r in real("photo_runs") if r["config"]["loss"] == "ntxent"
    }
    made["photo_runs"], made["photo_tuning"] = list(real("photo_runs")), list(real("photo_tuning"))
    wanted = [
        ("photo_small_own", method, loss, "few")
        for method in ("bow", "vse++")
        for loss in LOSSES[1:4]
        if (method, loss) != ("vse++", "smoothap")
    ]
    wanted += [("photo_vsrn", "vsrn", loss, "regions") for loss in LOSSES[:4]]
    wanted += [("photo_runs", "vse++", "smoothap", "")]
    for (study, method, loss, data), seed in itertools.product(wanted, range(3)):
        record = copy.deepcopy(runs["vse++" if method == "vsrn" else method, seed])
        record["data_hash"] = record["config"]["data_hash"] = data or record["data_hash"]
        record["config"] |= {"method": method, "loss": loss, "drop_words": 0.0, "lr": 0.001}
        record["log"] = [[*row[:-1], row[-1] + len(method + loss)] for row in record["log"]]  # not the same run
        made[study].append(record)
        if seed == 0:
            search = made[
                {"photo_runs": "photo_tuning", "photo_small_own": "photo_small_edges"}.get(study, f"{study}_tuning")
            ]
            search += [
                record
                | {
                    "config": record["config"] | {"seed": 100, "lr": lr},
                    "chosen": {"update": record["chosen"]["update"], "val_rsum": 300 - lr},
                }
                for lr in (0.001, 0.003)
            ]
    like = [runs["bow", seed] for seed in range(3)]
    for study, row in itertools.product(("photo_ltd", "photo_few_sentences"), ("fixed", "tuned")):
        of_sentences(made, study, like, row, None)
    for record in made["photo_few_sentences"]:
        record["data_hash"] = record["config"]["data_hash"] = "few"


def test_a_loss_without_its_own_search_is_searched_first(made):
    """VSRN's losses on photos are searched one by one: that one has its runs says nothing of the others."""
    photos(made)
    for study in ("photo_vsrn", "photo_vsrn_tuning"):
        made[study] = [r for r in made[study] if r["config"]["loss"] == "ntxent"]
    runs, search = (f"`make records STUDY=photo_vsrn{of} FEATURES=folder`" for of in ("", "_tuning"))
    said = decision.list_missing(decide(), "regions 6000")
    assert said.endswith(f"0 of 9 runs. {search}, then {runs}") and said.count("\n") == 0
    made["photo_vsrn"].pop()
    assert f"(VSRN with NT-Xent): 2 of 3 runs. {runs}" in decision.list_missing(decide(), "regions 6000")

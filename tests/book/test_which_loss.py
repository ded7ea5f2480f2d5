"""The decision page, which is read from records: as they are, with none, with some, with all; made up.

And what it says to type: that the command line takes it, and that it gives the settings of the runs.
"""

from __future__ import annotations

import copy
import itertools
import math
import re
from functools import cache
from pathlib import Path

import jupytext
import numpy as np
import papermill
import pytest
from scipy import stats

import chapter_cells
import icrlib
import studies
from icrlib import records
from icrlib.cli.runs import parse
from studies import flickr8k

BOOK = Path(__file__).parents[2] / "book"
SCRIPT, NOTEBOOK = BOOK / "lessons" / "which-loss.py", BOOK / "reproduce" / "run.ipynb"
LOSSES = ("triplet", "triplet_sh", "ntxent", "smoothap", "dcl")
MODELS = ("bow", "vse++", "vsrn")
COST = {"bow": 10.0, "vse++": 40.0, "vsrn": 200.0}  # seconds of 3,000 updates
NOT_YET = ("sizes", "size_tuning", "vsrn", "vsrn_tuning", "batches", "batch_tuning", "false_negatives",
           "photo_small", "photo_small_tuning", "photo_vsrn", "photo_vsrn_tuning")  # fmt: skip
find = records.find


@cache
def real(study):
    return find(study=study)


@pytest.fixture
def made(monkeypatch):
    """Studies by name: those that are not trained yet without runs; a study that is not named has the book's own."""
    studies = {name: [] for name in NOT_YET}

    def fake(folder=None, *, study=None, **wanted):
        found = studies[study] if study in studies else real(study)
        return [r for r in found if all(r["config"].get(key) == value for key, value in wanted.items())]

    monkeypatch.setattr(records, "find", fake)
    monkeypatch.setenv("ICR_SMOKE", "1")
    return studies


def cells():
    return [c.source for c in jupytext.read(SCRIPT).cells if c.cell_type == "code"]


def section(last="Answer = namedtuple", wanted=()):
    """What the cells define from the imports to the one with ``last``, and those that define what is ``wanted``."""
    source = cells()
    begin = next(k for k, cell in enumerate(source) if "from icrlib import chapter" in cell)
    end = next(k for k, cell in enumerate(source) if last in cell)
    names = {"smoke": False}
    for k, cell in enumerate(source):
        if begin <= k <= end or any(f"def {name}(" in cell or f"{name} = " in cell for name in wanted):
            exec(cell, names)
    names["plt"].close("all")
    return names


WORDS = ("def told(", ("TITLES", "commands", "lacks", "to_be_run", "by_model", "KINDS", "advice", "settings_of",
                       "command"))  # fmt: skip


def words():
    """The functions that write the page's tables and commands, too."""
    return section(*WORDS)


def run(model, loss, seed, rsum, *, val=400.0, seconds=None, updates=3000, train=1500, lr=0.003, **config):
    """A real record of a draw with another model, loss and result written into it."""
    record = copy.deepcopy(next(r for r in real("ecir") if r["config"]["loss"] == ("ntxent" if loss == "dcl" else loss)
                                and r["config"]["method"] == "vse++" and r["config"]["seed"] == seed % 10))  # fmt: skip
    c = record["config"]
    c |= {"method": model, "loss": loss, "seed": seed, "lr": lr, "updates": updates, "data_seed": seed} | config
    c["data_options"] = c["data_options"] | {"seed": seed, "train": train, "regions": model == "vsrn"}
    c["data_hash"] = record["data_hash"] = f"{train} {seed} {model == 'vsrn'}"
    c["model_options"] = {"embed_dim": 128} | ({} if model == "bow" else {"word_dim": 64})
    if loss == "dcl":
        c["loss_options"] = c["loss_options"] | {"denominator": "negatives"}
    record["test"]["rsum"], record["chosen"]["val_rsum"] = float(rsum), val
    record["wall_seconds"] = (COST[model] if seconds is None else seconds) * updates / 3000
    return record


def sizes(made, train=400, rsum=None, models=MODELS, losses=LOSSES, seeds=3, seconds=None):
    """Runs at one size, with known means and seconds, and a search of one rate that chose what they have."""
    wobble = np.random.default_rng(train).normal(0, 0.5, (len(MODELS), len(LOSSES), 10))
    for (m, model), (k, loss) in itertools.product(enumerate(models), enumerate(losses)):
        base = (rsum or {}).get((model, loss), 300.0)
        slow = (seconds or {}).get((model, loss))
        about = {"train": train, "seconds": slow}
        made["sizes"] += [run(model, loss, seed, base + wobble[m, k, seed] + 5 * seed, val=base, **about)
                          for seed in range(seeds)]  # fmt: skip
        made["size_tuning"] += [run(model, loss, 100, 1.0, lr=lr, val=400 - 1000 * abs(lr - 0.003), **about)
                                for lr in (0.001, 0.003, 0.01)]  # fmt: skip



# The rule.


def test_a_better_model_is_climbed_to_only_if_it_is_decidedly_ahead(made):
    sizes(made, rsum={("vse++", loss): 340.0 for loss in LOSSES})
    found = section()["answer"]("scenes 400")
    assert found.system[0] == "vse++" and [rung[0][0] for rung in found.models] == ["bow", "vse++"]
    assert all(v.n == 3 for v in found.models[0][1].values())


def test_without_a_measured_difference_the_cheaper_is_taken_and_both_costs_are_named(made):
    sizes(made)
    found = words()
    answer = found["answer"]("scenes 400")
    assert answer.system[0] == "bow" and len(answer.models) == 1
    said = found["told"]("scenes 400", answer.models)
    assert "no measured difference to VSE++" in said or "too small to matter" in said
    assert said.endswith(f"take the cheaper, {found['called'](answer.system)} (10 s)")
    for other in answer.models[0][1]:
        assert f"{found['called'](other)} (" in said and f"{found['seconds']('scenes 400', other):.0f} s)" in said


def test_a_mean_that_is_ahead_without_being_sure_moves_nobody(made):
    """+30 on the mean, from -10 to +90 over the draws."""
    sizes(made, models=("bow",))
    sizes(made, models=("vse++",))
    for record in made["sizes"]:
        if record["config"]["method"] == "vse++":
            record["test"]["rsum"] += (-10, 10, 90)[record["config"]["seed"]]
    answer = section()["answer"]("scenes 400")
    (other,) = answer.models[0][1].values()
    assert answer.system[0] == "bow" and other.word == "undecided" and other.difference.mean > 25


def test_verdicts_are_those_of_a_twin(made):
    """Paired t-tests over the draws and Holm's correction, by hand."""
    means = {("vse++", loss): 300.0 + 6 * k for k, loss in enumerate(LOSSES)}
    sizes(made, rsum=means, models=("bow", "vse++"))
    found = section()
    here, tests = found["answer"]("scenes 400").losses["vse++"][0]
    rsum = {key: [r["test"]["rsum"] for r in runs] for key, runs in found["RUNS"]["scenes 400"].items()}
    p = {s: stats.ttest_rel(rsum[s], rsum[here]) for s in tests}
    order, worst = sorted(p, key=lambda s: p[s].pvalue), 0.0
    assert here == ("vse++", "dcl")  # as cheap as the others, and the highest on validation data
    for rank, s in enumerate(order):
        worst = max(worst, min(1, (len(order) - rank) * p[s].pvalue))
        assert tests[s].adjusted == pytest.approx(worst)
        assert tests[s].difference.mean == pytest.approx(np.mean(rsum[s]) - np.mean(rsum[here]))
        assert tests[s].word == ("fails" if worst < 0.05 else "undecided")
    assert {v.word for v in tests.values()} >= {"fails"}


def test_where_it_begins_is_decided_by_cost_and_validation_and_never_by_test(made):
    sizes(made, models=("bow",), seconds={("bow", "triplet"): 9.0, ("bow", "smoothap"): 40.0})
    for record in made["sizes"]:
        record["chosen"]["val_rsum"] = {"triplet_sh": 420.0, "smoothap": 500.0}.get(record["config"]["loss"], 400.0)
        record["test"]["rsum"] += {"ntxent": 2.0}.get(record["config"]["loss"], 0.0)
    found = section()
    assert found["first"]("scenes 400", found["ready"]("scenes 400")) == ("bow", "triplet_sh")


def test_the_rule_ends_even_where_verdicts_turn_in_a_circle(made):
    sizes(made, models=("bow",), losses=LOSSES[:3])
    found = section()
    a, b, c = found["ready"]("scenes 400")
    ahead = {(b, a), (c, b), (a, c)}
    verdict = section()["paper"].verdict("x", "greater", {0: 0.0, 1: 0.0, 2: 0.1}, {0: 0.0, 1: 0.1, 2: 0.0}, own=True)
    found["paper"] = type("P", (), {"family": staticmethod(lambda tests: tests)})
    found["versus"] = lambda situation, one, other: type(verdict)(
        "holds" if (one, other) in ahead else "fails", "", 3, p=0.01)  # fmt: skip
    found["first"] = lambda situation, systems: systems[0]
    assert [rung[0] for rung in found["climb"]("scenes 400", [a, b, c])] == [a, b, c]


def test_a_time_limit_leaves_the_dear_out(made):
    sizes(made, rsum={("vsrn", loss): 400.0 for loss in LOSSES})
    answer = section()["answer"]
    assert answer("scenes 400").system[0] == "vsrn" and answer("scenes 400", 120).system[0] != "vsrn"
    assert answer("scenes 400", 1) is None


# What may be compared.


def test_half_a_group_is_neither_judged_nor_recommended(made):
    sizes(made, rsum={("vse++", loss): 390.0 for loss in LOSSES})
    made["sizes"] = [r for r in made["sizes"] if r["config"]["method"] != "vse++" or r["config"]["seed"] != 1]
    found = words()
    assert found["answer"]("scenes 400").losses.keys() == {"bow", "vsrn"}
    assert "(VSE++ with 5 losses): 10 of 15 runs. `make records STUDY=sizes`" in found["lacks"]("scenes 400")


def test_more_draws_than_were_planned_are_not_looked_at(made):
    sizes(made, seeds=7)
    found = section()["RUNS"]["scenes 400"]
    assert all([r["config"]["seed"] for r in runs] == [0, 1, 2] for runs in found.values()) and len(found) == 15


@pytest.mark.parametrize(("change", "message"), [({"updates": 1500}, "updates"), ({"batch_size": 32}, "batch_size"),
                                                 ({"lr": 0.01}, "tuning chose")])  # fmt: skip
def test_runs_that_differ_in_more_are_refused(made, change, message):
    sizes(made)
    for record in made["sizes"]:
        if record["config"]["method"] == "vsrn":
            record["config"] |= change
    with pytest.raises(ValueError, match=message):
        section()["answer"]("scenes 400")


def test_dcl_has_the_settings_that_were_searched_for_nt_xent(made):
    found = section()
    assert found["chosen"]("scenes 1500", "vse++", "dcl") == found["chosen"]("scenes 1500", "vse++", "ntxent")
    assert found["chosen"]("photos 6000", "bow", "dcl") == found["chosen"]("photos 6000", "bow", "ntxent")
    for situation, runs in found["RUNS"].items():
        for system, group in runs.items():
            wanted = found["chosen"](situation, *system)
            assert all(r["config"].get(name) == value for r in group for name, value in wanted.items())


def test_regions_of_photos_are_compared_with_nothing_but_themselves(made):
    for loss, seed in itertools.product(LOSSES[:4], range(3)):
        record = copy.deepcopy(next(r for r in real("photo_runs") if (
            r["config"]["method"], r["config"]["loss"], r["config"]["seed"]) == ("vse++", "ntxent", seed)))  # fmt: skip
        record["config"] |= {"method": "vsrn", "loss": loss, "data_hash": "regions", "lr": 0.001}
        made["photo_vsrn"].append(record | {"data_hash": "regions"})
        tried = copy.deepcopy(record)
        tried["config"]["seed"] = 100
        made["photo_vsrn_tuning"] += [tried, copy.deepcopy(tried)]
        made["photo_vsrn_tuning"][-1]["config"]["lr"] = 0.003
        made["photo_vsrn_tuning"][-1]["chosen"]["val_rsum"] -= 5
    answer = section()["answer"]
    assert set(answer("regions 6000").losses) == {"vsrn"} and "vsrn" not in answer("photos 6000").losses
    assert {v.word for v in answer("regions 6000").losses["vsrn"][0][1].values()} == {"equivalent"}


# What the page says.


def test_with_the_records_of_today_what_is_missing_has_commands(made):
    found = words()
    for situation, study in (("scenes 400", "sizes"), ("photos 400", "photo_small"), ("batch 32", "batches"),
                             ("without", "false_negatives"), ("regions 6000", "photo_vsrn")):  # fmt: skip
        said = found["to_be_run"](situation).data
        assert f"STUDY={study}" in said and "_tuning" in said and found["answer"](situation) is None
        assert ("FEATURES=folder" in said) == study.startswith("photo")
    assert found["advice"]("photos 400")[0]["start here"] == "not run yet"
    assert "<code>make records STUDY=photo_small FEATURES=folder</code>" in found["advice"]("photos 400")[0]["because"]


def test_every_command_about_missing_runs_names_a_list(made):
    found = words()
    typed = set(re.findall(r"STUDY=(\w+)", found["lacks"](*found["RUNS"])))
    assert typed <= set(studies.STUDIES) and len(typed) > 10
    makefile = (BOOK.parent / "Makefile").read_text()
    assert re.search(r"^records:", makefile, re.M)


def test_every_run_that_the_page_waits_for_is_on_its_list(made, monkeypatch):
    """The lists with searches that are finished: the page's studies, models, losses, sizes and numbers of runs."""
    monkeypatch.setattr(studies.decision, "complete", lambda study: None)
    monkeypatch.setattr(studies.flickr8k, "complete", lambda study: None)
    monkeypatch.setattr(studies.regions, "complete", lambda study: None)
    for module in (studies.decision, studies.flickr8k, studies.regions):
        monkeypatch.setattr(module, "chosen", lambda *a, **k: {})
    found = section()
    for (_situation, model, loss), row in found["PLACE"].items():
        name = found["OWN_LISTS"].get((row.study, model, loss), (0, row.study))[1]
        listed = [r for r in studies.STUDIES[name]() if (r.method, r.loss) == (model, loss)
                  and all((r.data | r.settings)[key] == value for key, value in row.only.items())]  # fmt: skip
        seeds = sorted(r.seed for r in listed)
        assert seeds[:row.wanted] == list(range(row.wanted)), (name, model, loss)
        assert all(row.study in r.path.parts for r in listed)


def test_a_full_page_recommends_one_thing_for_each_line(made):
    for train in (400, 6000):
        sizes(made, train=train, rsum={("vsrn", loss): 360.0 for loss in LOSSES})
    found = words()
    rows = [row for situation in ("scenes 400", "scenes 6000") for row in found["advice"](situation)]
    assert [row["time"] for row in rows] == ["short", "no hurry"] * 2
    assert all("<b>VSRN" in row["start here"] for row in rows[1::2])
    assert all("ahead of" in row["because"] and row["evidence"] == "3 draws; sizes" for row in rows[1::2])
    assert found["lacks"]("scenes 400", "scenes 6000") == ""
    assert found["by_model"]("scenes 400")["the rule ends at"].startswith("VSRN")


def test_budgets_that_agree_make_one_line(made):
    sizes(made)
    (row,) = words()["advice"]("scenes 400")
    assert row["time"] == "any"


def test_the_commands_give_the_settings_of_the_runs(made):
    """What is typed for whatever might be recommended: taken by the command line, and the runs' own settings."""
    found, declared = words(), papermill.inspect_notebook(str(NOTEBOOK))
    for situation in ("scenes 1500", "photos 6000"):
        for system in found["ready"](situation):
            text = found["command"](situation, system)
            start, *given = text.split(" -p ")
            assert start == "icr run book/reproduce/run.ipynb"
            values = parse(tuple(given), declared, NOTEBOOK)
            config = found["RUNS"][situation][system][0]["config"]
            known = config | config["loss_options"] | config["model_options"]
            assert values.pop("dataset") == config["dataset"] and values.pop("features", "FOLDER") == "FOLDER"
            assert all(known[name] == value for name, value in values.items()) and values["method"] == system[0]
            assert (config["warmup"] or None) == values.get("warmup")
            assert (config["drop_words"] or None) == values.get("drop_words") and values["lr"] == config["lr"]


def test_python_for_other_sizes_trains_the_same_configuration(made, monkeypatch):
    sizes(made, rsum={("vsrn", loss): 360.0 for loss in LOSSES})
    found, asked = words(), {}
    monkeypatch.setattr(icrlib, "load_dataset", lambda name, **options: asked.update(name=name, **options))
    monkeypatch.setattr(icrlib, "train", lambda data, method, loss, **given: asked.update(method=method, loss=loss) or
                        asked.update(given))  # fmt: skip
    exec(found["command"]("scenes 400", ("vsrn", "dcl")), {})
    assert asked | {"lr": 0.003, "updates": 3000, "tau": 0.1} == asked
    assert (asked["name"], asked["train"], asked["regions"], asked["method"], asked["loss"]) == (
        "scenes", 400, True, "vsrn", "dcl")  # fmt: skip
    exec(found["command"]("scenes 400", ("bow", "dcl")), {})
    assert asked["method"] == "bow"


def test_what_nothing_cheaper_surpasses():
    (source,) = [cell for cell in cells() if "def front(" in cell]
    names = {"math": math, "np": np}
    exec(source.split("points = {")[0], names)
    rng = np.random.default_rng(0)
    points = {k: (float(rng.integers(1, 9)), float(rng.integers(1, 9))) for k in range(12)}
    wanted = {k for k, (cost, value) in points.items() if not any(
        c <= cost and v >= value and (c, v) != (cost, value) for c, v in points.values())}  # fmt: skip
    kept = names["front"](points)
    assert {points[k] for k in kept} == {points[k] for k in wanted}
    assert [points[k][0] for k in kept] == sorted(points[k][0] for k in kept)


def test_without_own_captions_is_compared_with_the_same_run_with_them(made):
    sizes(made)
    for record in made["sizes"]:
        c = record["config"]
        if (c["method"], c["loss"]) in (("vse++", "ntxent"), ("vse++", "triplet_sh")):
            twin = copy.deepcopy(record)
            twin["config"]["positives"] = "image"
            twin["test"]["rsum"] += 12 + c["seed"] / 10
            made["false_negatives"].append(twin)
    found = words()
    source = next(cell for cell in cells() if "def without_false" in cell).split("cleaned = ")[0]
    exec(source, found)
    tests = found["without_false"]()
    assert {v.word for v in tests.values()} == {"holds"} and len(tests) == 2
    assert all(v.difference.mean == pytest.approx(12.1) for v in tests.values())
    made["false_negatives"][0]["config"]["lr"] = 0.01
    with pytest.raises(ValueError, match="differ"):
        found["RUNS"]["without"] = section()["RUNS"]["without"]
        found["without_false"]()


def test_batches_are_compared_at_each_size_and_with_128(made):
    for size, loss, seed in itertools.product((32, 512), ("ntxent", "triplet_sh"), range(3)):
        start = {"warmup": 500} if loss == "triplet_sh" else {}
        record = run("vse++", loss, seed, 0.0, lr=0.001, batch_size=size, **start)
        own = real("tuned" if loss == "triplet_sh" else "ecir")  # NT-Xent's published temperature is the best
        base = next(r for r in own if (r["config"]["method"], r["config"]["loss"], r["config"]["seed"]) == (
            "vse++", loss, seed))  # fmt: skip
        for name in ("data_hash", "data_options", "loss_options"):
            record["config"][name] = base["config"][name]
        record["data_hash"] = base["data_hash"]
        record["test"]["rsum"] = base["test"]["rsum"] + (40 if size == 512 else -40) + seed / 10
        made["batches"].append(record)
        tried = copy.deepcopy(record)
        tried["config"]["seed"] = 100
        worse = copy.deepcopy(tried)
        worse["config"] |= {"lr": 0.01, "warmup": 0}
        worse["chosen"]["val_rsum"] -= 50
        made["batch_tuning"] += [tried, worse] if seed == 0 else []
    found = section("def batch_changes")
    tests, table = found["batch_rows"]()
    assert list(table["batch"]) == ["32", "128", "512"] and set(tests) == {32, 128, 512}
    changes = found["batch_changes"]()
    assert {key: v.word for key, v in changes.items()} == {
        (size, loss): "holds" if size == 512 else "fails" for size, loss in itertools.product((32, 512), found["BOTH"])}
    assert changes[512, "ntxent"].difference.mean == pytest.approx(40.1)


# The whole page.


def page():
    """The chapter's names and what its cells show; at smoke scale."""
    names, shown = chapter_cells.run(SCRIPT)
    return names, "\n".join(shown)


def everything(made):
    """All that the page waits for, from today's records: another study's runs under the names that are wanted."""
    for train in (400, 6000):
        sizes(made, train=train, rsum={("vsrn", loss): 360.0 for loss in LOSSES})
    sizes(made, train=1500, rsum={("vsrn", loss): 470.0 for loss in LOSSES}, models=("vsrn",))
    made["twice"] = [*real("twice"), *(run("vse++", "smoothap", seed, 380.0, updates=6000) for seed in range(5))]
    for record in made["twice"][-5:]:
        record["config"] |= {"drops": [3000], "evaluate_every": 500, "lr": 0.01}
        record["config"]["data_hash"] = record["data_hash"] = next(
            r["data_hash"] for r in real("ecir") if r["config"]["seed"] == record["config"]["seed"])  # fmt: skip
    for size, loss, seed in itertools.product((32, 512), ("ntxent", "triplet_sh"), range(3)):
        own = real("tuned" if loss == "triplet_sh" else "ecir")
        options = next(r["config"]["loss_options"] for r in own if r["config"]["loss"] == loss)
        record = run("vse++", loss, seed, 410.0 + seed, batch_size=size, loss_options=options)
        base = next(r for r in real("ecir") if r["config"]["seed"] == seed)
        record["data_hash"] = record["config"]["data_hash"] = base["data_hash"]
        made["batches"].append(record)
        if seed == 0:
            made["batch_tuning"] += [run("vse++", loss, 100, 1.0, lr=lr, val=400 - lr, batch_size=size,
                                         loss_options=options) for lr in (0.003, 0.01)]  # fmt: skip
    for record in made["sizes"]:
        c = record["config"]
        if (c["method"], c["data_options"]["train"]) == ("vse++", 400) and c["loss"] in ("ntxent", "triplet_sh"):
            made["false_negatives"].append(record | {"config": c | {"positives": "image"}})
    photos(made)


def photos(made):
    """400 photos, and photos as regions, and what is lacking of SmoothAP: runs on photos under other names."""
    runs = {(r["config"]["method"], r["config"]["seed"]): r for r in real("photo_runs")
            if r["config"]["loss"] == "ntxent"}  # fmt: skip
    made["photo_runs"], made["photo_tuning"] = list(real("photo_runs")), list(real("photo_tuning"))
    wanted = [("photo_small", method, loss, "few") for method in ("bow", "vse++") for loss in LOSSES[1:4]]
    wanted += [("photo_vsrn", "vsrn", loss, "regions") for loss in LOSSES[:4]]
    wanted += [("photo_runs", "vse++", "smoothap", "")]
    for (study, method, loss, data), seed in itertools.product(wanted, range(3)):
        record = copy.deepcopy(runs["vse++" if method == "vsrn" else method, seed])
        record["data_hash"] = record["config"]["data_hash"] = data or record["data_hash"]
        record["config"] |= {"method": method, "loss": loss, "drop_words": 0.0, "lr": 0.001}
        made[study].append(record)
        if seed == 0:
            search = made["photo_tuning" if study == "photo_runs" else f"{study}_tuning"]
            search += [record | {"config": record["config"] | {"seed": 100, "lr": lr}, "chosen": {
                "update": record["chosen"]["update"], "val_rsum": 300 - lr}} for lr in (0.001, 0.003)]  # fmt: skip


def test_the_whole_page_with_the_runs_of_today(made):
    names, said = page()
    assert "make records STUDY=sizes" in said and "not run yet" in said and names["cleaned"] == {}
    assert "VSE++ with" in said and "data; time" in said


def test_the_whole_page_with_all_runs(made):
    everything(made)
    names, said = page()
    assert all(map(names["ready"], names["TITLES"])) and names["lacks"](*names["TITLES"]) == ""
    for waiting in ("not run yet", "not both been run", "make records", "not been run"):
        assert waiting not in said, said[said.find(waiting) - 300 : said.find(waiting) + 100]
    assert len(names["cleaned"]) == 2 and len(names["changes"]) == 4 and len(names["batch_tests"]) == 3
    assert "On photos as regions" in said and "data; time" in said
    assert all(row["start here"] != "not run yet" for row in names["ADVICE"])
    assert {where for where, _ in names["COMMANDS"]} == set(names["KINDS"])


# 400 of the photos.


def test_fewer_photos_are_the_same_for_everybody_and_keep_their_captions(tmp_path):
    folder = tmp_path / "f8k"
    folder.mkdir()
    for part, number in (("train", 30), ("dev", 4), ("test", 5)):
        np.save(folder / f"{part}_ims.npy", np.arange(number, dtype=np.float32)[:, None].repeat(3, 1))
        (folder / f"{part}_caps.txt").write_text("".join(f"{i} {k}\n" for i in range(number) for k in range(5)))
        (folder / f"{part}_ids.txt").write_text("".join(f"{i}\n" for i in range(number)))
    made = flickr8k.fewer(folder, 12, tmp_path / "runs")
    rows = np.load(made / "train_ims.npy")[:, 0].astype(int).tolist()
    assert len(set(rows)) == 12 and rows == sorted(rows) and rows != list(range(12))
    captions = (made / "train_caps.txt").read_text().splitlines()
    assert captions == [f"{i} {k}" for i in rows for k in range(5)]
    assert (made / "train_ids.txt").read_text().split() == [str(i) for i in rows]
    for name in ("dev_ims.npy", "test_ims.npy", "dev_caps.txt", "test_caps.txt", "test_ids.txt"):
        assert (made / name).read_bytes() == (folder / name).read_bytes()
    assert flickr8k.fewer(folder, 12, tmp_path / "runs") == made and len(list((tmp_path / "runs").iterdir())) == 1
    data = icrlib.load_dataset("flickr8k", features=made)
    assert len(data.train) == 12 and data.train.image_of.tolist() == [i for i in range(12) for _ in range(5)]
    with pytest.raises(ValueError, match="31 photos are wanted of 30"):
        flickr8k.fewer(folder, 31, tmp_path / "runs")

"""The decision page's rule on the book's records, and the commands that the page, README and the chapters hand out."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from icrlib import records
from icrlib.evidence import decision
from icrlib.evidence.decision import sentences
from icrlib.studies import lists

ROOT = Path(__file__).resolve().parents[2]
FEW, MANY = "photos 400", "photos 6000"
SITUATIONS = ("scenes 400", "scenes 1500", "scenes 6000", FEW, MANY, "regions 6000")
find = cache(lambda study: records.find(study=study))


@pytest.fixture(scope="module")
def rule():
    return decision.Decision(find)


def climbs(rule, situation):
    """All that the rule climbed: among the losses of each model, then among models."""
    answer = rule.answer(situation)
    return [*answer.losses.values(), answer.models]


@pytest.mark.parametrize("situation", SITUATIONS)
def test_it_begins_cheap_and_moves_only_to_what_is_decidedly_ahead(rule, situation):
    """Where it begins is said by cost and validation data, never by a test."""
    for rungs in climbs(rule, situation):
        systems = [rungs[0][0], *rungs[0][1]]
        cost = {s: rule.seconds(situation, s) for s in systems}
        near = [s for s in systems if cost[s] < 3 * min(cost.values()) or cost[s] <= min(cost.values()) + 60]
        value = {s: np.mean([r["chosen"]["val_rsum"] for r in rule.runs[situation][s]]) for s in systems}
        assert rungs[0][0] == max(near, key=value.get)
        for (_, tests), (higher, _) in zip(rungs, rungs[1:], strict=False):
            assert tests[higher].word == "holds"
        assert "holds" not in {verdict.word for verdict in rungs[-1][1].values()}


@pytest.mark.parametrize("situation", [one for one in SITUATIONS if one.startswith("scenes")])
def test_verdicts_are_those_of_a_twin(rule, situation):
    """Paired t-tests over the draws and Holm's correction, by hand."""

    def of_draws(system):
        return {r["config"]["data_seed"]: r["test"]["rsum"] for r in rule.runs[situation][system]}

    for here, tests in (rung for rungs in climbs(rule, situation) for rung in rungs):
        pairs = {}
        for other in tests:
            ours, theirs = of_draws(other), of_draws(here)
            pairs[other] = np.array([ours[draw] - theirs[draw] for draw in ours if draw in theirs])
        p = {other: stats.ttest_1samp(pairs[other], 0).pvalue for other in pairs}
        worst = 0.0
        for rank, other in enumerate(sorted(p, key=p.get)):
            worst = max(worst, min(1, (len(p) - rank) * p[other]))
            assert tests[other].adjusted == pytest.approx(worst)
            assert tests[other].difference.mean == pytest.approx(pairs[other].mean())
            assert (tests[other].word in ("holds", "fails")) == (worst < 0.05)


def test_a_time_limit_leaves_the_dear_out(rule):
    dear = rule.answer("scenes 1500").system
    limit = rule.seconds("scenes 1500", dear) - 1
    assert rule.answer("scenes 1500", limit).system != dear and rule.answer("scenes 1500", 0.1) is None


def test_no_run_on_a_draw_that_settings_were_chosen_on_counts(rule):
    groups = [group for runs in rule.runs.values() for group in runs.values()]
    seeds = {r["config"][name] for group in groups for r in group for name in ("seed", "data_seed")}
    assert groups and not seeds & set(lists("situations").CHOSEN_ON)


def test_half_a_group_is_neither_judged_nor_recommended():
    lost = {"method": "vse++", "loss": "smoothap", "seed": 1}

    def rest(study):
        return [
            r for r in find(study) if not (lost.items() <= r["config"].items() and r["config"]["dataset"] == "scenes")
        ]

    half = decision.Decision(rest)
    assert ("vse++", "smoothap") not in half.ready("scenes 400") and ("vse++", "ntxent") in half.ready("scenes 400")
    assert "VSE++ with SmoothAP" in decision.list_missing(half, "scenes 400")
    assert "make records STUDY=" in decision.list_missing(half, "scenes 400")


@pytest.mark.parametrize(
    ("change", "word"), [({"updates": 1500}, "updates"), ({"batch_size": 32}, "batch_size"), ({"lr": 0.02}, "tuning")]
)
def test_runs_that_differ_in_more_are_refused(change, word):
    def changed(study):
        return [
            {**r, "config": r["config"] | change}
            if r["config"]["method"] == "vsrn" and r["config"]["seed"] < 100
            else r
            for r in find(study)
        ]

    with pytest.raises(ValueError, match=word):
        decision.Decision(changed).answer("scenes 1500")


# Commands


def parameters(text):
    """The parameters of each command that trains, without those that are of the reader's own folder."""
    pieces = re.findall(r"(?:-p [\w.]+=[^\s`]+ *)+", re.sub(r"\\\n[#\s]*", " ", text))
    found = [dict(re.findall(r"-p ([\w.]+)=([^\s`]+)", piece)) for piece in pieces]
    of_reader = {"dataset", "features", "out", "seed", "root"}
    return [
        {name: one[name] for name in one if name not in of_reader}
        for one in found
        if {"method", "loss", "lr"} <= set(one)
    ]


@pytest.mark.parametrize("situation", SITUATIONS[:-1])
def test_a_command_gives_the_settings_of_the_runs(rule, situation):
    commands = {s: decision.command(rule, situation, s) for s in rule.ready(situation)}
    runs = {s: rule.runs[situation][s][0]["config"] for s in commands}
    if situation in (FEW, MANY):
        groups = sentences.frozen(rule, situation)
        commands["sentence"] = sentences.command(rule, situation)
        runs["sentence"] = groups[sentences.better(groups)][0]["config"]
    for system, command in commands.items():
        (values,) = parameters(command)
        config = runs[system]
        known = config | config["loss_options"] | config["model_options"] | config["data_options"]
        assert {name: str(known[name]) for name in values} == values
        assert all(name in values for name in ("lr", "updates", "batch_size"))
        assert all(values.get(name) == str(config[name]) for name in ("warmup", "drop_words") if config[name])


@pytest.mark.parametrize("place", ["README.md", "book/search/photos.py"])
def test_commands_elsewhere_are_those_of_the_decision_page(rule, place):
    best, *others = parameters(sentences.command(rule, FEW) + "\n" + decision.command(rule, MANY, ("bow", "ntxent")))
    text = (ROOT / place).read_text(encoding="utf-8")
    if place == "README.md":
        text = text.split("## From your photos to a search")[1].split("\n## ")[0]
    found = parameters(text)
    assert found and found[0] == best and all(one in (best, *others) for one in found)

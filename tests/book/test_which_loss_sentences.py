"""The sentence encoder beside the models of the decision page: which runs stand for it, and what is said of them."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from scipy import stats

from icrlib import parameters
from icrlib.cli.runs import parse
from icrlib.evidence.decision import sentences
from record_files import real
from which_loss_runs import NOTEBOOK, decide, of_sentences, without_runs

MANY = "photos 6000"


@pytest.fixture
def made(monkeypatch):
    """The models' own runs on 6,000 photos, without ranks, so that plain t-tests decide; no sentence encoder yet."""
    studies = without_runs(monkeypatch)
    for name in ("photo_runs", "photo_own", "photo_misprint"):
        studies[name] = copy.deepcopy(real(name))
        for record in studies[name]:
            record["test"].pop("ranks", None)
    return studies


def like():
    """Real runs on 6,000 photos with three seeds, by rising seed."""
    found = [r for r in real("photo_runs") if (r["config"]["method"], r["config"]["loss"]) == ("bow", "ntxent")]
    return sorted(found, key=lambda r: r["config"]["seed"])


def rsum_of(system):
    return [r["test"]["rsum"] for r in decide().runs[MANY][system]]


def test_without_runs_the_commands_that_make_them(made):
    found = decide()
    assert sentences.frozen(found, MANY) == {} and sentences.against(found, ()) == {}
    assert sentences.missing(found) == {
        "photos 400": (
            "make records STUDY=photo_few_sentences_tuning FEATURES=folder",
            "make records STUDY=photo_few_sentences FEATURES=folder",
        ),
        "photos 6000": (
            "make records STUDY=photo_ltd_tuning FEATURES=folder",
            "make records STUDY=photo_ltd FEATURES=folder",
        ),
    }


def test_a_row_with_two_seeds_is_missing_and_says_nothing(made):
    of_sentences(made, "photo_ltd", like(), "fixed", 250.0)
    of_sentences(made, "photo_ltd", like(), "tuned", 400.0, val=400.0, seeds=2)
    found = decide()
    assert list(sentences.frozen(found, MANY)) == ["fixed"] and MANY in sentences.missing(found)


def test_of_several_settings_validation_prefers_one_and_the_test_has_no_say(made):
    of_sentences(made, "photo_ltd", like(), "tuned", 290.0, val=240.0)
    of_sentences(made, "photo_ltd", like(), "tuned", 200.0, val=250.0, unit=True)
    of_sentences(made, "photo_ltd_more", like(), "tuned", 180.0, val=260.0, tau=0.1, unit=True)
    of_sentences(made, "photo_ltd", like(), "fixed", 300.0, val=230.0)
    groups = sentences.frozen(decide(), MANY)
    (tau,) = {r["config"]["loss_options"]["tau"] for r in groups["tuned"]}
    assert tau == 0.1 and sentences.better(groups) == "tuned" and MANY not in sentences.missing(decide())
    assert [r["config"]["seed"] for r in groups["tuned"]] == [0, 1, 2]
    assert "of length 1" in sentences.describe("tuned", groups["tuned"][0])
    assert "τ = 0.1" in sentences.describe("tuned", groups["tuned"][0])


def test_verdicts_are_those_of_a_twin(made):
    """Paired t-tests over seeds and Holm's correction over all models, by hand."""
    mine = [255.0, 259.0, 250.0]
    of_sentences(made, "photo_ltd", like(), "tuned", mine)
    found = decide()
    tests = sentences.against(found, [MANY])
    p = {s: stats.ttest_rel(mine, rsum_of(s)).pvalue for _, s in tests}
    assert set(p) == set(sentences.ends(found, MANY)) and len(p) == 2
    worst = 0.0
    for rank, s in enumerate(sorted(p, key=p.get)):
        worst = max(worst, min(1, (2 - rank) * p[s]))
        v = tests[MANY, s]
        assert v.difference.mean == pytest.approx(np.mean(mine) - np.mean(rsum_of(s))) and v.n == 3
        assert v.adjusted == pytest.approx(worst) and v.word == ("fails" if worst < 0.05 else "undecided")
    assert "fails" in {v.word for v in tests.values()}


def test_the_command_gives_the_settings_of_the_better_row(made):
    of_sentences(made, "photo_ltd", like(), "tuned", 250.0, unit=True, tau=0.1)
    of_sentences(made, "photo_ltd", like(), "fixed", 300.0, val=200.0)
    text = sentences.command(decide(), MANY)
    values = parse(tuple(text.split(" -p ")[1:]), parameters.declared(NOTEBOOK), NOTEBOOK)
    wanted = {
        "dataset": "flickr8k",
        "method": "sentence",
        "loss": "ntxent",
        "embed_dim": 384,
        "caption_norm": True,
        "tau": 0.1,
        "seed": 0,
        "lr": like()[0]["config"]["lr"],
    }
    assert wanted.items() <= values.items()

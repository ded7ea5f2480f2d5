"""LTD's lists, from the search to the last row, on made-up results: every run's settings are settings of the library,
and the choices are the best ones."""

from __future__ import annotations

import inspect
import json

import pytest

from icrlib.data import DRAWN
from icrlib.planning import asked
from icrlib.records import files
from icrlib.studies import Unfinished, studies


@pytest.fixture
def finish(tmp_path, monkeypatch):
    """A function: write a record of every run of a study, with the validation rsum that ``of(run)`` says."""
    monkeypatch.setattr(files, "root", lambda: tmp_path)

    def write(study, of):
        for run in studies[study].runs():
            run.path.parent.mkdir(parents=True, exist_ok=True)
            made = {"schema": 2, "config": resolved(run), "history": [], "chosen": {"update": 1, "val_rsum": of(run)}}
            run.path.write_text(json.dumps(made))

    return write


def resolved(run):
    """The configuration of a run as its record would hold it; whatever no part takes is refused here."""
    if run.dataset in DRAWN:
        assert set(run.data) <= set(inspect.signature(DRAWN[run.dataset]).parameters)
    return asked.configuration(run.dataset, run.method, run.loss, seed=run.seed, source=run.data, given=run.settings)[0]


def listed(study):
    return {f"{run.tag or run.method} {run.seed}": run for run in studies[study].runs()}


def test_scenes_from_the_search_to_the_rows(finish):
    with pytest.raises(Unfinished, match="make records STUDY=ltd_tuning first"):
        listed("ltd_eta_tuning")
    # At the published temperature the middle rate with left-out words is best, at the other one the highest without.
    wanted = {0.05: (3e-3, 0.1), 0.1: (1e-2, 0.0)}
    finish(
        "ltd_tuning",
        lambda run: (
            300.0
            + run.seed % 3
            + 50.0 * ((run.settings["lr"], run.settings["drop_words"]) == wanted[run.settings["tau"]])
        ),
    )
    with pytest.raises(Unfinished, match="make records STUDY=ltd_eta_tuning first"):
        listed("ltd")
    bounds = {"sbert": 0.17, "words": 9.0, "form": 0.1}
    finish(
        "ltd_eta_tuning",
        lambda run: 999.0 if "dual" in run.tag else 300.0 + 9 * (run.settings["eta"] == bounds[run.tag.split("-")[0]]),
    )
    rows = listed("ltd")
    configs = {name: resolved(run) for name, run in rows.items()}
    assert len(rows) == 5 * 12 and {(c["lr"], c["drop_words"], c["loss_options"]["tau"]) for c in configs.values()} == {
        (3e-3, 0.1, 0.05)
    }
    for target, eta in bounds.items():
        for rule in ("published", "projected"):
            found = configs[f"{target}-{rule} 3"]
            assert (found["objective"], found["eta"], found["multiplier"]) == ("lagrange", eta, rule)
        assert configs[f"{target}-dual 3"]["beta"] == 1.0
    assert configs["con 0"]["auxiliary"] is None
    assert {configs[f"{target}-dual 0"]["auxiliary_options"].get("target") for target in bounds} == {
        "sbert",
        "form",
        None,
    }
    times = configs["time-published 0"]
    assert (times["auxiliary_options"]["softmax"], times["eta"]) == ("time", 6.0)
    assert {resolved(run)["eta"] for run in studies["ltd_eta"].runs()} == {0.05, 0.1, 0.2, 0.3}
    halves = [resolved(run) for run in studies["ltd_finetune"].runs()]
    assert len(halves) == 6 and {(c["dataset"], c["finetune_after"], c["updates"]) for c in halves} == {
        ("rendered", 900, 1800)
    }
    assert {c["eta"] for c in halves} == {None, 0.17}
    assert all(c["restart_lr"] == pytest.approx(c["lr"] / 10, rel=1e-12) for c in halves)
    tuned = [resolved(run) for run in studies["ltd_tuned"].runs()]
    assert len(tuned) == 25 and {(c["lr"], c["drop_words"], c["loss_options"]["tau"]) for c in tuned} == {
        (1e-2, 0.0, 0.1)
    }
    assert {c["eta"] for c in tuned} == {None, 0.17, 0.1}


def test_triplet_rows(finish):
    finish("ltd_tuning", lambda run: 300.0)
    finish("ltd_eta_tuning", lambda run: 300.0 + run.settings.get("eta", 0.0))
    finish("ltd_triplet_tuning", lambda run: 300.0 + 9 * (run.tag == "lr0.003-warmup500-drop"))
    found = {name: resolved(run) for name, run in listed("ltd_triplet").items()}
    assert sorted({name.split(" ")[0] for name in found}) == ["con", "dual", "eta0.2", "eta0.26"]
    assert all(
        (c["lr"], c["warmup"], c["drop_words"]) == (3e-3, 500, 0.1) and c["model_options"]["head_norm"]
        for c in found.values()
    )


def test_infonce_with_batch_norms_has_its_own_search(finish):
    finish("ltd_tuning", lambda run: 300.0)
    finish("ltd_eta_tuning", lambda run: 300.0 + run.settings.get("eta", 0.0))
    finish("ltd_norms_tuning", lambda run: 300.0 + 9 * (run.tag == "lr0.001-drop"))
    found = [resolved(run) for run in studies["ltd_norms"].runs()]
    assert len(found) == 10 and {(c["loss"], c["lr"], c["drop_words"], c["loss_options"]["tau"]) for c in found} == {
        ("ntxent", 1e-3, 0.1, 0.05)
    }
    assert all(c["model_options"]["head_norm"] for c in found) and {c["eta"] for c in found} == {None, 0.26}
    assert all(resolved(run)["model_options"]["head_norm"] for run in studies["ltd_norms_tuning"].runs())


def test_photos(finish, capsys):
    best = {
        "con": "lr0.001-drop",
        "fixed": "fixed-lr0.003",
        "tuned": "tuned-lr0.001",
        "tuned-unit": "tuned-unit-lr0.000333333",
    }
    finish("photo_ltd_tuning", lambda run: 200.0 + 9 * (run.tag in best.values()))
    found = listed("photo_ltd")  # what needs no bound is not held up by the search for one
    assert {name.split(" ")[0] for name in found} == {"con", "fixed", "tuned", "tuned-unit"} and len(found) == 12
    assert "the rest waits for 5 runs of a search; make records STUDY=photo_ltd_eta_tuning" in capsys.readouterr().err
    finish("photo_ltd_eta_tuning", lambda run: 200.0 + 9 * (run.settings["eta"] == 0.3))
    found = {name: resolved(run) for name, run in listed("photo_ltd").items()}
    assert len(found) == 3 * 7
    assert {name.split(" ")[0] for name in found} == {"con", "dual", "eta0.2", "eta0.3", "fixed", "tuned", "tuned-unit"}
    rates = {name: round(found[f"{name} 2"]["lr"], 6) for name in best}
    assert rates == {"con": 1e-3, "fixed": 3e-3, "tuned": 1e-3, "tuned-unit": 0.000333}
    assert found["tuned 0"]["model_options"]["tuned"] and not found["fixed 0"]["model_options"].get("tuned")
    assert found["tuned-unit 0"]["model_options"]["caption_norm"]


def test_two_doubts_on_photos(finish):
    """Three seeds of what was better on the validation photos, and of nothing else."""
    finish("photo_ltd_tuning", lambda run: 200.0 + 9 * (run.tag in ("lr0.001-drop", "tuned-unit-lr0.003")))
    found = {run.tag: resolved(run) for run in studies["photo_ltd_more_tuning"].runs()}
    assert set(found) == {
        "con-warm",
        *(
            f"{row}-{tag}"
            for row in ("tuned", "tuned-unit")
            for tag in ("short", "warm", "warm-short", "shorter", "cold-short")
        ),
    }
    assert {tag: c["loss_options"]["tau"] for tag, c in found.items()} == {
        tag: 0.1 if "warm" in tag else 0.025 if "cold" in tag else 0.05 for tag in found
    }
    assert {tag: (c["updates"], c["updates"] // c["evaluate_every"]) for tag, c in found.items()} == {
        tag: (600 if "shorter" in tag else 1200 if "short" in tag else 3600, 12) for tag in found
    }
    assert [found[name]["lr"] for name in ("con-warm", "tuned-unit-short")] == [1e-3, 3e-3]
    assert found["con-warm"]["drop_words"] == 0.1 and found["tuned-unit-short"]["model_options"]["caption_norm"]
    with pytest.raises(Unfinished, match="make records STUDY=photo_ltd_more_tuning first"):
        listed("photo_ltd_more")
    # The tuned vectors of length 1 are no better than before, and best of all: no other row takes their settings.
    value = {"con-warm": 210.0, "tuned-warm-short": 201.0, "tuned-unit-short": 209.0}
    finish("photo_ltd_more_tuning", lambda run: value.get(run.tag, 190.0))
    found = {name: resolved(run) for name, run in listed("photo_ltd_more").items()}
    assert set(found) == {f"{name} {seed}" for name in ("con", "tuned") for seed in range(3)}
    assert (found["tuned 1"]["loss_options"]["tau"], found["tuned 1"]["updates"]) == (0.1, 1200)
    assert not found["tuned 1"]["model_options"].get("caption_norm")


def test_sentences_on_few_photos(finish):
    tags = [run.tag for run in studies["photo_few_sentences_tuning"].runs()]
    assert len(tags) == len(set(tags)) == 3 * (1 + 2 + 2)
    finish("photo_few_sentences_tuning", lambda run: 100.0 + 9 * (run.tag in ("fixed-lr0.01", "tuned-lr0.003-tau0.1")))
    found = {name: resolved(run) for name, run in listed("photo_few_sentences").items()}
    assert set(found) == {f"{name} {seed}" for name in ("fixed", "tuned", "tuned-unit") for seed in range(3)}
    assert found["fixed 0"]["lr"] == 1e-2
    assert (found["tuned 2"]["lr"], found["tuned 2"]["loss_options"]["tau"]) == (3e-3, 0.1)
    assert {(c["updates"], c["evaluate_every"]) for c in found.values()} == {(1200, 25)}  # as of photo_small_own
    assert all(run.photos == 400 for run in studies["photo_few_sentences"].runs())

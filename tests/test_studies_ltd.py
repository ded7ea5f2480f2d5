"""LTD's lists, on made-up results of their searches; tests/test_studies.py holds them against the records."""

from __future__ import annotations

import inspect
import json
from itertools import product

import pytest

from icrlib.data import DRAWN
from icrlib.planning import asked
from icrlib.records import files
from icrlib.studies import studies


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


def test_bounds_are_chosen_among_bounds(finish):
    """Not among what is reached without one; which settings all other lists choose is seen at their records."""
    bounds = {"sbert": 0.17, "words": 9.0, "form": 0.1}
    finish("ltd_tuning", lambda run: 300.0)

    def value(run):
        return 999.0 if "dual" in run.tag else 300.0 + (run.settings["eta"] == bounds[run.tag.split("-")[0]])

    finish("ltd_eta_tuning", value)
    found = listed("ltd")
    for (target, eta), rule in product(bounds.items(), ("published", "projected")):
        assert resolved(found[f"{target}-{rule} 3"])["eta"] == eta


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

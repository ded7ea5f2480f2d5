"""The lists of the studies, and the command that trains them."""

from functools import cache
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import make_records
import studies
from icrlib import records


@cache
def planned(name):
    """The runs of a study; None where it waits for its search."""
    try:
        return list(studies.STUDIES[name]())
    except click.ClickException as waiting:
        assert "make records STUDY=" in waiting.message
        return None


@pytest.mark.parametrize("name", studies.STUDIES)
def test_each_run_has_a_place_of_its_own(name):
    runs = planned(name) or []
    assert len({run.path for run in runs}) == len(runs)


def test_every_record_of_a_study_is_on_its_list():
    listed = {run.path for name in studies.STUDIES for run in planned(name) or []}
    waiting = {name for name in studies.STUDIES if planned(name) is None}
    there = {path for path in (records.root() / "studies").rglob("*.json") if path.parts[len(
        (records.root() / "studies").parts)] not in waiting}
    assert there and there <= listed


def test_a_record_has_the_settings_of_its_list():
    """The first record of each study: what was given stands in it."""
    for name in studies.STUDIES:
        run = next((run for run in planned(name) or [] if run.path.exists()), None)
        config = records.load(run.path)["config"] if run else {}
        for setting, value in (run.settings if run else {}).items():
            parts = config, config["loss_options"], config["model_options"]
            found = [part[setting] for part in parts if setting in part]
            assert found == [value], (name, setting)


@pytest.fixture
def nothing_made(monkeypatch):
    monkeypatch.setattr(studies.Planned, "path", property(lambda run: Path("nowhere") / run.tag))


def test_only_some_losses(nothing_made):
    def missing(*more):
        said = CliRunner().invoke(make_records.main, ["reading", "--plan", *more])
        assert said.exit_code == 0 and said.output.startswith("reading: ")
        return int(said.output.split()[1])

    assert 0 < missing("--loss", "smoothap") < missing("--loss", "smoothap", "--loss", "ntxent") < missing()
    wrong = CliRunner().invoke(make_records.main, ["reading", "--plan", "--loss", "smothap"])
    assert wrong.exit_code == 1 and "no runs with smothap" in wrong.output and "smoothap" in wrong.output


def test_a_study_waits_for_its_search(nothing_made):
    with pytest.raises(click.ClickException, match="runs of the search are missing; make records STUDY=goal_tuning"):
        list(studies.STUDIES["goal"]())


def test_parts_begin_elsewhere_and_leave_nothing(monkeypatch, nothing_made):
    """Two processes begin with disjoint halves; each then takes what is left, so that none is forgotten."""
    def order(part):
        made = []
        monkeypatch.setattr(make_records, "train", lambda run, features: made.append((run.loss, run.seed)))
        assert CliRunner().invoke(make_records.main, ["clipping", "--part", part]).exit_code == 0
        return made

    whole, first, second = order("0/1"), order("0/2"), order("1/2")
    assert len(whole) == 20 and sorted(first) == sorted(second) == sorted(whole)
    assert not set(first[:10]) & set(second[:10])

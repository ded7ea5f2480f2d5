"""What was foretold stands before what was trained, and nobody has moved it since."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from icrlib import parsing
from icrlib.records import foretold

ROOT = Path(__file__).parents[2]
FIRST = "records/foretold.json"  # a list; lines of records/foretold.jsonl since
RUNS = "records/studies/foretold"


def git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def came() -> str:
    """The commit with which the predictions came; the test is for a clone with its whole history."""
    if not (ROOT / ".git").exists() or git("rev-parse", "--is-shallow-repository").strip() == "true":
        pytest.skip("no history here")
    return git("log", "--diff-filter=A", "--format=%H", "--", FIRST).split()[-1]


def test_predictions_were_committed_before_any_of_their_runs(came):
    files = git("ls-files", RUNS).split()
    assert len(files) == 23 and not git("ls-tree", "-r", "--name-only", came, RUNS)
    for commit in set(git("log", "--diff-filter=A", "--format=%H", "--", RUNS).split()):
        assert commit != came
        git("merge-base", "--is-ancestor", came, commit)  # fails where it is none


def test_no_prediction_was_changed(came):
    """A bound moved after the run would be a hit for sure."""
    assert list(foretold.lines().values()) == json.loads(git("show", f"{came}:{FIRST}"))


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{", "line 2: .*get the file again"),
        ("[]", "line 2: the line must be object"),
        ('{"name": "a"}', "line 2: the line .*runs"),
        ("\x00", "line 2: "),
    ],
)
def test_a_damaged_line_is_named(tmp_path, monkeypatch, line, why):
    place = tmp_path / foretold.LINES
    monkeypatch.setattr(foretold, "root", lambda: tmp_path)
    assert foretold.lines() == {}
    whole = {name: "a" for name in ("name", "runs", "claim", "measure", "reason")} | {"low": 0, "high": None}
    place.write_text(json.dumps(whole) + "\n")
    assert foretold.lines() == {"a": whole}
    place.write_text(place.read_text() + line + "\n")
    with pytest.raises(parsing.BadFile, match=why):
        foretold.lines()

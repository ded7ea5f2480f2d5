"""What the Makefile hands to its programs: every variable, as it was given, and none of it to a shell."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import reproduce
from tests.killing import ROOT
from tests.workflow.test_job import asked

WRITES = """#!{python}
import json, os, sys
from pathlib import Path
told = {{name: value for name, value in os.environ.items() if name.startswith(("REPRODUCE_", "RECORDS_"))}}
Path({place!r}).write_text(json.dumps([told, sys.argv[1:]]))
"""


@pytest.fixture
def made(tmp_path):
    """What a target of the Makefile hands to its program: variables of the environment, and words."""

    def make(target: str, **given: str) -> tuple[dict, list[str]]:
        python, place = tmp_path / "python", tmp_path / "told.json"
        python.write_text(WRITES.format(python=sys.executable, place=str(place)))
        python.chmod(0o755)
        ready = ["-o", ".venv/.installed", "-o", ".venv/.grid-installed", f"PY={python}"]
        words = [f"{name}={value}" for name, value in given.items()]
        subprocess.run(["make", *ready, target, *words], cwd=ROOT, check=True, capture_output=True)
        return tuple(json.loads(place.read_text()))

    return make


@pytest.mark.process
def test_make_hands_every_variable_on(made):
    """Each name that reproduce.py takes for one of make's is one of its options, and the other way round."""
    names = {name: f"x{k}" for k, name in enumerate(reproduce.MAKE)}
    told, words = made("reproduce", **names)
    given = told.pop("REPRODUCE_GIVEN").split()
    assert told == {f"REPRODUCE_{name}": value for name, value in names.items()} and len(words) == 1
    assert set(given) == {*names, "PY"}
    options = {option for parameter in reproduce.main.params for option in parameter.opts}
    assert options == {f"--{name.lower()}" for name in names} | {"--given", "--runs"}
    assert {p.envvar for p in reproduce.main.params} == {*told, "REPRODUCE_GIVEN", "REPRODUCE_RUNS"}


@pytest.mark.process
@pytest.mark.parametrize(
    ("target", "names"),
    [
        ("reproduce", ("DATASET", "SEEDS", "SETTINGS", "KEEP", "MORE")),
        ("records", ("STUDY", "LOSS", "JOBS")),
        ("probes", ("STUDY",)),
        ("notebooks", ("CHAPTER", "JOBS")),
    ],
)
def test_no_variable_of_make_reaches_a_shell(made, tmp_path, target, names):
    hacked = tmp_path / "hacked"
    value = f"a';touch\t{hacked};'\"`touch\t{hacked}`"
    told, words = made(target, **dict.fromkeys(names, value))
    assert not hacked.exists()
    assert [told.get(f"{target.upper()}_{name}", value) for name in names] == [value] * len(names)
    assert sum(value in (*told.values(), *words) for _ in names) == len(names), (told, words)


def test_what_make_was_given_is_what_the_program_takes(monkeypatch):
    """By the environment as by options; what is empty was not given."""
    for name in reproduce.MAKE:
        monkeypatch.setenv(f"REPRODUCE_{name}", "")
    monkeypatch.setenv("REPRODUCE_SEEDS", "0,one")
    assert "SEEDS=0,one: write whole numbers" in asked().output
    monkeypatch.setenv("REPRODUCE_SEEDS", "")
    monkeypatch.setenv("REPRODUCE_STUDY", "ecri")
    assert "unknown study 'ecri'" in asked().output

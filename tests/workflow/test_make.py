"""What the Makefile hands to its programs: every variable, as it was given, and none of it to a shell."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import reproduce
from tests.killing import ROOT

WRITES = """#!{python}
import json, os, sys
from pathlib import Path
given = {{name: value for name, value in os.environ.items() if name.startswith(("REPRODUCE_", "RECORDS_"))}}
Path({place!r}).write_text(json.dumps([given, sys.argv[1:]]))
"""


@pytest.fixture
def made(tmp_path):
    """What a target of the Makefile hands to its program: variables of the environment, and words."""

    def make(target: str, **given: str) -> tuple[dict, list[str]]:
        python, place = tmp_path / "python", tmp_path / "given.json"
        python.write_text(WRITES.format(python=sys.executable, place=str(place)))
        python.chmod(0o755)
        ready = ["-o", ".venv/.installed", "-o", ".venv/.grid-installed", f"PY={python}"]
        words = [f"{name}={value}" for name, value in given.items()]
        subprocess.run(["make", *ready, target, *words], cwd=ROOT, check=True, capture_output=True)
        return tuple(json.loads(place.read_text()))

    return make


@pytest.mark.process
def test_make_hands_every_variable_on_and_none_of_it_to_a_shell(made, tmp_path):
    """Each name that reproduce.py takes for one of make's is one of its options, and the other way round."""
    hacked = tmp_path / "hacked"
    names = dict.fromkeys(reproduce.MAKE, f"a';touch\t{hacked};'\"`touch\t{hacked}`")
    variables, words = made("reproduce", **names)
    assert {*variables.pop("REPRODUCE_GIVEN").split()} == {*names, "PY"}
    assert variables == {f"REPRODUCE_{name}": value for name, value in names.items()} and len(words) == 1
    options = {option for parameter in reproduce.main.params for option in parameter.opts}
    assert options == {f"--{name.lower()}" for name in names} | {"--given", "--runs"}
    assert {p.envvar for p in reproduce.main.params} == {*variables, "REPRODUCE_GIVEN", "REPRODUCE_RUNS"}
    variables, words = made("records", STUDY=names["SEEDS"], LOSS=names["SEEDS"])
    assert names["SEEDS"] in (*variables.values(), *words) and not hacked.exists()

"""Golden runs: today's code does what made the records; a small fault is seen, last digits and moves are not."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from golden_runs import cover, measure
from goldens import main
from icrlib.records import find, goldens
from tests.records import planted

ROOT = Path(__file__).resolve().parents[2]
KNOWN = {golden["name"]: golden for golden in goldens.read()}


@pytest.mark.parametrize("name", cover.FEW)
def test_today_s_code_does_what_it_did(name):
    seen = measure.attempt(KNOWN[name]["asked"])
    assert not isinstance(seen, list), "\n".join(seen)
    assert goldens.differences(KNOWN[name], seen["values"], seen["config"]) == []
    assert seen["identity"] == KNOWN[name]["identity"]


def test_they_cover_what_records_hold():
    """Each kind of run and each value of each setting; one that is taken away is asked for again."""
    records, known = find(study="*"), list(KNOWN.values())
    assert cover.missing(records, known) == []
    assert goldens.path().stat().st_size < 300_000
    lost = [golden for golden in known if golden["name"] != "scenes/vse++/ntxent_sparse"]
    (asked,) = cover.missing(records, lost)
    assert asked["asked"]["loss"] == "ntxent_sparse"
    new = copy.deepcopy(records[:1])
    new[0]["config"]["grad_clip"] = 7.0
    (asked,) = cover.missing(new, known)
    assert asked["name"].endswith("/grad_clip=7.0")


@pytest.fixture(scope="module")
def told() -> list[dict]:
    """What is seen of each planted fault, and of the harmless changes behind them."""
    done = subprocess.run([sys.executable, planted.__file__], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-500:] + done.stderr[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.slow
@pytest.mark.process
def test_every_planted_fault_is_seen(told):
    missed = [fault for fault in told[: len(planted.FAULTS)] if not fault["seen"]]
    assert len(told) == len(planted.FAULTS + planted.HARMLESS) and len(planted.FAULTS) >= 30 and missed == []
    assert not [fault for fault in told if "it failed" in fault["seen"]], "a fault is to change numbers, not to crash"


@pytest.mark.slow
@pytest.mark.process
def test_last_digits_are_not(told):
    assert [change for change in told[len(planted.FAULTS) :] if change["seen"]] == []


@pytest.fixture
def golden() -> dict:
    return {
        "name": "a",
        "asked": {},
        "identity": "1",
        "config": {"lr": 0.1},
        "values": {"loss": [2.0, 1.0], "i2t.map": [0.5]},
        "spread": {"loss": [0.0, 0.001]},
    }


def test_differences_name_what_is_beyond_rounding(golden):
    same, config = golden["values"], {"lr": 0.1}
    assert goldens.differences(golden, same, config) == []
    assert goldens.differences(golden, {"loss": [2.000001, 1.009], "i2t.map": [0.505]}, config) == []
    (line,) = goldens.differences(golden, same | {"loss": [2.0001, 1.0]}, config)
    assert line == "loss[0] is 2.0001, and was 2 (6e-06 is rounding)"
    assert goldens.differences(golden, same | {"loss": [2.0, 1.011]}, config)
    assert goldens.differences(golden, same | {"loss": [2.0, float("nan")]}, config)
    assert goldens.differences(golden, same | {"i2t.map": [0.51]}, config)
    assert goldens.differences(golden, same | {"loss": [2.0]}, config) == ["loss has 1 numbers, and had 2"]
    assert goldens.differences(golden, same | {"new": [1.0]}, config) == ["new is new"]
    assert goldens.differences(golden, {"loss": same["loss"]}, config) == ["i2t.map is not seen any more"]
    assert goldens.differences(golden, same, {"lr": 0.2}) == ["lr is 0.2, and was 0.1"]


def test_the_spread_never_shrinks_in_time():
    values = {"loss": [1.0, 1.0, 1.0], "t2i.n_eff": [1.0, 1.0]}
    others = [{"loss": [1.0, 1.5, 1.0], "t2i.n_eff": [1.5, 1.0]}, {"loss": [1.0, 0.75, 1.1], "t2i.n_eff": [1.0, 1.0]}]
    assert goldens.spread(values, others) == {"loss": [0.0, 0.5, 0.5], "t2i.n_eff": [0.5, 0.0]}
    assert goldens.spread(values, [values]) == {}


@pytest.mark.parametrize("line", ["{", "[]", '"a"', '{"name": "a"}', "\x00"])
def test_a_damaged_line_is_named(tmp_path, golden, line):
    place = tmp_path / "goldens.jsonl"
    goldens.write([golden], place)
    assert goldens.read(place) == [golden]
    place.write_text(place.read_text() + line + "\n")
    with pytest.raises(ValueError, match="goldens.jsonl, line 2: not a golden run"):
        goldens.read(place)


def test_the_command_says_what_differs_and_what_to_do(tmp_path, monkeypatch):
    """And writes a golden anew only where it is another run on purpose."""
    name = "scenes/bow/ntxent"
    wrong = copy.deepcopy(KNOWN[name])
    wrong["values"]["loss"][0] *= 1.001
    place = tmp_path / "goldens.jsonl"
    goldens.write([wrong], place)
    monkeypatch.setattr(goldens, "path", lambda: place)
    before = place.read_bytes()
    seen = CliRunner().invoke(main, [name])
    assert seen.exit_code == 1 and f"{name}:\n  loss[0] is" in seen.output and "raise `behaviour`" in seen.output
    refused = CliRunner().invoke(main, [name, "--again"])
    assert refused.exit_code == 1 and "ask for the same run as before and do something else" in refused.output
    assert place.read_bytes() == before
    goldens.write([KNOWN[name] | {"identity": "0" * 10}], place)
    seen = CliRunner().invoke(main, [name])
    assert seen.exit_code == 1 and "and was 0000000000: the data's hash, or how an identity is made" in seen.output
    strange = CliRunner().invoke(main, ["nothing/like/it"])
    assert strange.exit_code == 1 and f"no golden run is called nothing/like/it; there are 1: {name}" in strange.output
    goldens.write([KNOWN[name]], place)
    assert "1 golden runs: all as they were" in CliRunner().invoke(main, [name]).output

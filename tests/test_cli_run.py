"""`icr run` in a shell: what it shows while it trains and at its end, what Ctrl-C leaves, which options it takes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import nbformat
import pytest

import icrlib
from icrlib.progress import LINES, Report

from .data.photos import make
from .killing import ROOT
from .test_cli import icr

SMALL = ("-p", "updates=6", "-p", "batch_size=8", "-p", "embed_dim=8", "-p", "method=bow", "-p", "evaluate_every=3")
RUN = str(ROOT / "book" / "reproduce" / "run.ipynb")


def test_lines_instead_of_a_bar(monkeypatch, capsys):
    monkeypatch.setenv(LINES, "lines")
    config = {"method": "bow", "loss": "ntxent", "seed": 3, "updates": 40}
    with Report(config, {"update": 10, "history": []}) as bar:
        report = Report(config, {"update": 10, "history": [{}]})
        entry = {"update": 20, "loss": 1.5, "val": {"rsum": 99.96}, "diagnose": {"collapsed": False}}
        report.show(entry, 0.0)
        assert bar.disable
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "bow ntxent seed 3: 30 updates, going on at 10"
    assert "update     20 of 40" in lines[-1] and "rsum 100.0" in lines[-1] and lines[-1].endswith("0:00 left")
    Report(config, {"update": 0, "history": []}, shown=False)
    assert capsys.readouterr().out == ""


@pytest.mark.process
@pytest.mark.slow
def test_what_a_run_says(tmp_path, monkeypatch):
    """No dump, no warning of the kernel's; progress, result, and where things are."""
    make(tmp_path / "photos", train=16, val=8, test=8)
    monkeypatch.chdir(tmp_path)
    assert icr("features", "photos", "features", "--backbone", "scenes").exit_code == 0
    given = ("dataset=flickr8k", "features=features", "min_count=1", "out=runs/mine")
    words = ("run", RUN, *(word for value in given for word in ("-p", value)))
    done = subprocess.run([sys.executable, "-m", "icrlib", *words, *SMALL], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "IPKernelApp" not in done.stderr + done.stdout and '"loss_options"' not in done.stdout
    for said in (
        "bow ntxent seed 0: 6 updates",
        "update      3 of 6",
        "test rsum ",
        "model: runs/mine",
        "record: runs/mine/record.json",
        "--features features",
    ):
        assert said in done.stdout, done.stdout
    record = json.loads((tmp_path / "runs" / "mine" / "record.json").read_text())
    assert record["config"]["data_options"]["min_count"] == 1
    (made,) = (tmp_path / "runs").glob("*.ipynb")
    assert nbformat.read(made, 4).metadata.papermill.parameters["min_count"] == 1


@pytest.mark.parametrize(
    "given, what",
    [
        (("dataset=flickr8k", "min_cout=1"), "Did you mean 'min_count'"),
        (("train=10", "val=4", "test=4"), "plan:"),
        (("dataset=flickr8k", "train=10", "val=4"), "unknown"),
        (("tau=inf",), "not of type float"),
        (("embed_dim=99999999999",), "cannot be made"),
        (("seed=99999999999999999999",), "below 2**64"),
    ],
)
def test_options_of_the_data_and_bad_values(given, what):
    result = icr("run", RUN, "--plan", *(word for value in given for word in ("-p", value)))
    assert what in " ".join(result.output.split()), result.output
    assert result.exit_code == (0 if what == "plan:" else 1)


@pytest.mark.parametrize(
    "settings, what",
    [
        ({"embed_dim": "ten"}, "embed_dim must be"),
        ({"embed_dim": True}, "embed_dim must be a whole number"),
        ({"lr": float("inf")}, "lr must be"),
    ],
)
def test_values_that_no_run_takes(settings, what):
    data = icrlib.load_dataset("scenes", smoke=True)
    with pytest.raises(ValueError, match=what):
        icrlib.train(data, progress=False, smoke=True, **settings)


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize("out", [True, False])
def test_ctrl_c(tmp_path, out):
    """To the whole group, as a terminal sends it: one sentence on what is kept, exit 130, and the run goes on."""
    given = ["updates=40000", "method=bow", "train=100", "val=20", "test=20", "evaluate_every=5"]
    given += [f"out={tmp_path / 'run'}"] if out else []
    words = [sys.executable, "-m", "icrlib", "run", RUN, str(tmp_path / "n.ipynb")]
    words += [word for value in given for word in ("-p", value)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    for line in process.stdout:
        if "of 40,000" in line:
            break
    os.killpg(process.pid, signal.SIGINT)
    said = process.communicate()[1]
    assert process.returncode == 130, said
    assert ("is kept in" in said if out else "nothing of this run is kept. With -p out=") and "Traceback" not in said
    if out:
        assert "interrupted at update" in icr("status", str(tmp_path)).output

"""`icr run`: strict about names and values, what it shows while it trains and at its end, and what it writes where."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import nbformat
import numpy as np
import pytest

from icrlib import parameters
from icrlib.cli import runs
from icrlib.experiments import runs as runs_of

from .data.photos import make
from .killing import ROOT
from .test_cli import icr, write_notebook

SMALL = ("-p", "updates=6", "-p", "batch_size=8", "-p", "embed_dim=8", "-p", "method=bow", "-p", "evaluate_every=3")
RUN = str(ROOT / "book" / "reproduce" / "run.ipynb")


def given(*values):
    return [word for value in values for word in ("-p", value)]


@pytest.fixture
def notebook(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    declared = "n: int = 0  # a number\nlr: float = None  # a rate\nquick: bool = False\nplace: str = ''"
    return write_notebook("page.ipynb", declared, "assert n < 5, 'too large'\nprint('n is', n, lr, quick, place)")


def test_parameters_are_read_with_type_and_help(notebook):
    found = parameters.declared(notebook)
    assert found["n"] == {"default": "0", "type": "int", "help": "a number"}
    values = {"n": 3, "lr": 1, "quick": True, "place": "7"}
    assert runs.parse(("n=3", "lr=1", "quick=true", "place=7"), found, notebook) == values
    Path("song.ipynb").write_text(json.dumps({"cells": [{"source": "", "cell_type": "song"}]}))
    result = icr("run", "song.ipynb")
    assert result.exit_code == 1 and "Error: song.ipynb: " in result.output


@pytest.mark.parametrize("value", ["m=1", "n=one", "n=1.5", "n=true", "quick=1", "lr=NaN", "n"])
def test_a_notebook_of_ones_own_is_strict_about_names_and_values(notebook, value):
    result = icr("run", notebook, "out.ipynb", "-p", value)
    assert result.exit_code == 1 and value.partition("=")[0] in result.output and not Path("out.ipynb").exists()


@pytest.mark.parametrize(
    ("values", "word"),
    [
        (("sede=1",), "Did you mean 'seed'"),
        (("learning_rate=1e-3",), "Did you mean 'lr'"),
        (("loss=ntxnt",), "Did you mean 'ntxent'"),
        (("dataset=flickr",), "flickr8k"),
        (("dataset=flickr8k", "min_cout=1"), "Did you mean 'min_count'"),
        (("loss=triplet", "tau=0.05"), "tau"),
        (("method=vsrn",), "regions"),
    ],
)
def test_what_no_run_takes_is_refused_before_a_kernel_starts(values, word, tmp_path):
    result = icr("run", RUN, tmp_path / "out.ipynb", *given(*values))
    assert result.exit_code == 1 and word in result.output and not (tmp_path / "out.ipynb").exists(), result.output


def features_in(folder, *shape):
    for part in ("train", "dev", "test"):
        np.save(folder / f"{part}_ims.npy", np.random.default_rng(0).random((9, *shape), dtype=np.float32))
        (folder / f"{part}_caps.txt").write_text("".join(f"a red box {i}\n" for i in range(45)))
    return f"features={folder}"


def test_features_that_are_there_are_counted(tmp_path):
    """45 captions in batches of 4: eleven updates and a last batch of one, which joins the one before."""
    here = given("dataset=coco", features_in(tmp_path, 7), "batch_size=4", "epochs=3")
    assert "plan: 33 updates, of unknown length" in icr("run", RUN, "--plan", *here).output
    gone = given("dataset=flickr8k", f"features={tmp_path}/x", "epochs=2")
    assert f"plan: {2 * 235} updates" in icr("run", RUN, "--plan", *gone).output  # as it was published


@pytest.mark.parametrize(("method", "shape"), [("vsrn", (5,)), ("vse++", (3, 5))])
def test_features_of_the_other_kind_are_refused_before_anything_runs(method, shape, tmp_path):
    output = icr("run", RUN, "--plan", *given(f"method={method}", "dataset=coco", features_in(tmp_path, *shape))).output
    assert f"Error: {method} takes " in output and "icr features" in output, output


def test_a_plan_says_what_past_records_suggest():
    """Here of the book's own run of a study, asked for once more, whose record is there."""
    output = icr("run", RUN, "--plan", *given("seed=0")).output
    (record,) = runs_of("scenes", method="vse++", loss="ntxent", seed=0)
    assert re.search(rf"3,000 updates, about \d+\.\d minutes\nits record is there already: {record['path']}", output)


def test_rows_preset_parameters():
    output = icr("run", "ecir/1.4", "--plan", "-p", "features=somewhere").output
    assert all(text in output for text in ("loss = 'smoothap'", "epochs = 150", "lr_update = 75", "plan: ")), output
    for wrong in ("ecir/1.99", "nowhere.ipynb", "ltd/4.1.2"):
        result = icr("run", wrong, "--plan")
        assert result.exit_code == 1 and wrong in result.output


def test_a_row_is_no_row_on_another_test_set(tmp_path):
    """As SCAN ships COCO: test_… has 1,000 images, testall_… the 5,000 of the table, a feature row a caption."""
    for part, images in (("train", 113_287), ("dev", 5_000), ("test", 1_000), ("testall", 5_000)):
        np.save(tmp_path / f"{part}_ims.npy", np.ones((images * (5 if part == "testall" else 1), 1), np.float16))
        (tmp_path / f"{part}_caps.txt").write_text("a dog\n" * 5 * images)
    wrong = icr("run", "ecir/2.3", "--plan", "-p", f"features={tmp_path}")
    assert wrong.exit_code == 1 and "test_ims.npy: 1,000 images" in wrong.output and "testall_" in wrong.output
    for end in ("ims.npy", "caps.txt"):
        (tmp_path / f"testall_{end}").replace(tmp_path / f"test_{end}")
    assert icr("run", "ecir/2.3", "--plan", "-p", f"features={tmp_path}").exit_code == 0


def test_runs_keep_their_notebooks(notebook, tmp_path):
    """Other parameters, another notebook; the same command replaces its own, also a failed one. OUTPUT stays."""
    for value, shown in (("n=1", "n is 1"), ("n=2", "n is 2"), ("n=7", "too large"), ("n=7", "too large")):
        assert shown in icr("run", notebook, "-p", value).output
    made = " ".join(path.read_text() for path in Path("runs").iterdir())
    assert len(list(Path("runs").iterdir())) == 3 and "n is 1" in made and "n is 2" in made
    Path("out.ipynb").write_text("Dear Ann")
    refused = icr("run", notebook, "out.ipynb", "-p", "n=1")
    assert refused.exit_code == 1 and "--force" in refused.output and Path("out.ipynb").read_text() == "Dear Ann"
    assert icr("run", notebook, "out.ipynb", "-p", "n=1", "--force").exit_code == 0
    assert "n is 1" in Path("out.ipynb").read_text()


def test_the_values_of_the_pages_own_run_are_not_taken(tmp_path, monkeypatch):
    """papermill replaces the cell that holds them only if it is given something."""
    monkeypatch.chdir(tmp_path)
    taken = []
    monkeypatch.setattr("papermill.execute_notebook", lambda page, made, values, **_: taken.append(values))
    assert "3,000 updates" in icr("run", RUN).output and taken == [{"smoke": False}]


def test_a_killed_kernel_says_so(tmp_path, monkeypatch):
    """With the status that says that trying again makes sense."""
    monkeypatch.chdir(tmp_path)
    die = "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"
    result = icr("run", write_notebook("page.ipynb", "out: str = ''  # folder", die), "-p", "out=here")
    assert result.exit_code == 1 and "was killed; the last evaluation is kept in here" in result.output


@pytest.mark.slow
def test_what_a_run_says(tmp_path, monkeypatch):
    """No dump, no warning of the kernel's; progress, result, and where things are."""
    make(tmp_path / "photos", train=16, val=8, test=8)
    monkeypatch.chdir(tmp_path)
    assert icr("features", "photos", "features", "--backbone", "scenes").exit_code == 0
    values = ("dataset=flickr8k", "features=features", "min_count=1", "out=runs/mine")
    words = [sys.executable, "-m", "icrlib", "run", RUN, *given(*values), *SMALL]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "IPKernelApp" not in done.stderr + done.stdout and '"loss_options"' not in done.stdout
    for text in ("bow ntxent seed 0: 6 updates", "update      3 of 6", "test rsum ", "record: runs/mine"):
        assert text in done.stdout, done.stdout
    record = json.loads((tmp_path / "runs" / "mine" / "record.json").read_text())
    assert record["config"]["data_options"]["min_count"] == 1
    (made,) = (tmp_path / "runs").glob("*.ipynb")
    assert nbformat.read(made, 4).metadata.papermill.parameters["min_count"] == 1


@pytest.mark.slow
@pytest.mark.parametrize("out", [True, False])
def test_ctrl_c(tmp_path, out):
    """To the whole group, as a terminal sends it: one sentence on what is kept, exit 130, and the run goes on."""
    values = ["updates=40000", "method=bow", "train=100", "val=20", "test=20", "evaluate_every=5"]
    values += [f"out={tmp_path / 'run'}"] if out else []
    words = [sys.executable, "-m", "icrlib", "run", RUN, str(tmp_path / "n.ipynb"), *given(*values)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    for line in process.stdout:
        if "of 40,000" in line:
            break
    os.killpg(process.pid, signal.SIGINT)
    message = process.communicate()[1]
    assert process.returncode == 130 and "Traceback" not in message, message
    assert ("is kept in" if out else "nothing of this run is kept, without -p out=") in message
    if out:
        assert (tmp_path / "run" / "checkpoint.pt").is_file()

"""The command line: strict about names and values, clear about what it will do."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import nbformat
import numpy as np
import pytest
from click.testing import CliRunner

import icrlib
from icrlib.cli import main
from icrlib.cli.main import COMMANDS
from icrlib.planning import asked


def icr(*words):
    return CliRunner().invoke(main, list(map(str, words)))


def write_notebook(path, parameters: str, code: str) -> str:
    tagged = nbformat.v4.new_code_cell(parameters, metadata={"tags": ["parameters"]})
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(nbformat.v4.new_notebook(cells=[tagged, nbformat.v4.new_code_cell(code)], metadata=kernel), path)
    return str(path)


@pytest.fixture
def notebook(tmp_path):
    parameters = (
        'dataset: str = "scenes"  # which data\nloss: str = "ntxent"  # which loss\nseed: int = 0  # one seed\n'
        "lr: float = None  # learning rate\nsmoke: bool = False  # quick"
    )
    code = "print('ran', dataset, loss, seed, lr)\nassert seed < 5, 'too large a seed'"
    return write_notebook(tmp_path / "page.ipynb", parameters, code)


@pytest.mark.parametrize("command", [*COMMANDS, "data check"])
def test_help_explains_every_command(command):
    result = icr(*command.split(), "--help")
    assert result.exit_code == 0 and len(result.output.splitlines()) > 4


@pytest.mark.process
def test_run_executes_with_parameters(notebook, tmp_path):
    result = icr("run", notebook, str(tmp_path / "out.ipynb"), "-p", "seed=3", "-p", "lr=1e-3", "-p", "smoke=true")
    assert result.exit_code == 0, result.output
    assert "ran scenes ntxent 3 0.001" in (tmp_path / "out.ipynb").read_text()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("sede=1", "unknown parameter of .*'sede'.*Did you mean 'seed'"),
        ("seed=one", "parameter seed: 'one' is not of type int"),
        ("seed=1.5", "parameter seed: '1.5' is not of type int"),
        ("smoke=1", "parameter smoke: '1' is not of type bool"),
        ("loss=ntxnt", "unknown loss 'ntxnt'.*Did you mean 'ntxent'"),
        ("dataset=flickr", "unknown dataset 'flickr'; allowed: 'scenes'"),
        ("seed", "write NAME=VALUE"),
    ],
)
def test_run_refuses_before_it_starts(notebook, tmp_path, given, message):
    result = icr("run", notebook, str(tmp_path / "out.ipynb"), "-p", given)
    assert result.exit_code == 1 and re.search(message, result.output.replace("\n", " ")), result.output
    assert not (tmp_path / "out.ipynb").exists()


@pytest.mark.process
def test_a_failing_cell_is_named(notebook, tmp_path):
    result = icr("run", notebook, str(tmp_path / "out.ipynb"), "-p", "seed=7")
    assert result.exit_code == 1 and "AssertionError: too large a seed" in result.output


def test_plan_says_what_past_records_suggest(notebook):
    result = icr("run", notebook, "--plan")
    assert result.exit_code == 0 and "plan: about" in result.output and "MB of memory" in result.output
    known = icr("run", notebook, "--plan", "-p", "dataset=coco")
    assert "scaled by counted operations" in known.output and "with embed_dim=256, dataset=flickr8k" in known.output


def test_rows_and_tables():
    assert "ecir/1" in icr("tables").output
    assert "466.6" in icr("tables", "ecir/1").output
    wrong = icr("tables", "ecir/9")
    assert wrong.exit_code == 1 and "ecir/1" in wrong.output
    row = icr("run", "ecir/1.4", "--plan", "-p", "features=somewhere")
    assert row.exit_code == 0, row.output
    assert "loss = 'smoothap'" in row.output and "epochs = 150" in row.output and "lr_update = 75" in row.output
    vsrn = icr("run", "ecir/1.8", "--plan", "-p", "features=somewhere")
    assert vsrn.exit_code == 0, vsrn.output
    assert "method = 'vsrn'" in vsrn.output and "lr_update = 50" in vsrn.output and "embed_dim = 2048" in vsrn.output
    assert icr("run", "ecir/1.99").exit_code == 1
    assert icr("run", "nowhere.ipynb").exit_code == 1


def test_status_says_what_is_odd_and_leaves_foreign_folders_alone(tiny, tmp_path):
    """Each kind of damage is one line; another program's config.json is no run, and nothing is written beside it."""
    icrlib.train(tiny, updates=2, out=tmp_path / "run", progress=False)
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    wrong = json.dumps({"config": {}, "schema": 2, "test": 3})
    odd = {
        "no-updates": {"config.json": '{"identity": "x"}'},
        "list": {"config.json": "[1]", "record.json": "{}"},
        "record": {"config.json": json.dumps(config), "record.json": wrong},
        "text": {"config.json": json.dumps(config), "record.json": "[]"},
        "cut": {"config.json": json.dumps(config), "record.json": "{"},
        "deep": {"config.json": "[" * 100_000, "record.json": "{}"},
        "bytes": {"config.json": b"\xff\xfe", "checkpoint.pt": b"x"},
        "checkpoint": {"config.json": json.dumps(config), "checkpoint.pt": b"x" * 50},
    }
    foreign = {"clip": '{"model_type": "clip"}', "not-json": "key = value", "numbers": "[1, 2]"}
    for name, files in (odd | {name: {"config.json": text} for name, text in foreign.items()}).items():
        (tmp_path / name).mkdir()
        for file, content in files.items():
            (tmp_path / name / file).write_bytes(content if isinstance(content, bytes) else content.encode())
    before = sorted(map(str, tmp_path.rglob("*")))
    shown = CliRunner().invoke(main, ["status", str(tmp_path)])
    assert shown.exit_code == 0 and sorted(map(str, tmp_path.rglob("*"))) == before
    lines = {line.split()[0]: line for line in shown.output.splitlines()}
    assert set(lines) == {*odd, "run"} and "finished, test rsum" in lines["run"]
    assert all("damaged: " in lines[name] for name in odd), shown.output


@pytest.mark.process
def test_the_list_of_commands_is_there_at_once():
    """Whoever asks what there is should not wait for PyTorch; and what is listed is there."""
    code = (
        "import sys; from icrlib.cli import main; main(['--help'], standalone_mode=False); "
        "assert 'torch' not in sys.modules"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    for name, (_, about) in COMMANDS.items():
        assert f"  {name} " in said and about in " ".join(said.split())
        assert main.get_command(None, name).name == name


@pytest.mark.parametrize(
    ("method", "loss", "dataset"),
    [
        ("vse_infty", "triplet_sh", None),
        ("ltd", "ntxent", None),
        ("sentence", "ntxent", "flickr8k"),
        ("cmn", "ntxent", "scenes"),
        ("vse++", "triplet_sh", "coco"),
        ("bow", "smoothap", "scenes"),
    ],
)
def test_settings_are_those_that_a_run_takes(method, loss, dataset):
    """Each default that the help prints is what a run resolves to, where that is no rule's own affair."""
    said = icr("settings", method, loss, *(("--dataset", dataset) if dataset else ())).output
    printed: dict[str, str] = {}
    for words in map(str.split, said.splitlines()):
        printed.setdefault(*words[:2]) if len(words) > 1 else None
    config, _ = asked.configuration(dataset or "flickr30k", method, loss)
    values = config | config["model_options"] | config["loss_options"] | config["auxiliary_options"]
    names = ("lr", "optimiser", "drop_words", "batch_size", "grad_clip", "weight_decay", "embed_dim", "tau", "margin")
    compared = [name for name in names if name in printed and name in values and printed[name] != "–"]
    assert len(compared) > 5
    for name in compared:
        assert printed[name] == str(values[name]), name


def test_a_row_is_no_row_on_another_test_set(tmp_path):
    """As SCAN ships COCO: test_… has 1,000 images, testall_… the 5,000 of the table, a feature row a caption."""
    for part, images in (("train", 113_287), ("dev", 5_000), ("test", 1_000), ("testall", 5_000)):
        np.save(tmp_path / f"{part}_ims.npy", np.ones((images * (5 if part == "testall" else 1), 1), np.float16))
        (tmp_path / f"{part}_caps.txt").write_text("a dog\n" * 5 * images)
    said = icr("run", "ecir/2.3", "--plan", "-p", f"features={tmp_path}")
    assert said.exit_code == 1 and "test_ims.npy: 1,000 images, and ecir/2.3 has 5,000 (test)" in said.output
    assert "testall_ims.npy lies beside it" in said.output
    for end in ("ims.npy", "caps.txt"):
        (tmp_path / f"testall_{end}").replace(tmp_path / f"test_{end}")
    assert icr("run", "ecir/2.3", "--plan", "-p", f"features={tmp_path}").exit_code == 0
    (tmp_path / "train_ims.npy").write_bytes((tmp_path / "dev_ims.npy").read_bytes())
    (tmp_path / "train_caps.txt").write_text("a dog\n" * 25_000)
    said = icr("run", "ecir/2.3", "-p", f"features={tmp_path}")
    assert "train_ims.npy: 5,000 images, and ecir/2.3 has 113,287" in said.output


@pytest.mark.process
def test_a_terminal_that_knows_few_letters(tmp_path):
    """What it cannot write is written in numbers, and nothing else is lost for it."""
    code = "import click\nfrom icrlib.cli.main import Friendly\n@click.command(cls=Friendly)\ndef main(): ...\n"
    code += "Friendly.get_command = lambda *_: click.Command('said', callback=lambda: click.echo('caf\\xe9 \\u2019'))\n"
    code += "Friendly.resolve_command = lambda self, ctx, args: ('said', self.get_command(), [])\nmain(['said'])\n"
    env = os.environ | {"PYTHONIOENCODING": "latin-1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=env)
    assert done.returncode == 0 and done.stdout == "café \\u2019\n".encode("latin-1"), done.stderr


@pytest.mark.process
def test_a_kernel_that_does_not_start_is_one_line(notebook, tmp_path, monkeypatch):
    spec = tmp_path / "kernels" / "python3"
    spec.mkdir(parents=True)
    (spec / "kernel.json").write_text(json.dumps({"argv": [sys.executable, "-c", "1/0"], "display_name": "broken"}))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    monkeypatch.setenv("JUPYTER_PREFER_ENV_PATH", "0")
    said = icr("run", notebook, str(tmp_path / "out.ipynb"))
    assert said.exit_code == 1 and "no process could be started for it" in said.output, said.output
    assert "ipykernel install --sys-prefix" in said.output and "Traceback" not in said.output

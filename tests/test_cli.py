"""The command line: strict about names and values, clear about what it will do."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import nbformat
import pytest
from click.testing import CliRunner

import icrlib
from icrlib.cli import main
from icrlib.cli.main import COMMANDS


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


def test_compare_shows_differences_only(tiny, tmp_path):
    for seed in (0, 1):
        icrlib.train(tiny, updates=2, seed=seed, record=tmp_path / f"{seed}.json", progress=False)
    result = icr("compare", str(tmp_path / "0.json"), str(tmp_path / "1.json"))
    assert result.exit_code == 0 and "seed" in result.output and "rsum" in result.output
    assert "batch_size" not in result.output
    same = icr("compare", str(tmp_path / "0.json"), str(tmp_path / "0.json"))
    assert same.output.count("the same") == 4
    assert icr("compare", str(tmp_path / "0.json"), "missing.json").exit_code == 1


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

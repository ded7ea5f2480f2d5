"""The command line: what there is, in one line each; settings and runs as they are listed."""

from __future__ import annotations

import os
import subprocess
import sys

import nbformat
import pytest
from click.testing import CliRunner

from icrlib.cli import main
from icrlib.cli.main import COMMANDS
from icrlib.cli.settings import meaning
from icrlib.losses.build import kind_of
from icrlib.names import LOSSES, METHODS
from icrlib.progress import LINES
from icrlib.training import unread
from icrlib.training.options import options_for


def icr(*words):
    return CliRunner().invoke(main, list(map(str, words)), env={LINES: ""})  # which a run sets, and is put back


def write_notebook(path, parameters: str, code: str) -> str:
    tagged = nbformat.v4.new_code_cell(parameters, metadata={"tags": ["parameters"]})
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(nbformat.v4.new_notebook(cells=[tagged, nbformat.v4.new_code_cell(code)], metadata=kernel), path)
    return str(path)


@pytest.mark.parametrize("command", [*COMMANDS, "data check"])
def test_help_explains_every_command(command):
    result = icr(*command.split(), "--help")
    assert result.exit_code == 0 and len(result.output.splitlines()) > 4


def test_the_list_of_commands_is_there_at_once():
    """Whoever asks what there is should not wait for PyTorch; and a terminal gets what it cannot write as numbers."""
    code = (
        "import sys; from icrlib.cli import main; main(['--help'], standalone_mode=False); "
        "assert 'torch' not in sys.modules; main(['settings'])"
    )
    env = os.environ | {"PYTHONIOENCODING": "latin-1"}
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, env=env).stdout
    text = " ".join(output.decode("latin-1").split())
    assert all(f" {name} {about} " in text for name, (_, about) in COMMANDS.items()) and "\\u2013" in text
    wrong = icr("rnu")
    assert wrong.exit_code == 2 and "Did you mean 'run'" in wrong.output


@pytest.mark.parametrize(
    ("method", "loss", "dataset"),
    [("vse_infty", "triplet_sh", None), ("ltd", "ntxent", None), ("cmn", "ntxent", "scenes")],
)
def test_settings_are_those_that_a_run_takes(method, loss, dataset):
    """Each default that the help prints is what a run resolves to, where that is no rule's own affair."""
    output = icr("settings", method, loss, *(("--dataset", dataset) if dataset else ())).output
    printed: dict[str, str] = {}
    for words in map(str.split, output.splitlines()):
        printed.setdefault(*words[:2]) if len(words) > 1 else None
    config, _ = unread.configuration(dataset or "flickr30k", method, loss)
    values = config | config["model_options"] | config["loss_options"] | config["auxiliary_options"]
    names = ("lr", "optimiser", "drop_words", "batch_size", "grad_clip", "weight_decay", "embed_dim", "tau", "margin")
    compared = [name for name in names if name in printed and name in values and printed[name] != "–"]
    assert len(compared) > 5
    for name in compared:
        assert printed[name] == str(values[name]), name


@pytest.mark.parametrize("part", [*METHODS, *LOSSES])
def test_options_of_parts_are_explained(part):
    method, loss = (part, "ntxent") if part in METHODS else ("bow", part)
    owner, kind = ("model", METHODS.find(part)) if part in METHODS else ("loss", kind_of(part)[0])
    for name in options_for(method, loss).owners[owner]:
        assert not meaning(kind, name).startswith("option of"), name
    if part == "triplet":
        assert meaning(kind, "margin") == "margin: α, 0.2 in VSE++ and ECIR (option of Triplet)"

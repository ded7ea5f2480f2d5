"""Every chapter runs at smoke scale, and cells tagged `nbval-check-output` give the committed output."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from chapters import Book

pytestmark = pytest.mark.process

BOOK = Book(Path(__file__).resolve().parents[2])
# How fast a machine is decides over no chapter. One of nbval's limits, 5 s for an output, is no option.
LIMITS = ("--nbval-cell-timeout=3600", "--nbval-kernel-startup-timeout=3600")
PATIENT = "from nbval.plugin import IPyNbFile\nIPyNbFile.output_timeout = property(lambda _: 3600, lambda *_: None)\n"


def nbval(path, tmp_path):
    """Run nbval on a copy in an empty folder: a chapter must not depend on where it is run, nor write beside itself."""
    copy = tmp_path / "run" / path.name
    copy.parent.mkdir()
    shutil.copyfile(path, copy)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "conftest.py").write_text(PATIENT)
    env = {k: v for k, v in os.environ.items() if k not in ("MPLBACKEND", "PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER")}
    env |= {"ICR_SMOKE": "1", "TQDM_DISABLE": "1", "OMP_NUM_THREADS": "1", "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    env["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # the others start more slowly than many a chapter runs
    command = [sys.executable, "-m", "pytest", "-q", "-p", "nbval.plugin", "-p", "no:cacheprovider"]
    command += ["--nbval-lax", "--nbval-current-env", *LIMITS, copy.name]
    done = subprocess.run(command, cwd=copy.parent, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", BOOK.chapters())
def test_chapter_at_smoke_scale(name, tmp_path):
    path = BOOK.path(name, ".ipynb")
    before = path.read_bytes()
    code, text = nbval(path, tmp_path)
    assert code == 0, text[-6000:]
    assert path.read_bytes() == before


def notebook(path, source, output, tags=()):
    cell = nbformat.v4.new_code_cell(source, metadata={"tags": list(tags)}, execution_count=1)
    cell.outputs = [nbformat.v4.new_output("stream", name="stdout", text=output)]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(nbformat.v4.new_notebook(cells=[cell], metadata={"kernelspec": kernel}), path)
    return path


CASES = {
    "sound": (("print(1)", "1\n"), 0),
    "scale may change an untagged output": (("print(2)", "1\n"), 0),
    "a self-check that fails": (("assert 1 + 1 == 3", ""), 1),
    "a tagged output that changed": (("print(2)", "1\n", ["nbval-check-output"]), 1),
    "a tagged output that is the same": (("print(1)", "1\n", ["nbval-check-output"]), 0),
    "smoke scale is announced": (("import os; assert os.environ['ICR_SMOKE'] == '1'", ""), 0),
    "nothing is lying beside it": (
        ("import os; assert set(os.listdir()) <= {'case.ipynb'}, os.listdir()", ""),
        0,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_nbval_itself(case, tmp_path):
    arguments, expected = CASES[case]
    code, text = nbval(notebook(tmp_path / "case.ipynb", *arguments), tmp_path)
    assert code == expected, text

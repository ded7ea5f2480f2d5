"""Every chapter runs at smoke scale, and cells tagged `nbval-check-output` give the committed output."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from chapters import Book

BOOK = Book(Path(__file__).resolve().parents[2])
# How fast a machine is decides over no chapter. One of nbval's limits, 5 s for an output, is no option.
LIMITS = ("--nbval-cell-timeout=3600", "--nbval-kernel-startup-timeout=3600")
PATIENT = "from nbval.plugin import IPyNbFile\nIPyNbFile.output_timeout = property(lambda _: 3600, lambda *_: None)\n"


@pytest.mark.slow
@pytest.mark.parametrize("name", BOOK.chapters())
def test_chapter_at_smoke_scale(name, tmp_path):
    """On a copy in an empty folder: a chapter must not depend on where it is run, nor write beside itself."""
    path = BOOK.path(name, ".ipynb")
    before = path.read_bytes()
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
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
    assert path.read_bytes() == before and [one.name for one in copy.parent.iterdir()] == [copy.name]

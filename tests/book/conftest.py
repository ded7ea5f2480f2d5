"""The built pages, and a browser with a page in it, for the tests of what a reader moves."""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from filelock import FileLock

import browser
import page_checks as checks


@pytest.fixture(scope="session")
def site(tmp_path_factory, worker_id):
    """The pages, built once for all workers, with -W -n: a warning or a missing reference fails here."""
    alone = worker_id == "master"  # each worker's folder lies in one of the whole run
    target = (tmp_path_factory.getbasetemp() if alone else tmp_path_factory.getbasetemp().parent) / "site" / "html"
    with FileLock(f"{target.parent}.lock"):
        if not target.exists():
            command = [sys.executable, Path(__file__).parents[2] / "scripts" / "build_book.py", "html"]
            done = subprocess.run(
                [*command, "--output", target], capture_output=True, text=True, stdin=subprocess.DEVNULL
            )
            assert done.returncode == 0, done.stdout + done.stderr
    return target


@pytest.fixture(scope="module")
def chrome():
    with browser.launch() as running:
        yield running


@pytest.fixture
def opened(chrome, tmp_path):
    """A function that writes a page with the given elements, opens it, and returns the visit."""
    head = (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>t</title>'
        '<meta name="viewport" content="width=device-width">'
    )

    def visit(*elements):
        path = tmp_path / "table.html"
        body = "".join(one.data for one in elements)
        path.write_text(f'{head}<article class="bd-article">{body}</article>')
        return visits.enter_context(checks.Visit(chrome, path))

    with ExitStack() as visits:
        yield visit

"""Nothing is written over but a command's own earlier product, an executed notebook."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from .test_cli import icr, write_notebook


@pytest.fixture
def notebook(tmp_path, monkeypatch):
    write_notebook(tmp_path / "page.ipynb", "n: int = 0  # a number", "assert n < 5\nprint('n is', n)")
    monkeypatch.chdir(tmp_path)
    return "page.ipynb"


def test_a_notebook_is_never_its_own_output(notebook, tmp_path):
    before = Path(notebook).read_bytes()
    (tmp_path / "deep").mkdir()
    os.link(notebook, "twin.ipynb")
    os.symlink(tmp_path / notebook, "link.ipynb")
    for name in (notebook, tmp_path / notebook, "deep/../page.ipynb", "twin.ipynb", "link.ipynb"):
        for more in ((), ("--force",)):
            result = icr("run", notebook, name, *more)
            assert result.exit_code == 1 and "is the notebook itself" in result.output
    assert Path(notebook).read_bytes() == before


@pytest.mark.process
def test_runs_with_other_parameters_keep_their_notebooks(notebook, tmp_path):
    for given in ((), ("-p", "n=1"), ("-p", "n=2"), ("-p", "n=2")):
        assert icr("run", notebook, *given).exit_code == 0
    made = {path.name: path.read_text() for path in (tmp_path / "runs").iterdir()}
    assert len(made) == 3 and "page.ipynb" in made
    assert all(any(f"n is {n}" in text for text in made.values()) for n in (0, 1, 2))


@pytest.mark.process
def test_what_the_same_command_left_is_replaced_and_nothing_else(notebook):
    assert icr("run", notebook, "out.ipynb", "-p", "n=7").exit_code == 1  # a failed one is a product, too
    assert icr("run", notebook, "out.ipynb", "-p", "n=7").exit_code == 1
    before = Path("out.ipynb").read_bytes()
    other = icr("run", notebook, "out.ipynb", "-p", "n=1")
    assert other.exit_code == 1 and "same parameters. Choose another name, or write over it with --force" in (
        " ".join(other.output.split())
    )
    assert Path("out.ipynb").read_bytes() == before
    assert icr("run", notebook, "out.ipynb", "-p", "n=1", "--force").exit_code == 0
    assert "n is 1" in Path("out.ipynb").read_text()


FOREIGN = {
    "letter": b"Dear Ann",
    "empty": b"",
    "bytes": b"\xff\x00",
    "list": b"[]",
    "number": b"3",
    "notebook": json.dumps({"cells": [], "metadata": {}}).encode(),
    "null": b'{"metadata": {"papermill": null}}',
    "deep": b"[" * 100_000,
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_files_of_other_origin_stay(notebook, kind):
    Path("out.ipynb").write_bytes(FOREIGN[kind])
    result = icr("run", notebook, "out.ipynb")
    assert result.exit_code == 1 and "--force" in result.output and Path("out.ipynb").read_bytes() == FOREIGN[kind]


def test_a_folder_is_named(notebook, tmp_path):
    (tmp_path / "out.ipynb").mkdir()
    result = icr("run", notebook, "out.ipynb", "--force")
    assert result.exit_code == 1 and "is a folder" in result.output

"""What a command may write over: its own earlier product, which it knows by a mark in it, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import click

from icrlib import parsing
from icrlib.files import sha256_of

FORCE = click.option("--force", is_flag=True, help="Write over a file that is not an earlier product of this command.")


def product(path: Path, is_own: Callable[[str], bool], what: str, force: bool) -> Path:
    """``path``, if writing there loses nothing that is not ours to lose.

    ``is_own``: whether a file's text is an earlier product of the same command; ``what`` it is, "the page of a search".
    ``ValueError`` for a folder, and without ``force`` for every other file.
    """
    if path.is_dir():
        raise ValueError(f"{path} is a folder; give the name of a file in it")
    if path.exists() and not force and not _holds(path, is_own):
        raise ValueError(f"{path} is there, and it is not {what}. Choose another name, or write over it with --force")
    return path


def executed(output: Path, notebook: Path, values: dict, force: bool) -> Path:
    """Where an executed notebook may go: never over its source, and over what the same command left there before."""
    if output.exists() and output.samefile(notebook):
        raise ValueError(f"{output} is the notebook itself; leave OUTPUT out, or choose another name")
    return product(
        output,
        lambda text: _of(json.loads(text)) == _mark(notebook, values),
        "what the same notebook left with the same parameters",
        force,
    )


def default_name(what: str, values: dict) -> str:
    """The name of an executed notebook that tells runs with other parameters apart: run-9f86d081.ipynb."""
    stem = what.removesuffix(".ipynb").replace("/", "-").strip(".-")
    return f"{stem}-{sha256_of(json.dumps(values, sort_keys=True))[:8]}.ipynb" if values else f"{stem}.ipynb"


def _mark(notebook: Path, values: dict) -> tuple[str, dict]:
    return notebook.name, json.loads(json.dumps(values))


def _of(executed: dict) -> tuple[str, dict]:
    """Notebook and parameters that papermill noted in what it wrote."""
    noted = executed["metadata"]["papermill"]
    return Path(noted["input_path"]).name, noted["parameters"]


def _holds(path: Path, is_own: Callable[[str], bool]) -> bool:
    try:
        return is_own(parsing.text(path))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):  # nothing of ours reads so
        return False

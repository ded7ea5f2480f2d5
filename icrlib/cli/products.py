"""Where an executed notebook goes: over what the same command left there before, and over nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import click

from icrlib import parsing
from icrlib.files import sha256_of

FORCE = click.option("--force", is_flag=True, help="Write over a file that is not an earlier product of this command.")


def default_name(what: str, values: dict) -> str:
    """The name of an executed notebook that tells runs with other parameters apart: run-9f86d081.ipynb."""
    stem = what.removesuffix(".ipynb").replace("/", "-").strip(".-")
    return f"{stem}-{sha256_of(json.dumps(values, sort_keys=True))[:8]}.ipynb" if values else f"{stem}.ipynb"


def executed(output: Path, notebook: Path, values: dict, force: bool) -> Path:
    """``output``, if writing there loses nothing; ``ValueError`` for a folder and for the notebook itself, and without
    ``force`` for whatever the same notebook with the same parameters did not leave there."""
    if output.is_dir():
        raise ValueError(f"{output} is a folder; give the name of a file in it")
    if output.exists() and output.samefile(notebook):
        raise ValueError(f"{output} is the notebook itself; leave OUTPUT out, or choose another name")
    if output.exists() and not force and _left_by(output) != (notebook.name, values):
        raise ValueError(
            f"{output} is there, and it is not what the same notebook left with the same parameters. Choose another "
            "name, or write over it with --force"
        )
    return output


def _left_by(output: Path) -> tuple[str, dict] | None:
    """The notebook and the parameters that papermill noted in what it wrote; None for other files."""
    try:
        noted = parsing.of_json(output)["metadata"]["papermill"]
        return Path(noted["input_path"]).name, noted["parameters"]
    except (ValueError, LookupError, TypeError):
        return None

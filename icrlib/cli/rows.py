"""What ``icr run`` runs: a notebook, or a row of a published table."""

from __future__ import annotations

from pathlib import Path

from icrlib.records.folder import PACKAGE


def find(what: str) -> tuple[Path, dict]:
    """The notebook to run, and the parameters that a row of a table presets."""
    if Path(what).suffix == ".ipynb":
        if not Path(what).is_file():
            raise FileNotFoundError(f"{what}: no such notebook here")
        return Path(what), {}
    from icrlib.experiments.published import published

    preset = published(what)
    del preset["seed"]  # one run is one of them, by default the first
    notebook = PACKAGE.parent / "book" / "reproduce" / "run.ipynb"
    if not notebook.is_file():
        raise FileNotFoundError(f"{notebook}: rows run through it, and it is in the book's checkout, not in the wheel")
    return notebook, preset

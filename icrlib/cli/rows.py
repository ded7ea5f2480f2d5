"""Rows of published tables as runs: their parameters, and whether a folder is the data that they were made on."""

from __future__ import annotations

from pathlib import Path

from icrlib import parsing
from icrlib.data.karpathy import PUBLISHED
from icrlib.data.precomputed import PARTS, rows_of
from icrlib.names import METHODS
from icrlib.records.folder import PACKAGE
from icrlib.training.options import options_for
from icrlib.training.unread import EACH


def find(what: str) -> tuple[Path, dict]:
    """The notebook to run, and the parameters that a row of a table presets."""
    if Path(what).suffix == ".ipynb":
        if not Path(what).is_file():
            raise FileNotFoundError(f"{what}: no such notebook here")
        return Path(what), {}
    from icrlib import paper

    row = paper.experiment(what)
    notebook = PACKAGE.parent / "book" / "reproduce" / "run.ipynb"
    if not notebook.is_file():
        raise FileNotFoundError(
            "rows run through book/reproduce/run.ipynb, which is in the book's checkout, not in the wheel"
        )
    return notebook, preset(what, row)


def check_sizes(row: str, values: dict) -> None:
    """``ValueError`` where a folder has other sizes than the row was made with: that would be another row's number."""
    wanted, folder = PUBLISHED.get(values["dataset"], {}), Path(values.get("features") or ".")
    for split, part in PARTS.items() if values.get("features") and wanted else ():
        array, captions = folder / f"{part}_ims.npy", folder / f"{part}_caps.txt"
        if not (array.is_file() and captions.is_file()):
            continue  # whoever reads them says what is missing
        rows, lines = rows_of(array), len(parsing.lines(captions))
        images = rows if rows < lines else rows // EACH  # as SCAN ships them, a row a caption
        if images == wanted[split]:
            continue
        beside = folder / f"{part}all_ims.npy"
        way = (
            f"{beside.name} lies beside it: make a folder in which {part}_ims.npy and {part}_caps.txt are links to "
            f"{part}all_ims.npy and {part}all_caps.txt"
            if beside.is_file()
            else "on other data, run book/reproduce/run.ipynb with the settings that `icr tables` and --plan show"
        )
        raise ValueError(f"{array}: {images:,} images, and {row} has {wanted[split]:,} ({split}); {way}")


# What a row says about itself that is no setting of a run here: how it was chosen, repeated, and on what.
ABOUT = ("selection", "seeds", "features", "notes", "setting", "evaluation", "stated", "status")


def preset(name: str, row: dict) -> dict:
    """The parameters of a row; ``ValueError`` where it needs what cannot be set here, for half a row is another row."""
    values = {key: value for key, value in row.items() if key not in (*ABOUT, "needs") and value is not None}
    METHODS.canonical(values["method"])  # first: without its method the rest means nothing
    owners = options_for(values["method"], values["loss"])
    known = {"dataset", "method", "loss", *(option for names in owners.owners.values() for option in names)}
    lacking = {key: value for key, value in values.items() if key not in known}
    if lacking:
        needs = "; ".join(f"{key}: {value}" for key, value in (row.get("needs") or {}).items() if value is not None)
        raise ValueError(
            f"{name} cannot be run as it was: nothing here sets {', '.join(f'{k}={v!r}' for k, v in lacking.items())}. "
            "Without that it would be another row under its name." + (f" It needs {needs}." if needs else "")
        )
    return values

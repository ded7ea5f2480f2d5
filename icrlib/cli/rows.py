"""Rows of published tables as runs: their parameters, and whether a folder is the data that they were made on."""

from __future__ import annotations

from pathlib import Path

from icrlib import parsing
from icrlib.data.karpathy import PUBLISHED
from icrlib.data.precomputed import PARTS, rows_of
from icrlib.records.folder import PACKAGE
from icrlib.training.options import options_for
from icrlib.training.unread import EACH

# What a row says about itself that is no setting of a run: how it was chosen, repeated, and on what.
ABOUT = ("selection", "seeds", "features", "notes", "evaluation")


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


def preset(name: str, row: dict) -> dict:
    """The parameters of a row; ``ValueError`` where it needs what cannot be set here, for half a row is another row."""
    values = {key: value for key, value in row.items() if key not in ABOUT and value is not None}
    options = options_for(values["method"], values["loss"], values.get("auxiliary"))
    known = {"dataset", "method", "loss", *(option for names in options.owners.values() for option in names)}
    if lacking := [f"{key}={value!r}" for key, value in values.items() if key not in known]:
        raise ValueError(f"{name} cannot be run as it was: nothing here sets {', '.join(lacking)}")
    return values


def check_sizes(row: str, values: dict) -> None:
    """``ValueError`` where a folder has other sizes than the row was made with: that would be another row's number.

    As SCAN ships COCO, test_ims.npy has 1,000 images, and the 5,000 of the table are in testall_ims.npy.
    """
    published, folder = PUBLISHED[values["dataset"]], Path(values.get("features") or ".")
    for split, part in PARTS.items() if values.get("features") else ():
        array, captions = folder / f"{part}_ims.npy", folder / f"{part}_caps.txt"
        if not (array.is_file() and captions.is_file()):
            continue  # whoever reads them says what is missing
        images, lines = rows_of(array), len(parsing.lines(captions))
        images = images if images < lines else images // EACH  # as SCAN ships them, a row a caption
        if images != published[split]:
            raise ValueError(
                f"{array}: {images:,} images, and {row} has {published[split]:,} ({split}). Is it a part of the data, "
                "as SCAN's test_… of COCO is of testall_…? Then make a folder of links to the right files"
            )

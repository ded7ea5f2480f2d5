"""Rows of the papers' tables as arguments of :func:`icrlib.runs`: what their released job files ran."""

from __future__ import annotations

from pathlib import Path

from icrlib import parsing
from icrlib.data.cache import array_of
from icrlib.data.karpathy import PUBLISHED
from icrlib.data.precomputed import PARTS
from icrlib.paper.experiments.rows import experiment
from icrlib.training.options import options_for
from icrlib.training.unread import EACH

# What a row says about itself that is no setting of a run: how it was chosen, repeated, and on what.
ABOUT = ("selection", "seeds", "features", "evaluation")
# What a network for photos takes that learns along: it starts after ``finetune_epochs``.
OF_NETWORK = ("finetune_epochs", "restart_lr", "batch_norm", "erase")


def published(row: str, frozen: bool = False) -> dict:
    """What :func:`icrlib.runs` takes for a row such as ``"ecir/1.3"``: data set, model, loss, seeds and all settings.

    ``frozen``: for features computed once, where no network for photos can learn. LTD's rows are then the first half of
    themselves, the epochs before it does. ``ValueError`` for an unknown row, and for one that needs what cannot be set
    here: half a row is another row.
    """
    about = experiment(row)
    values = {name: value for name, value in about.items() if name not in ABOUT and value is not None}
    if frozen and "finetune_epochs" in values:
        values["epochs"] = values["finetune_epochs"]
        values = {name: value for name, value in values.items() if name not in OF_NETWORK}
    options = options_for(values["method"], values["loss"], values.get("auxiliary"))
    known = {"dataset", "method", "loss", *(option for names in options.owners.values() for option in names)}
    if lacking := [f"{name}={value!r}" for name, value in values.items() if name not in known]:
        raise ValueError(f"{row} cannot be run as it was: nothing here sets {', '.join(lacking)}")
    return values | {"seed": range(about["seeds"])}


def check_sizes(dataset: str, features: str | Path) -> None:
    """``ValueError`` where a folder has other sizes than the tables were made with: that would be another number.

    As SCAN ships COCO, test_ims.npy has 1,000 images, and the 5,000 of the tables are in testall_ims.npy.
    """
    for split, part in PARTS.items():
        array, captions = Path(features) / f"{part}_ims.npy", Path(features) / f"{part}_caps.txt"
        if not (array.is_file() and captions.is_file()):
            continue  # whoever reads them says what is missing
        images, lines = len(array_of(array, "copy or compute it again", mmap_mode="r")), len(parsing.lines(captions))
        images = images if images < lines else images // EACH  # as SCAN ships them, a row a caption
        if images != PUBLISHED[dataset][split]:
            raise ValueError(
                f"{array}: {images:,} images, and the tables' {dataset} has {PUBLISHED[dataset][split]:,} ({split}). "
                "Is it a part, as SCAN's test_… of COCO is of testall_…? Then make a folder of links to the right files"
            )

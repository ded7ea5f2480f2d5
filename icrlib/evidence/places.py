"""Where the claims of the papers are asked: which study holds the runs of which model on which data set."""

from __future__ import annotations

from icrlib.evidence.ecir_rows import LossRows
from icrlib.evidence.ltd_rows import ObjectiveRows
from icrlib.evidence.studies import Study

_SMOOTHAP = {("vse++", "smoothap"): ("photo_smoothap_tuning", "photo_smoothap")}
_ECIR = Study("ecir", ("tuning",), 10)
_PHOTOS = Study("photo_runs", ("photo_tuning",), 3, "features", _SMOOTHAP)
_GRID = "make reproduce DATASET={0} METHODS={{method}} SEEDS=0,1,2,3,4 FEATURES=folder STUDY={0}"
ECIR = (
    LossRows("scenes", "vse++", _ECIR),
    LossRows("scenes", "vsrn", Study("vsrn", ("vsrn_tuning",), 10)),
    LossRows("scenes", "bow", _ECIR),
    LossRows("flickr8k", "vse++", _PHOTOS),
    LossRows("flickr8k", "vsrn", Study("photo_vsrn", ("photo_vsrn_tuning",), 3, "features")),
    LossRows("flickr8k", "bow", _PHOTOS),
    *(
        LossRows(dataset, method, Study(dataset, (f"{dataset}_tuning",), 5, grid=_GRID.format(dataset)))
        for dataset in ("flickr30k", "coco")
        for method in ("vse++", "vsrn")
    ),
)
_LTD = Study("ltd", ("ltd_tuning",), 5)
LTD = (
    ObjectiveRows(
        "scenes", "scenes, InfoNCE", "scenes", _LTD, ("con", "dual", "lag", "projected", "itd_dual", "itd_lag")
    ),
    ObjectiveRows(
        "triplet",
        "scenes, Triplet-SH",
        "scenes",
        Study("ltd_triplet", wanted=5),
        ("con", "lag", "ntxent_lag"),
        infonce=_LTD,
    ),
    ObjectiveRows("eta", "scenes, several η", "scenes", Study("ltd_eta", wanted=5), ("best", "lowest")),
    ObjectiveRows(
        "photos",
        "photos (Flickr8k)",
        "flickr8k",
        Study("photo_ltd", wanted=3, needs="features"),
        ("con", "dual", "lag", "fixed", "tuned"),
        decides=True,
    ),
)
STAMPS = Study("ltd_stamps").command()


def of_model(dataset: str, method: str) -> LossRows:
    """The place of a model on a data set; ``KeyError`` where ECIR's ledger has none."""
    return {(one.dataset, one.method): one for one in ECIR}[dataset, method]

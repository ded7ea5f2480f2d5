"""Where the claims of the papers are asked: which study holds the runs of which model on which data set."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from icrlib.evidence.ecir_rows import LossRows
from icrlib.evidence.ltd_rows import ObjectiveRows
from icrlib.studies import studies


class Grid(NamedTuple):
    """What stands for a study where `icr train reproduce/tables` makes the runs of a data set, called ``name``."""

    name: str
    wanted: int = 5

    def command(self, losses: Iterable[str] = (), method: str = "", search: bool = True) -> tuple[str, ...]:
        dataset = self.name.removesuffix("_tuning")  # published settings need no search
        return (f"icr train reproduce/tables -p dataset={dataset} -p features=folder -p table=ecir/1",)


ECIR = (
    LossRows("scenes", "vse++", studies["ecir"], studies["tuning"]),
    LossRows("scenes", "vsrn", studies["vsrn"], studies["vsrn_tuning"]),
    LossRows("scenes", "bow", studies["ecir"], studies["tuning"]),
    LossRows("flickr8k", "vse++", studies["photo_runs"], studies["photo_tuning"]),
    LossRows("flickr8k", "vsrn", studies["photo_vsrn"], studies["photo_vsrn_tuning"]),
    LossRows("flickr8k", "bow", studies["photo_runs"], studies["photo_tuning"]),
    *(
        LossRows(dataset, method, Grid(dataset), Grid(f"{dataset}_tuning"))
        for dataset in ("flickr30k", "coco")
        for method in ("vse++", "vsrn")
    ),
)
LTD = (
    ObjectiveRows(
        "scenes",
        "scenes, InfoNCE",
        "scenes",
        studies["ltd"],
        ("con", "dual", "lag", "projected", "itd_dual", "itd_lag"),
    ),
    ObjectiveRows(
        "triplet",
        "scenes, Triplet-SH",
        "scenes",
        studies["ltd_triplet"],
        ("con", "lag", "ntxent_lag"),
        infonce=studies["ltd"],
    ),
    ObjectiveRows("eta", "scenes, several η", "scenes", studies["ltd_eta"], ("best", "lowest")),
    ObjectiveRows(
        "photos",
        "photos (Flickr8k)",
        "flickr8k",
        studies["photo_ltd"],
        ("con", "dual", "lag", "fixed", "tuned"),
        decides=True,
    ),
)
STAMPS = studies["ltd_stamps"].command()


def of_model(dataset: str, method: str) -> LossRows:
    """The place of a model on a data set; ``KeyError`` where ECIR's ledger has none."""
    return {(one.dataset, one.method): one for one in ECIR}[dataset, method]

"""Rows of LTD's tables as settings of a run: what the released job files ran, which is not always what was printed."""

from __future__ import annotations

from icrlib.paper.ltd import ROWS
from icrlib.paper.tables import table

_DATA = {"Flickr30k": "flickr30k", "MS-COCO": "coco", "CxC": "coco"}

# The network of images is frozen for 30 epochs; then the rate starts again, lower, and all
# weights learn. "batch_norm": the frozen network was in training mode, and its statistics moved along.
TRAINING = {
    "epochs": 60,
    "finetune_epochs": 30,
    "optimiser": "adamp",
    "lr": 2e-4,
    "weight_decay": 0.0,
    "schedule": "cosine_epoch",
    "restart_lr": 2e-5,
    "grad_clip": 2.0,
    "batch_size": 128,
    "batches": "pairs",
    "positives": "diagonal",
    "batch_norm": "train",
    "erase": 0.2,
}
SWA = {"average": "swa", "average_from": 0.9, "average_times": 5}
NTXENT = {"loss": "ntxent", "tau": 0.05} | SWA
TRIPLET_SH = {"loss": "triplet_sh", "margin": 0.2, "head_norm": True, "average": "none"}
ENCODER = {"method": "ltd", "embed_dim": 1024, "precision": "float16"}
ENCODER |= {"word_dim": 300, "drop_words": 0.1, "delete_words": 0.1}
TARGET = {"method": "sentence", "teacher": "sbert", "embed_dim": 384, "precision": "float32"}  # the target as caption
LATENT = {"auxiliary": "latent", "target": "sbert"}
TOKENS = {"auxiliary": "tokens", "softmax": "time"}
OBJECTIVES = {"dual": {"objective": "dual", "beta": 1.0}, "lag": {"objective": "lagrange", "multiplier": "published"}}
BOUND = {"latent": 0.2, "tokens": 6.0}


def rows() -> list[str]:
    """All rows that :func:`experiment` knows: "ltd/1.1" to "ltd/4.2.2"."""
    return [f"ltd/{row}" for number in (1, 2) for row in table(f"ltd/{number}").index]


def experiment(row: str) -> dict:
    """Settings of a row of LTD's Tables 1 and 2, such as ``"ltd/1.5"``, as they were run.

    One training a row, without a seed; the vocabulary counted captions of all splits. Rows on CxC are the trainings of
    the rows on MS-COCO. ``finetune_epochs``: the epochs after which the image network learns, too. What no setting
    says of the release (gradients unscaled twice, targets of an incomplete batch, the rate of a tuned target's head) is
    on the book's page reference/errata.
    """
    name = row.removeprefix("ltd/")
    place, kind = next((place, kind) for place, of in ROWS.items() for kind, number in of.items() if number == name)
    if kind in ("fixed", "tuned"):
        settings = TARGET | ({"loss": "alignment"} | SWA if kind == "fixed" else NTXENT)
        settings |= {"tuned": True, "caption_lr": 2e-5} if kind == "tuned" else {}
    else:
        settings = ENCODER | {"objective": "con"} | (TRIPLET_SH if kind.startswith("triplet") else NTXENT)
        if (objective := kind.rpartition("_")[2]) in OBJECTIVES:
            settings |= OBJECTIVES[objective] | (TOKENS if kind.startswith("itd") else LATENT)
        if settings["objective"] == "lagrange":
            settings["eta"] = BOUND[settings["auxiliary"]]
    images = "1,000 test images" if place == "Flickr30k" else "5,000 test images"
    return {
        "dataset": _DATA[place],
        **TRAINING,
        **settings,
        "seeds": 1,
        "selection": "rsum, every epoch",
        "evaluation": images + ", positives of CxC" * (place == "CxC"),
        "features": "ResNet-50 on images, fresh crops",
    }

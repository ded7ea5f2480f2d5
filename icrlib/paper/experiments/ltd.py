"""Rows of LTD's tables as settings of a run: what the released job files ran, which is not always what was printed."""

from __future__ import annotations

import pandas as pd

from icrlib.errors import choose
from icrlib.paper.ltd import ROWS
from icrlib.paper.tables import table

_DATA = {"Flickr30k": "flickr30k", "MS-COCO": "coco", "CxC": "coco"}
_ETAS = (0.05, 0.1, 0.2, 0.3)  # of Figure 2, on MS-COCO

# Every row but Table 3's. The network of images is frozen for 30 epochs; then the rate starts again, lower, and all
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
WORDS = {"word_dim": 300, "drop_words": 0.1, "delete_words": 0.1}
SWA = {"average": "swa", "average_from": 0.9, "average_times": 5}
LATENT = {"auxiliary": "latent", "target": "sbert"}
TOKENS = {"auxiliary": "tokens", "softmax": "time"}
LOSS = {"ntxent": {"loss": "ntxent", "tau": 0.05}, "triplet_sh": {"loss": "triplet_sh", "margin": 0.2}}
BOUND = {"latent": 0.2, "tokens": 6.0}

ALWAYS = (
    "no seed was set; an epoch sees every caption once, so that two captions of one image can share a batch; "
    "the vocabulary counted captions of all splits"
)
TWICE = "gradients were unscaled twice, by a scaler that took the averaging wrapper for another optimiser"
OVER_TIME = "the softmax of the decoder ran over the positions of a caption instead of the vocabulary"
CXC = "one training with row {row}; how a positive of CxC was defined cannot be recovered from the release"
STALE = "the targets of a split's last captions, of an incomplete batch, are those of the batch before"
PICKLE = (
    "the released notebook writes the validation split into the test split's file; if that file was used, the "
    "test numbers are validation numbers"
)
AT_ZERO = (
    "the captions' head has a rate of its own, 2e-5, which the schedule takes to 0 at epoch 30 and leaves "
    "there; its vectors are not normalised, so that their scores are not cosines"
)


def rows() -> list[str]:
    """All rows that :func:`experiment` knows: "ltd/1.1" to "ltd/4.2.2", "ltd/ours" of Table 3, and
    "ltd/figure-2/0.05" to "ltd/figure-2/0.3"."""
    printed = [f"ltd/{row}" for number in (1, 2) for row in table(f"ltd/{number}").index]
    return [*printed, "ltd/ours", *(f"ltd/figure-2/{eta:g}" for eta in _ETAS)]


def experiment(row: str) -> dict:
    """Settings of a row of LTD's tables, such as ``"ltd/1.5"``, or of a curve of its Figure 2, as they were run.

    One training a row, without a seed. Rows on CxC are the trainings of the rows on MS-COCO. ``finetune_epochs``: the
    epochs after which the image network learns, too.
    """
    choose(row, rows(), "row")
    name = row.removeprefix("ltd/")
    if name.startswith("figure-2/"):
        eta = float(name.rpartition("/")[2])
        return _about(_method("lagrange", LATENT, eta) | LOSS["ntxent"] | SWA, "coco", [TWICE, STALE])
    if name == "ours":
        return _table_3()
    line, (place, kind) = _line(name), _kind(name)
    notes = [CXC.format(row=ROWS["MS-COCO"][kind])] if place == "CxC" else []
    if kind in ("fixed", "tuned"):
        settings, more = _targets(kind)
    else:
        settings, more = _encoder(kind, line)
    notes += more + ([PICKLE] if place == "Flickr30k" else [])
    return _about(settings, _DATA[place], notes, "CxC" if place == "CxC" else "")


def _line(name: str) -> pd.Series:
    printed = table("ltd/1")
    return printed.loc[name] if name in printed.index else table("ltd/2").loc[name]


def _kind(name: str) -> tuple[str, str]:
    """("Flickr30k", "lag") of "1.5"."""
    return next((place, kind) for place, kinds in ROWS.items() for kind, number in kinds.items() if number == name)


def _encoder(kind: str, line: pd.Series) -> tuple[dict, list[str]]:
    """Rows 1.*, 2.* and 3.*: a caption encoder, with a decoder behind it or not."""
    triplet, itd = kind.startswith("triplet"), kind.startswith("itd")
    objective = {"dual": "dual", "lag": "lagrange"}.get(kind.rpartition("_")[2], "con")
    settings = _method(objective, TOKENS if itd else LATENT, line["hyper_parameters"].get("eta"))
    if triplet:
        return settings | LOSS["triplet_sh"] | {"head_norm": True, "average": "none"}, _about_decoder(objective, itd)
    return settings | LOSS["ntxent"] | SWA, [TWICE, *_about_decoder(objective, itd)]


def _about_decoder(objective: str, itd: bool) -> list[str]:
    return [] if objective == "con" else [OVER_TIME if itd else STALE]


def _method(objective: str, auxiliary: dict, eta: float | None) -> dict:
    settings = {"method": "ltd", "objective": objective, "embed_dim": 1024, "precision": "float16"} | WORDS
    if objective == "dual":
        return settings | auxiliary | {"beta": 1.0}
    if objective == "lagrange":
        return settings | auxiliary | {"eta": eta, "multiplier": "published"}
    return settings


def _targets(kind: str) -> tuple[dict, list[str]]:
    """Rows 4.*: the target itself as the caption's vector. No decoder, no words, no mixed precision."""
    settings = {"method": "sentence", "teacher": "sbert", "embed_dim": 384, "precision": "float32"} | SWA
    if kind == "fixed":
        return settings | {"loss": "alignment"}, [STALE]
    return settings | LOSS["ntxent"] | {"tuned": True, "caption_lr": 2e-5}, [STALE, AT_ZERO]


def _table_3() -> dict:
    """The baseline of Table 3, in the way of VSE++."""
    settings = _method("con", {}, None) | LOSS["triplet_sh"] | {"head_norm": True, "average": "none"}
    made = _about(settings, "coco", ["the job is named after Flickr30k, and stands in the list for MS-COCO"])
    del made["restart_lr"]
    return made | {"epochs": 45, "schedule": "step", "milestones": [15], "features": "ResNet-152 on images"}


def _about(settings: dict, dataset: str, notes: list[str], positives: str = "") -> dict:
    """A whole row: the training that all share, and what no argument says."""
    images = "1,000 test images" if dataset == "flickr30k" else "5,000 test images"
    return {
        "dataset": dataset,
        **TRAINING,
        **settings,
        "seeds": 1,
        "selection": "rsum, every epoch",
        "evaluation": images + (f", positives of {positives}" if positives else ""),
        "features": "ResNet-50 on images, fresh crops",
        "notes": "; ".join([ALWAYS, *notes]),
    }

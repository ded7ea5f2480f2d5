"""Rows of published tables as settings of a run: what was run, which is not always what was printed."""

from __future__ import annotations

from icrlib.errors import choose
from icrlib.paper import goal_rows

_LOSSES = ("triplet", "triplet_sh", "ntxent", "smoothap")
_OPTIONS = {
    "triplet": {"margin": 0.2},
    "triplet_sh": {"margin": 0.2},
    "ntxent": {"tau": 0.1},
    "smoothap": {"tau": 0.01},
}
_DATA = {"1": "flickr30k", "2": "coco"}


def experiments() -> list[str]:
    """All rows that :func:`experiment` knows."""
    return [*_ecir_rows(), *goal_rows.rows()]


def _ecir_rows() -> list[str]:
    return [f"ecir/{data}.{row}" for data in _DATA for row in range(1, 9)]


def experiment(row: str) -> dict:
    """Settings of one row of a published table.

    ``"ecir/1.1"`` to ``"ecir/2.8"`` are ECIR's Table 1, as the released job files ran it. ``"goal/4/vit_ft/cir x
    sig-ms"`` is a cell of GOAL's Table 4 as far as the paper states it, and what it would need; see
    :func:`icrlib.paper.goal_rows.experiment`.

    Keys are arguments of :func:`icrlib.load_dataset` (``dataset``) and :func:`icrlib.train`, and ``selection``,
    ``seeds``, ``features`` and ``notes``, which say what cannot be said by an argument. VSRN on Flickr30k dropped its
    learning rate twice, at a third and two thirds, where the paper says once, after 15 epochs.
    """
    if row.startswith("goal/"):
        return goal_rows.experiment(row)
    choose(row, _ecir_rows(), "row", more=("goal/TABLE/SETTING/OBJECTIVE",))
    data, place = row.removeprefix("ecir/").split(".")
    method = "vse++" if int(place) <= 4 else "vsrn"
    loss = _LOSSES[(int(place) - 1) % 4]
    images = loss == "smoothap"
    every = 10 if method == "vsrn" and data == "1" else 15
    return {
        "dataset": _DATA[data],
        "method": method,
        "loss": loss,
        **_OPTIONS[loss],
        "epochs": 150 if images else 30,  # five times as many epochs of images: equal numbers of updates
        "lr_update": every * 5 if images else every,
        "lr": 2e-4,
        "batch_size": 128,
        "batches": "images" if images else "pairs",
        "embed_dim": 1024 if method == "vse++" else 2048,
        "word_dim": 300,
        "grad_clip": 2.0,
        "selection": "rsum, every epoch" if method == "vse++" else "R@1 + R@5 of both directions, every 500 updates",
        "seeds": 5,
        "features": "ResNet-50, fresh crops, batch norm in training mode" if method == "vse++"
                    else "36 bottom-up regions of 2,048 numbers",
        "notes": "no seed was set; the vocabulary counted captions of all splits" if method == "vse++"
                 else "the vocabulary counted training and validation captions",
    }  # fmt: skip

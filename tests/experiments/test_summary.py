"""Records as rows: what makes a group, and what a row is called."""

from __future__ import annotations

import pytest

from icrlib.experiments.summary import summarise

from .made import but, group, record


@pytest.mark.parametrize(
    ("change", "names"),
    [
        ({"lr": 0.003}, ["ntxent (lr 0.001)", "ntxent (lr 0.003)"]),
        ({"loss_options": {"tau": 0.05}}, ["ntxent (tau 0.1)", "ntxent (tau 0.05)"]),
        ({"grad_clip": None}, ["ntxent", "ntxent (grad_clip none)"]),
        ({"data_options": {"seed": 0, "train": 12000}}, ["ntxent (train 1500)", "ntxent (train 12000)"]),
        ({"loss": "smoothap", "batches": "images"}, ["ntxent", "smoothap"]),  # told by the loss
        ({"dataset": "flickr8k", "lr": 0.01}, ["ntxent", "ntxent"]),  # told by the data set
        ({"device": "cuda", "threads": 4, "asked": {"lr": 1}}, ["ntxent"]),
    ],
)
def test_a_row_says_what_differs_and_nothing_else(change, names):
    one = record("ntxent", 0)
    assert summarise([one, but(one, "b.json", **change)])["loss"].tolist() == names


def test_conventions_do_not_merge():
    """Three runs near 263 and three near 411 are two rows, and no 337 ± 74."""
    printed, released = (
        group("goal:cir x lin", sums, loss_options={"tau": 10.0, "convention": convention})
        for sums, convention in (([260.0, 263.0, 266.0], "paper"), ([410.0, 411.0, 412.0], "released"))
    )
    rows = summarise([*printed, *released])
    assert rows["rsum"].tolist() == [263.0, 411.0] and rows["n"].tolist() == [3, 3] and rows["rsum_std"].max() < 3

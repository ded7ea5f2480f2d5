"""Records as rows: what makes a group, what a row is called, and which records are refused."""

from __future__ import annotations

import pytest

from icrlib import evidence, paper

from .made import but, group, record


def rows(*records) -> dict:
    result = evidence.summarise([r for part in records for r in part])
    return {row.loss: row.n for row in result.itertuples()}


def test_conventions_do_not_merge():
    """Three runs near 263 and three near 411 are two rows, and no 337 ± 74."""
    name, constants = "goal:cir x lin", {"tau": 10.0, "eps": 0.1}
    printed = group(name, [260.0, 263.0, 266.0], loss_options=constants | {"convention": "paper"})
    released = group(name, [410.0, 411.0, 412.0], loss_options=constants | {"convention": "released"})
    result = evidence.summarise([*printed, *released])
    assert result["loss"].tolist() == [name, f"{name} (convention released)"] and result["n"].tolist() == [3, 3]
    assert result["rsum"].tolist() == [263.0, 411.0] and result["rsum_std"].max() < 3
    assert rows(printed) == {name: 3} and rows(released) == {name: 3}  # alone, there is nothing to tell apart


@pytest.mark.parametrize(
    ("change", "names"),
    [
        ({"lr": 0.003}, ["ntxent (lr 0.001)", "ntxent (lr 0.003)"]),
        ({"loss_options": {"tau": 0.05}}, ["ntxent (tau 0.1)", "ntxent (tau 0.05)"]),
        ({"grad_clip": None}, ["ntxent", "ntxent (clipping none)"]),
        ({"data_options": {"seed": 0, "train": 12000}}, ["ntxent (train 1500)", "ntxent (train 12000)"]),
        ({"updates": 9000, "drops": [4500]}, ["ntxent (updates 3000)", "ntxent (updates 9000)"]),
        ({"drops": [1000, 2000]}, ["ntxent (drops 1500)", "ntxent (drops 1000/2000)"]),
        ({"loss": "triplet_sh", "warmup": 500}, ["ntxent", "triplet_sh (warm-up 500)"]),
        ({"loss": "smoothap", "batches": "images"}, ["ntxent", "smoothap"]),  # batches belong to the loss
        ({"dataset": "flickr8k", "lr": 0.01}, ["ntxent", "ntxent"]),  # told by the data set
    ],
)
def test_a_row_says_what_differs_and_nothing_else(change, names):
    one = record("ntxent", 0)
    assert evidence.summarise([one, but(one, "b.json", **change)])["loss"].tolist() == names


def test_a_row_is_called_as_the_losses_are():
    warm = group("triplet_sh", [1.0, 2.0], warmup=500)
    assert rows(warm) == {"triplet_sh": 2}
    table = paper.layout(evidence.summarise([*group("triplet_sh", [1.0]), *warm]), style="plain")
    assert table[("", "loss")].tolist() == ["Triplet-SH", "Triplet-SH (warm-up 500)"]


def test_seeds_and_machines_make_no_group():
    own = [
        but(r, device=f"cuda:{i}", threads=i, smoke=bool(i % 2), asked={"lr": i})
        for i, r in enumerate(group("ntxent", [1.0, 2.0, 3.0]))
    ]
    assert rows(own) == {"ntxent": 3}  # each with its own draw of data, and so its own hash
    older = [but(r) for r in group("ntxent", [4.0], data_seed=None)]
    for r in older:
        r["config"]["seed"], r["config"]["changed"] = 7, {}
        for name in ("data_seed", "schedule", "auxiliary", "auxiliary_options", "asked"):
            del r["config"][name]
    assert rows(own, older) == {"ntxent": 4}
    features = group("ntxent", [1.0], drawn=False)
    finer = [but(r, data_hash="finer features") for r in features]
    assert rows(features, finer) == {"ntxent (data photos)": 1, "ntxent (data finer )": 1}


def test_a_run_counts_once():
    runs = group("ntxent", [1.0, 2.0])
    with pytest.raises(ValueError, match="seed 1 .*seed1.json and elsewhere/seed1.json"):
        evidence.summarise([*runs, but(runs[1], "elsewhere/seed1.json")])
    other_draw = but(runs[1], data_options={"seed": 5, "train": 1500}, data_hash="draw 5")
    assert rows(runs, [other_draw]) == {"ntxent": 3}

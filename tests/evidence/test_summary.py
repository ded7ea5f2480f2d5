"""Records as rows: what makes a group, what a row is called, and which records are refused."""

from __future__ import annotations

import pytest

from icrlib import evidence, paper

from .made import but, group, record


def rows(*records) -> dict:
    found = evidence.summarise([r for part in records for r in part])
    return {row.loss: row.n for row in found.itertuples()}


def test_conventions_do_not_merge():
    """Three runs near 263 and three near 411 are two rows, and no 337 ± 74."""
    name, constants = "goal:cir x lin", {"tau": 10.0, "eps": 0.1}
    printed = group(name, [260.0, 263.0, 266.0], loss_options=constants | {"convention": "paper"})
    released = group(name, [410.0, 411.0, 412.0], loss_options=constants | {"convention": "released"})
    found = evidence.summarise([*printed, *released])
    assert found["loss"].tolist() == [name, f"{name} (convention released)"] and found["n"].tolist() == [3, 3]
    assert found["rsum"].tolist() == [263.0, 411.0] and found["rsum_std"].max() < 3
    assert rows(printed) == {name: 3} and rows(released) == {name: 3}  # alone, there is nothing to tell apart
    plain = paper.grid(found.iloc[1:], "rsum", style="plain")
    assert plain.loc["lin", ("rsum", "cir")] == "411.0 ± .8"
    with pytest.raises(ValueError, match="two rows for cir x lin"):
        paper.grid(found)


def test_a_row_says_what_differs_and_nothing_else():
    plain, warm = group("triplet_sh", [1.0, 2.0]), group("triplet_sh", [1.0, 2.0, 3.0], warmup=500)
    assert rows(plain, warm) == {"triplet_sh": 2, "triplet_sh (warm-up 500)": 3}
    assert rows(warm) == {"triplet_sh": 3}
    slow, fast = group("ntxent", [1.0]), group("ntxent", [2.0, 3.0], lr=0.003)
    assert rows(slow, fast) == {"ntxent (lr 0.001)": 1, "ntxent (lr 0.003)": 2}
    cold = [but(r, loss_options={"tau": 0.05}) for r in slow]
    assert rows(slow, cold) == {"ntxent (tau 0.1)": 1, "ntxent (tau 0.05)": 1}
    assert rows(slow, warm) == {"ntxent": 1, "triplet_sh (warm-up 500)": 3}
    every = rows(slow, group("triplet", [1.0]), group("smoothap", [1.0], batches="images"))
    assert every == {"ntxent": 1, "triplet": 1, "smoothap": 1}  # tau, margin and batches belong to the loss
    off = group("ntxent", [1.0], grad_clip=None)
    assert rows(slow, off) == {"ntxent": 1, "ntxent (clipping none)": 1}
    more = [but(r, data_options={"seed": 0, "train": 12000}) for r in slow]
    assert rows(slow, more) == {"ntxent (train 1500)": 1, "ntxent (train 12000)": 1}
    longer = group("ntxent", [1.0], updates=9000, drops=[4500], evaluate_every=750)
    assert rows(slow, longer) == {"ntxent (updates 3000)": 1, "ntxent (updates 9000)": 1}
    dropped = group("ntxent", [1.0], drops=[1000, 2000])
    assert rows(slow, dropped) == {"ntxent (drops 1500)": 1, "ntxent (drops 1000/2000)": 1}
    photos = group("ntxent", [1.0], drawn=False, lr=0.01, updates=99)
    assert rows(slow, photos) == {"ntxent": 1} and len(evidence.summarise([*slow, *photos])) == 2  # told by data set
    shown = paper.layout(evidence.summarise([*plain, *warm]), style="plain")
    assert shown[("", "loss")].tolist() == ["Triplet-SH", "Triplet-SH (warm-up 500)"]


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
    with pytest.raises(ValueError, match="seed 1 .*: records/scenes/ntxent/seed1.json and elsewhere/seed1.json"):
        evidence.summarise([*runs, but(runs[1], "elsewhere/seed1.json")])
    other_draw = but(runs[1], data_options={"seed": 5, "train": 1500}, data_hash="draw 5")
    assert rows(runs, [other_draw]) == {"ntxent": 3}
    unnamed = {name: value for name, value in record("ntxent", 0).items() if name != "path"}
    with pytest.raises(ValueError, match="a record without a path"):
        evidence.summarise([unnamed, unnamed])


def test_baselines_say_what_they_are():
    bags = [group(loss, [1.0, 2.0], method="bow", model_options={}) for loss in ("ntxent", "triplet")]
    vse = group("ntxent", [3.0, 4.0])
    page = paper.layout(evidence.summarise([*vse, *bags[0]])).data
    assert ">bag of words<" in page and "VSE++" in page
    page = paper.layout(evidence.summarise([*vse, *bags[0], *bags[1]])).data
    assert ">bag of words, NT-Xent<" in page and ">bag of words, Triplet<" in page

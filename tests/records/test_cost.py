"""What runs will cost, from past records."""

from __future__ import annotations

from pathlib import Path
from statistics import mean, median

import pytest
from click.testing import CliRunner

from icrlib import records
from icrlib.cli import main
from icrlib.records import cost


def record(dataset="scenes", method="vse++", loss="ntxent", updates=100, seconds=10.0, size=8):
    config = {"dataset": dataset, "method": method, "loss": loss, "updates": updates}
    machine = {"peak_memory_mb": 50, "parameters": 1000, "device": {"name": "x"}, "threads": 1, "path": "r.json"}
    return {"config": config | {"model_options": {"embed_dim": size}}, "wall_seconds": seconds,
            "updates_per_epoch": 5, **machine}  # fmt: skip


def test_the_nearest_kind_and_size_counts():
    known = [record(), record(seconds=20.0), record(loss="triplet", seconds=5.0), record(dataset="coco", seconds=90.0),
             record(size=16, seconds=40.0)]  # fmt: skip
    base = {"dataset": "scenes", "method": "vse++", "loss": "ntxent"}
    assert cost.estimate(base | {"updates": 300}, known).seconds == pytest.approx(30)  # the quickest of its kind
    assert cost.estimate(base | {"updates": 100, "embed_dim": 16}, known).seconds == pytest.approx(40)
    assert cost.estimate(base | {"epochs": 4}, known).updates == 20
    other = cost.estimate({"dataset": "flickr8k", "method": "vse++", "loss": "triplet"}, known)
    assert other.seconds == 5 and not other.exact
    assert cost.estimate({"method": "nobody"}, known) is None


def test_a_grid_is_a_product():
    axes = ["-p", "loss=ntxent,triplet", "-p", "seed=0,1,2", "-p", "updates=1000"]
    said = CliRunner().invoke(main, ["plan", *axes]).output
    assert said.startswith("6 runs, ") and "ntxent: 3 runs" in said and "core-hours" in said
    wrong = CliRunner().invoke(main, ["plan", "-p", "loss"])
    assert wrong.exit_code == 2 and "write NAME=VALUE" in wrong.output


def test_the_readmes_numbers_are_those_of_the_records():
    """Nobody's memory: times of default runs, and what the bag of words and the best loss reach on Flickr8k."""
    text = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    seconds = {loss: [r["wall_seconds"] for r in records.find(study="ecir", method="vse++", loss=loss)]
               for loss in ("ntxent", "smoothap")}  # fmt: skip
    assert f"{min(seconds['ntxent']):.0f} seconds and more, median {median(seconds['ntxent']):.0f};" in text
    slow = [one / 60 for one in seconds["smoothap"]]
    assert f"SmoothAP {min(slow):.1f} minutes and more, median {median(slow):.1f} " in text

    def reached(method, loss):
        found = records.find(study="photo_runs", method=method, loss=loss)
        return f"{mean(r['test']['rsum'] for r in found):.1f}"

    for name, loss in (("NT-Xent", "ntxent"), ("Triplet-SH", "triplet_sh"), ("Triplet", "triplet")):
        assert f"{name} {reached('vse++', loss)} against {reached('bow', loss)}" in " ".join(text.split())
    minutes = [r["wall_seconds"] / 60 for r in records.find(study="photo_runs", method="vse++")]
    assert f"15 epochs | {min(minutes):.1f} to {max(minutes):.1f} minutes" in text
    tried = {(r["config"]["lr"], r["config"]["drop_words"]): r["chosen"]["val_rsum"]
             for r in records.find(study="photo_tuning", method="vse++", loss="ntxent")}  # fmt: skip
    assert max(tried, key=tried.get) == (0.003, 0.4)
    worth = f"was worth {tried[0.003, 0.4] - tried[0.001, 0.0]:.0f} rsum on the validation photos"
    assert f"over `lr=0.001` and none {worth}" in " ".join(text.split())

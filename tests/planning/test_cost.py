"""What runs will cost, from past records."""

from __future__ import annotations

from pathlib import Path
from statistics import median

import pytest
from click.testing import CliRunner

from icrlib import records
from icrlib.cli import main
from icrlib.planning import cost

from .made import configured, noted


def record(seconds=10.0, **config):
    return noted(configured(**config), seconds)


def test_the_nearest_kind_and_size_counts():
    known = [
        record(),
        record(seconds=20.0),
        record(loss="triplet", seconds=5.0),
        record(dataset="coco", seconds=90.0),
        record(size=16, seconds=40.0),
    ]
    like = cost.estimate(configured(updates=300), known)
    assert (like.seconds, like.updates, like.exact) == (pytest.approx(30), 300, True)  # the quickest of its kind
    assert cost.estimate(configured(size=16), known).seconds == pytest.approx(40)
    other = cost.estimate(configured(loss="triplet_sh"), known)  # the same products, so of one loss as of another
    assert other.seconds == pytest.approx(5) and other.scaled.endswith("from a record with loss=triplet")
    assert cost.estimate(configured(method="vsrn"), known) is None
    assert cost.estimate(configured(), [record(smoke=True)]) is None  # a quick try tells nothing of a training
    images = {"loss": "smoothap", "batches": "images"}  # held against such, rather than against a nearer size
    known = [record(size=64, seconds=80.0, **images), record(size=260)]
    assert cost.estimate(configured(size=128, **images), known).like is known[0]


@pytest.mark.parametrize(
    ("usual", "more"),
    [
        ("embed_dim=8", {"size": 1024}),
        ("batches=pairs", {"batches": "images"}),
        ("accumulate=1", {"accumulate": 4}),
        ("dataset=scenes", {"dataset": "flickr30k"}),
    ],
)
def test_what_drives_the_time_is_scaled_and_said(usual, more):
    """More operations take more time and memory, and the sentence names what the record had instead."""
    same, larger = (cost.estimate(configured(**one), [record()]) for one in ({}, more))
    assert larger.seconds > 1.5 * same.seconds and larger.memory_mb >= same.memory_mb and not larger.exact
    text = cost.sentence(configured(**more), records=[record()])
    assert "scaled by counted operations" in text and usual in text


def test_evaluations_are_counted():
    """A short run that was looked at often says less about updates than its seconds suggest."""
    often, once = (record(evaluate_every=every, updates=100) for every in (1, 100))
    wanted = configured(updates=1000, evaluate_every=1000)
    assert cost.estimate(wanted, [often]).seconds < 0.5 * cost.estimate(wanted, [once]).seconds


@pytest.mark.parametrize("more", [{"device": "cuda"}, {"backbone": "resnet50"}, {"method": "own.module:Part"}])
def test_what_cannot_be_told_is_unknown(more):
    wanted = configured(**more)
    assert cost.estimate(wanted, [record()]) is None
    assert "plan: 100 updates, of unknown length: " in cost.sentence(wanted, records=[record()])
    assert cost.estimate(wanted, [record(**more)]).exact  # its own kind tells, countable or not
    changed = cost.estimate(wanted | {"batch_size": 256}, [record(**more)])
    assert (changed is None) == ("method" in more)


def test_memory_and_disk_grow_with_the_parameters():
    """Twin: 16 bytes a parameter in memory, 20 on disk, of a model that is really built."""
    from icrlib.models import build

    wanted = configured("flickr30k", size=1024, model_options={"embed_dim": 1024, "word_dim": 300})
    result = cost.estimate(wanted, [record()])
    parameters = sum(p.numel() for p in build("vse++", 2048, 8_481, embed_dim=1024, word_dim=300).parameters())
    assert result.disk_mb == pytest.approx(parameters * 20 / 1e6)
    assert result.memory_mb > 50 + 16 * parameters / 1e6


def test_a_grid_is_a_product():
    axes = ["-p", "loss=ntxent,triplet", "-p", "seed=0,1,2"]
    output = CliRunner().invoke(main, ["plan", *axes, "-p", "updates=1000"]).output
    assert output.startswith("6 runs, ") and "ntxent: 3 runs" in output
    done = CliRunner().invoke(main, ["plan", *axes]).output  # the book's own
    assert done.startswith("6 runs, 0.0 core-minutes (6 finished)")
    wrong = CliRunner().invoke(main, ["plan", "-p", "loss"])
    assert wrong.exit_code == 1 and "NAME=VALUE" in wrong.output


def test_the_readmes_numbers_are_those_of_the_records():
    """Nobody's memory: how long default runs take, on scenes and on Flickr8k."""
    text = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    seconds = {
        loss: [r["wall_seconds"] for r in records.find(study="ecir", method="vse++", loss=loss)]
        for loss in ("ntxent", "smoothap")
    }
    assert f"{min(seconds['ntxent']):.0f} seconds and more, median {median(seconds['ntxent']):.0f};" in text
    slow = [one / 60 for one in seconds["smoothap"]]
    assert f"SmoothAP {min(slow):.1f} minutes and more, median {median(slow):.1f} " in text
    minutes = [r["wall_seconds"] / 60 for r in records.find(study="photo_runs", method="vse++")]
    assert f"15 epochs | {min(minutes):.1f} to {max(minutes):.1f} minutes" in text

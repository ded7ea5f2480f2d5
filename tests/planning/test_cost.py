"""What runs will cost, from past records."""

from __future__ import annotations

from pathlib import Path
from statistics import median

import pytest
from click.testing import CliRunner

from icrlib import records
from icrlib.cli import main
from icrlib.planning import cost, operations

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


@pytest.mark.parametrize(
    ("what", "more"),
    [
        ("embed_dim", {"size": 1024}),
        ("batch_size", {"batch_size": 512}),
        ("batches", {"batches": "images"}),
        ("accumulate", {"accumulate": 4}),
        ("dataset", {"dataset": "flickr30k"}),
    ],
)
def test_what_drives_the_time_is_scaled_and_said(what, more):
    """More operations take more time and memory, and the sentence names what the record had instead."""
    known = [record()]
    same, larger = (cost.estimate(configured(**one), known) for one in ({}, more))
    assert larger.seconds > 1.5 * same.seconds and larger.memory_mb >= same.memory_mb and not larger.exact
    said = cost.sentence(configured(**more), records=known)
    usual = {"embed_dim": 8, "accumulate": 1}.get(what, configured().get(what))
    assert "scaled by counted operations" in said and f"{what}={usual}" in said
    assert "scaled" not in cost.sentence(configured(), records=known)


@pytest.mark.parametrize(
    ("seconds", "jobs", "done"),
    [
        ([338, 264], 2, 338),
        ([1, 1, 1, 9], 2, 10),
        ([9, 1, 1, 1], 2, 9),
        ([3, 2], 5, 3),
        ([2, 3, 4], 1, 9),
        ([], 3, 0),
    ],
)
def test_several_at_a_time_take_no_less_than_the_longest(seconds, jobs, done):
    assert cost.until_done(seconds, jobs) == done


def test_the_data_s_own_sizes_count():
    """Twice as long captions and larger features, measured, make an update larger than the assumed ones."""
    sizes = operations.assumed(configured())
    base = cost.estimate(configured(data_hash="a"), [record()], sizes).seconds
    longer = cost.estimate(configured(data_hash="a"), [record()], sizes | {"words": 40.0}).seconds
    wider = cost.estimate(configured(data_hash="a"), [record()], sizes | {"features": (4096,)}).seconds
    assert base < longer and base < wider
    its_own = cost.estimate(configured(data_hash="a"), [record(data_hash="a")], sizes | {"words": 40.0})
    assert its_own.seconds == pytest.approx(10)  # the record is of the same data


def test_batches_of_images_are_held_against_such_rather_than_against_a_nearer_size():
    """SmoothAP at twice the size is nearer to SmoothAP than to pairs of as many operations."""
    images = {"loss": "smoothap", "batches": "images"}
    known = [record(size=64, seconds=80.0, **images), record(size=260), record(size=64, dataset="coco", **images)]
    found = cost.estimate(configured(size=128, **images), known)
    assert found.like is known[0] and found.scaled.endswith("from a record with embed_dim=64")


def test_a_quick_try_tells_nothing_of_a_training():
    assert cost.estimate(configured(), [record(smoke=True)]) is None
    assert cost.estimate(configured(smoke=True), [record()]).seconds == pytest.approx(10)


def test_evaluations_are_counted():
    """A short run that was looked at often says less about updates than its seconds suggest."""
    often, once = (record(evaluate_every=every, updates=100) for every in (1, 100))
    wanted = configured(updates=1000, evaluate_every=1000)
    assert cost.estimate(wanted, [often]).seconds < 0.5 * cost.estimate(wanted, [once]).seconds


@pytest.mark.parametrize(
    "more",
    [
        {"device": "cuda"},
        {"precision": "bfloat16"},
        {"backbone": "resnet50"},
        {"auxiliary": "own:Part"},
        {"method": "own.module:Part"},
    ],
)
def test_what_cannot_be_told_is_unknown(more):
    known, wanted = [record()], configured(**more)
    assert cost.estimate(wanted, known) is None
    said = cost.sentence(wanted, records=known)
    assert "plan: 100 updates, of unknown length: " in said and "no record" in said
    assert ("on a GPU yet" in said) == ("device" in more)
    assert cost.estimate(wanted, [record(**more)]).exact  # its own kind tells, countable or not
    changed = wanted | {"batch_size": 256}
    assert (cost.estimate(changed, [record(**more)]) is None) == ("auxiliary" in more or "method" in more)


def test_memory_and_disk_grow_with_the_parameters():
    """Twin: 16 bytes a parameter in memory, 20 on disk, of a model that is really built."""
    from icrlib.models import build

    wanted = configured("flickr30k", size=1024, model_options={"embed_dim": 1024, "word_dim": 300})
    found = cost.estimate(wanted, [record()])
    parameters = sum(p.numel() for p in build("vse++", 2048, 8_481, embed_dim=1024, word_dim=300).parameters())
    assert found.disk_mb == pytest.approx(parameters * 20 / 1e6)
    assert found.memory_mb > 50 + 16 * parameters / 1e6


def test_a_grid_is_a_product():
    axes = ["-p", "loss=ntxent,triplet", "-p", "seed=0,1,2", "-p", "updates=1000"]
    said = CliRunner().invoke(main, ["plan", *axes]).output
    assert said.startswith("6 runs, ") and "core-minutes" in said
    done = CliRunner().invoke(main, ["plan", "-p", "loss=ntxent,triplet", "-p", "seed=0,1,2"]).output  # the book's own
    assert done.startswith("6 runs, 0.0 core-minutes (6 finished)")
    wrong = CliRunner().invoke(main, ["plan", "-p", "loss"])
    assert wrong.exit_code == 1 and "write NAME=VALUE" in wrong.output


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

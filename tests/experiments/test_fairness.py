"""Which sides may be compared at all: every stray difference is refused, and the message names it."""

from __future__ import annotations

import pytest

from icrlib.experiments import compare

from .made import but, group, named, record, side

OURS, OTHER = [420.0, 431.0, 425.0, 428.0], [401.0, 405.0, 399.0, 407.0]


def less(ours, other, factor="loss", **more):
    return compare(*(one if hasattr(one, "searched") else named(one) for one in (ours, other)), factor, **more)


def with_options(records, **config):
    """Draws with other options of the data; their seeds stay."""
    return [but(r, data_options={"seed": r["config"]["seed"], "train": 1500} | config) for r in records]


@pytest.mark.parametrize(
    ("factor", "ours", "other"),
    [
        ("loss", {"loss": "triplet_sh", "per_epoch": 59}, {"loss": "smoothap", "batches": "images", "per_epoch": 12}),
        ("loss", {}, {"loss_options": {"tau": 0.05}}),
        ("loss", {"learn_tau": False}, {"loss": "siglip", "learn_tau": True, "learn_bias": True}),
        ("method", {}, {"method": "bow", "model_options": {}}),
        ("updates", {}, {"updates": 6000, "drops": [3000], "evaluate_every": 500}),
        ("grad_clip", {}, {"grad_clip": None}),
        ("loss", {"start_from": {"loss": "dcl", "seed": 0}}, {"loss": "siglip", "start_from": {"loss": "siglip"}}),
        ("objective", {"auxiliary": "latent", "objective": "lagrange", "eta": 0.1}, {"objective": "con", "eta": None}),
        ("train", {}, {"data_options": {"seed": 0, "train": 1500}}),  # equal, but for the seeds below
    ],
)
def test_a_factor_is_all_that_belongs_to_it(factor, ours, other):
    one, two = (group(c.pop("loss", "ntxent"), s, **c) for c, s in ((dict(ours), OURS), (dict(other), OTHER)))
    if factor == "train":
        one, two = [but(r, data_hash="more") for r in with_options(one, train=12000)], with_options(two)
    assert less(one, two, factor).n == 4


STRAY = {
    "updates": 6000,
    "lr": 0.003,
    "grad_clip": None,
    "method": "bow",
    "dataset": "flickr8k",
    "model_options": {"embed_dim": 256},
    "auxiliary": "latent",
    "word_drop": 0.2,
    "finetune_after": 0,
    "average": {"snapshots": 5},
}


@pytest.mark.parametrize("setting", STRAY)
def test_any_other_difference_is_refused(setting):
    ours, other, change = group("triplet_sh", OURS), group("ntxent", OTHER), {setting: STRAY[setting]}
    with pytest.raises(ValueError, match=f"more than 'loss'.*: {setting}"):
        less(ours, [but(r, **change) for r in other])
    with pytest.raises(ValueError, match=f"our side differ in {setting}"):
        less([*ours[:3], but(ours[3], **change)], other)


def test_what_changes_no_result_is_no_difference():
    ours, other = group("triplet_sh", OURS), group("ntxent", OTHER)
    older = [but(r) for r in other]
    for r in older:  # from before these settings existed
        for name in ("schedule", "auxiliary", "asked"):
            del r["config"][name]
    moved = [but(r, device="cuda", threads=4, asked={"lr": 0.001}, changed={"lr": 0.001}) for r in other]
    newer = [but(r, word_drop=0.0, average="none", erase=0.0, pictures={}) for r in other]
    longer = [but(r, epochs=150) for r in other]  # equal updates: an epoch over images is shorter
    for one in (moved, older, newer, longer):
        assert less(ours, one).word == "ahead"
    staged = ([but(r, start_from={"seed": r["config"]["seed"]}) for r in of] for of in (ours, other))
    assert less(*staged).word == "ahead"  # each draw with a first stage of its own


PAIR = group("triplet_sh", OURS), group("ntxent", OTHER)
STRAY_TAU = but(record("ntxent", 2, 500.0), "records/stray.json", loss_options={"tau": 0.05})
OWN_DRAW = but(PAIR[1][1], data_options={"seed": 9, "train": 1500}, data_hash="draw 9")
SHARED = [[*of[:3], but(of[3], data_options={"seed": 0, "train": 1500}, data_hash="draw 0")] for of in PAIR]
PHOTOS = [group(loss, sums, drawn=False) for loss, sums in (("triplet_sh", OURS), ("ntxent", OTHER))]


@pytest.mark.parametrize(
    ("ours", "other", "factor", "word"),
    [
        (PAIR[0], [STRAY_TAU, *PAIR[1]], "loss", "other side differ in loss_options.tau.*stray.json"),
        (PAIR[0], [*PAIR[1], but(PAIR[1][1], "again.json")], "loss", "seed 1 twice: .*again.json"),
        (PAIR[0], PAIR[0], "loss", "do not differ in 'loss'"),
        (PAIR[0], group("ntxent", OTHER, evaluations=10), "loss", "numbers of evaluations"),
        (PAIR[0], [*PAIR[1][:3], but(PAIR[1][3], data_hash="another")], "loss", "seed 3 saw other data"),
        (PAIR[0], [PAIR[1][0], OWN_DRAW, *PAIR[1][2:]], "loss", "seed 1 saw other data"),
        (PAIR[0], with_options(PAIR[1], train=12000), "loss", "data_options.train"),
        (*SHARED, "loss", "4 runs on 3 draws"),
        (PHOTOS[0], [but(r, data_hash="other features") for r in PHOTOS[1]], "loss", "data_hash"),
        (*PAIR, "grad_clp", "Did you mean 'grad_clip'"),
        (*PAIR, "method", "more than 'method'.*loss"),
        (PAIR[0], [record("ntxent", 9)], "loss", "no draw that both"),
    ],
)
def test_what_is_no_fair_pair_is_refused(ours, other, factor, word):
    with pytest.raises(ValueError, match=word):
        less(ours, other, factor)


def test_what_was_searched_for_both_may_differ_and_no_side_is_favoured():
    ours = side("triplet_sh", OURS, ["lr", "warmup"], warmup=500)
    other = side("ntxent", OTHER, ["lr"], lr=0.003)
    assert compare(ours, other).word == "ahead"  # without a start nothing was left unsearched
    late = side("ntxent", OTHER, ["lr"], lr=0.003, warmup=100)
    for one, two, name in ((side("triplet_sh", OURS), other, "lr"), (ours, late, "warmup"), (late, ours, "warmup")):
        with pytest.raises(ValueError, match=f"{name} was searched for one side"):
            compare(one, two)


def test_constants_are_searched_for_both_losses_or_for_neither():
    ours, other = side("triplet", OURS, ["lr", "margin"]), side("ntxent", OTHER, ["lr", "tau"])
    assert compare(ours, other).word == compare(ours, side("none", OTHER, ["lr"])).word == "ahead"
    for one, two in ((ours, side("ntxent", OTHER, ["lr"])), (side("smoothap", OURS, ["lr"]), ours)):
        with pytest.raises(ValueError, match="margin was searched for one side, and no constant for the other"):
            compare(one, two)
    assert compare(ours, side("ntxent", OTHER, ["lr"]), "system").word == "ahead"

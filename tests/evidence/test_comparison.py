"""Which groups of runs may be compared at all: every stray difference is refused, and the message names it."""

from __future__ import annotations

import pytest

from icrlib.evidence import common_draws, verdict

from .made import but, group, record

OURS, OTHER = [420.0, 431.0, 425.0, 428.0], [401.0, 405.0, 399.0, 407.0]


def sides(**config):
    return group("triplet_sh", OURS, **config), group("ntxent", OTHER, **config)


def decide(ours, other, **more):
    return verdict("SH is better", "greater", ours, other, **more)


def test_a_fair_comparison_is_decided_by_pairs_of_draws():
    ours, other = sides()
    result = decide(ours, other[::-1])
    plain = verdict("SH is better", "greater", dict(enumerate(OURS)), dict(enumerate(OTHER)), unit="rsum")
    assert result.word == plain.word == "reproduced" and result.difference == plain.difference and result.p == plain.p
    assert result.n == 4 and result.basis == "4 pairs, over draws of data"
    assert decide(ours, other, own=True).word == "holds"
    fixed = [[but(r, data_options={"seed": 0, "train": 1500}, data_hash="one") for r in side] for side in (ours, other)]
    assert "test set fixed" in decide(*fixed).basis


def test_a_stray_temperature_never_changes_a_claim():
    """Another seed, the same seed, first or last, on either side: always refused, with both values and both paths."""
    ours, other = sides()
    for seed, place in ((2, 0), (4, 0), (4, 4), (2, 4)):
        stray = but(record("ntxent", seed, 500.0), "records/stray.json", loss_options={"tau": 0.05})
        dirty = [*other[:place], stray, *other[place:]]
        with pytest.raises(ValueError, match="other side differ in loss_options.tau") as caught:
            decide(ours, dirty)
        assert "0.05" in str(caught.value) and "records/stray.json" in str(caught.value)
        with pytest.raises(ValueError, match="our side differ in loss_options.tau"):
            decide(dirty, ours)


@pytest.mark.parametrize(
    ("loss", "ours", "second", "other"),
    [
        ("triplet_sh", {"per_epoch": 59}, "smoothap", {"batches": "images", "per_epoch": 12}),
        ("ntxent", {}, "ntxent", {"loss_options": {"tau": 0.05}}),
        ("goal:cir x lin", {}, "goal:cir x lin", {"loss_options": {"convention": "released"}}),
        ("ntxent", {"learn_tau": False}, "siglip", {"learn_tau": True, "learn_bias": True}),
    ],
)
def test_a_loss_is_its_name_constants_and_batches(loss, ours, second, other):
    """An epoch of images has fewer batches, and that is no other factor."""
    assert decide(group(loss, OURS, **ours), group(second, OTHER, **other)).word == "reproduced"


def test_a_learned_temperature_is_part_of_the_loss():
    learned = group("siglip", OTHER, learn_tau=True, learn_bias=True)
    with pytest.raises(ValueError, match="our side differ in learn_tau"):
        decide([*learned[:2], *(but(r, learn_tau=False) for r in learned[2:])], group("ntxent", OTHER))


DIFFERENCES = {
    "updates": 6000,
    "drops": [1000, 2000],
    "evaluate_every": 125,
    "lr": 0.003,
    "warmup": 500,
    "grad_clip": None,
    "method": "bow",
    "dataset": "flickr8k",
    "model_options": {"embed_dim": 256},
    "auxiliary": "latent",
    "word_drop": 0.2,
    "finetune_after": 0,
    "positives": "image",
    "average": {"snapshots": 5},
}


@pytest.mark.parametrize("setting", DIFFERENCES)
def test_any_other_difference_is_refused(setting):
    (ours, other), change = sides(), {setting: DIFFERENCES[setting]}
    with pytest.raises(ValueError, match=f"more than 'loss': {setting}"):
        decide(ours, [but(r, **change) for r in other])
    with pytest.raises(ValueError, match=f"our side differ in {setting}"):
        decide([*ours[:3], but(ours[3], **change)], other)


def test_what_changes_no_result_is_no_difference():
    ours, other = sides()
    moved = [but(r, device="cuda", threads=4, asked={"lr": 0.001}, changed={"lr": 0.001}) for r in other]
    older = [but(r) for r in other]
    for r in older:  # from before these settings existed
        for name in ("schedule", "auxiliary", "auxiliary_options", "asked"):
            del r["config"][name]
    newer = [but(r, word_drop=0.0, average=None, erase=False, pictures={}) for r in other]
    longer = [but(r, epochs=150) for r in other]  # equal updates: an epoch over images is shorter
    for side in (moved, older, newer, longer):
        assert decide(ours, side).word == "reproduced"


def drawn_with(runs, train=1500, **config):
    return [but(r, data_options={"seed": r["config"]["seed"], "train": train}, **config) for r in runs]


def test_the_data_of_a_pair_are_the_same():
    ours, other = sides()
    with pytest.raises(ValueError, match="seed 3 saw other data"):
        decide(ours, [*other[:3], but(other[3], data_hash="another generator")])
    with pytest.raises(ValueError, match="data_options.train"):
        decide(ours, drawn_with(other, 12000))
    more = drawn_with(ours, 12000, data_hash="more")
    assert decide(more, ours, factor="train").n == 4  # there other data are what is claimed
    again = [[*side[:3], but(side[3], data_options={"seed": 0, "train": 1500}, data_hash="draw 0")] for side in sides()]
    with pytest.raises(ValueError, match="4 runs on 3 draws"):
        decide(*again)
    photos = [group(loss, sums, drawn=False) for loss, sums in (("triplet_sh", OURS), ("ntxent", OTHER))]
    with pytest.raises(ValueError, match="data_hash"):
        decide(photos[0], [but(r, data_hash="other features") for r in photos[1]])


def test_seeds_are_paired_and_come_once():
    ours, other = sides()
    again = but(other[1], "records/again.json")
    own_draw = but(ours[1], data_options={"seed": 9, "train": 1500}, data_hash="draw 9")
    for one, two, message in (
        (ours, [*other, again], "seed 1 twice: .*seed1.json and records/again.json"),
        ([*ours, own_draw], other, "seed 1 twice"),
        (ours, other[:3], r"\[0, 1, 2, 3\] against \[0, 1, 2\]"),
        (ours, [], "no runs"),
        (ours, ours, "do not differ in 'loss'"),
        (ours, {0: 1.0, 1: 2.0, 2: 3.0, 3: 4.0}, "two lists of records"),
        (ours, group("ntxent", OTHER, evaluations=10), "unequal numbers of evaluations"),
    ):
        with pytest.raises(ValueError, match=message):
            decide(one, two)


CHOICE = {"triplet_sh": {"lr": 0.001, "warmup": 500, "margin": 0.2}, "ntxent": {"lr": 0.003, "tau": 0.05}}


def tuned(**changes):
    ours = group("triplet_sh", OURS, warmup=500)
    other = group("ntxent", OTHER, **({"lr": 0.003, "loss_options": {"tau": 0.05}} | changes))
    return ours, other


def test_tuned_settings_may_differ_if_they_are_the_chosen_ones():
    assert decide(*tuned(), tuning=CHOICE).word == "reproduced"
    with pytest.raises(ValueError, match="lr 0.001 against 0.003; warmup 500 against 0"):
        decide(*tuned())
    for changes, message in (
        ({"lr": 0.01}, "lr is 0.01"),
        ({"lr": 0.001}, "lr is 0.001"),
        ({"loss_options": {"tau": 0.1}}, "loss_options.tau is 0.1"),
        ({"warmup": 100}, "warmup is 100"),
        ({"updates": 6000}, "updates 3000 against 6000"),
    ):
        with pytest.raises(ValueError, match=message):
            decide(*tuned(**changes), tuning=CHOICE)
    with pytest.raises(ValueError, match="no choice for 'ntxent'"):
        decide(*tuned(), tuning={"triplet_sh": {}})
    with pytest.raises(ValueError, match="'temperature'"):
        decide(*tuned(), tuning=CHOICE | {"ntxent": {"temperature": 0.05}})


def test_other_factors():
    vse, bow = group("ntxent", OURS), group("ntxent", OTHER, method="bow", model_options={})
    assert decide(vse, bow, factor="method").word == "reproduced"
    with pytest.raises(ValueError, match="loss ntxent against triplet"):
        decide(vse, group("triplet", OTHER, method="bow"), factor="method")
    options = [{"seed": seed, "train": 1500, "regions": True} for seed in range(4)]
    regions = {"method": "vsrn", "data_hash": "regions"}
    boxes = [but(r, data_options=more, **regions) for r, more in zip(vse, options, strict=True)]
    assert decide(boxes, bow, factor="method").n == 4
    for strange in ({"seed": 9}, {"train": 12000}):
        odd = but(boxes[3], data_options=options[3] | strange)
        with pytest.raises(ValueError, match="saw other data|our side differ in data_options.train"):
            decide([*boxes[:3], odd], bow, factor="method")
    off = group("ntxent", OTHER, grad_clip=None)
    assert decide(vse, off, factor="grad_clip").word == "reproduced"
    twice = group("ntxent", OTHER, updates=6000, drops=[3000], evaluate_every=500)
    assert decide(vse, twice, factor="updates").word == "reproduced"
    with pytest.raises(ValueError, match="Did you mean 'grad_clip'"):
        decide(vse, off, factor="grad_clp")
    best = {"vse++": {"lr": 0.003}, "bow": {"lr": 0.01}}
    fast = group("ntxent", OURS, lr=0.003), group("ntxent", OTHER, method="bow", model_options={}, lr=0.01)
    assert decide(*fast, factor="method", tuning=best).word == "reproduced"


def test_against_a_number_and_other_measures():
    runs = group("ntxent", OURS)
    for r, swap in zip(runs, (78.0, 77.0, 80.0, 79.0), strict=True):
        r["test"]["twins"] = {"swap": swap}
    result = verdict("reads", "greater", runs, 50.0, measure="test.twins.swap", own=True)
    by_hand = verdict("reads", "greater", {0: 78.0, 1: 77.0, 2: 80.0, 3: 79.0}, dict.fromkeys(range(4), 50.0))
    assert result.word == "holds" and result.difference == by_hand.difference
    assert verdict("c", "greater", runs, group("triplet", OTHER), measure=lambda r: r["test"]["rsum"]).n == 4
    with pytest.raises(ValueError, match="seed0.json.*'test.twins.swap'"):
        decide(group("triplet", OTHER), 50.0, measure="test.twins.swap")
    runs[2]["test"]["rsum"] = float("nan")
    with pytest.raises(ValueError, match="seed2.json.*nan"):
        decide(runs, group("triplet", OTHER))


def test_draws_that_all_groups_have_in_one_order():
    three, two = group("ntxent", [1.0, 2.0, 3.0]), [record("triplet", 2, 5.0), record("triplet", 0, 4.0)]
    result = common_draws({"a": reversed(three), "b": two})
    assert result == {"a": [three[0], three[2]], "b": [two[1], two[0]]}
    assert common_draws({"a": three, "none": []}) == {"a": [], "none": []} and common_draws({}) == {}


def test_an_objective_is_what_stands_beside_the_loss_and_how_it_is_weighed():
    alone = group("ntxent", OTHER, objective="con", auxiliary=None, auxiliary_options={}, beta=1.0, eta=None)
    weighed = {"objective": "lagrange", "auxiliary": "latent", "beta": 1.0, "eta": 0.1, "multiplier": "projected"}
    held = group("ntxent", OURS, auxiliary_options={"target": "sbert"}, **weighed)
    other = [but(r, auxiliary_options={"target": "form"}, eta=0.33) for r in held]
    assert decide(held, alone, factor="objective").n == decide(held, other, factor="objective").n == 4
    with pytest.raises(ValueError, match="more than 'objective': lr"):
        decide(held, [but(r, lr=0.003) for r in alone], factor="objective")
    with pytest.raises(ValueError, match="our side differ in eta"):
        decide([*held[:3], but(held[3], eta=0.2)], alone, factor="objective")
    with pytest.raises(ValueError, match="auxiliary_options.target"):
        decide(held, [but(r, auxiliary_options={"target": "form"}) for r in held])

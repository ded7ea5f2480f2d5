"""Which groups of runs may be compared at all: every stray difference is refused, and the message names it."""

from __future__ import annotations

import pytest

from icrlib.evidence import common_draws, summarise, verdict

from .made import but, group, record

OURS, OTHER = [420.0, 431.0, 425.0, 428.0], [401.0, 405.0, 399.0, 407.0]


def sides(**config):
    return group("triplet_sh", OURS, **config), group("ntxent", OTHER, **config)


def decide(ours, other, **more):
    return verdict("SH is better", "greater", ours, other, **more)


def test_a_fair_comparison_is_decided_by_pairs_of_draws():
    ours, other = sides()
    found = decide(ours, other[::-1])
    plain = verdict("SH is better", "greater", dict(enumerate(OURS)), dict(enumerate(OTHER)), unit="rsum")
    assert found.word == plain.word == "reproduced" and found.difference == plain.difference and found.p == plain.p
    assert found.n == 4 and found.basis == "4 pairs, over draws of data"
    assert decide(ours, other, own=True).word == "holds"
    fixed = [[but(r, data_options={"seed": 0, "train": 1500}, data_hash="one") for r in side] for side in (ours, other)]
    assert "test set fixed" in decide(*fixed).basis


def test_a_stray_temperature_never_changes_a_claim():
    """Another seed, the same seed, first or last, on either side: always refused, with both values and both paths."""
    ours, other = sides()
    for seed, place in ((2, 0), (4, 0), (4, 4), (2, 4)):
        stray = but(record("ntxent", seed, 500.0), "records/stray.json", loss_options={"tau": 0.05})
        dirty = [*other[:place], stray, *other[place:]]
        with pytest.raises(ValueError, match="other side differ in loss_options.tau: 0.*records/.*records/") as said:
            decide(ours, dirty)
        assert "0.05" in str(said.value) and "records/stray.json" in str(said.value)
        with pytest.raises(ValueError, match="our side differ in loss_options.tau"):
            decide(dirty, ours)


def test_a_loss_is_its_name_constants_and_batches():
    ours, _ = sides()
    images = group("smoothap", OTHER, batches="images")
    assert decide(ours, images).word == "reproduced"
    colder = [but(r, loss_options={"tau": 0.05}) for r in group("ntxent", OTHER)]
    assert decide(group("ntxent", OURS), colder).word == "reproduced"
    released = group("goal:cir x lin", OTHER, loss_options={"convention": "released"})
    assert decide(group("goal:cir x lin", OURS, loss_options={"convention": "paper"}), released).word == "reproduced"
    learned = group("siglip", OTHER, learn_tau=True, learn_bias=True)
    assert decide(group("ntxent", OURS, learn_tau=False), learned).word == "reproduced"
    with pytest.raises(ValueError, match="our side differ in learn_tau"):
        decide([*learned[:2], *(but(r, learn_tau=False) for r in learned[2:])], group("ntxent", OTHER))


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("updates", 6000),
        ("drops", [1000, 2000]),
        ("schedule", "cosine"),
        ("evaluate_every", 125),
        ("lr", 0.003),
        ("warmup", 500),
        ("grad_clip", None),
        ("batch_size", 64),
        ("method", "bow"),
        ("dataset", "flickr8k"),
        ("model_options", {"embed_dim": 256}),
        ("auxiliary", "latent"),
        ("auxiliary_options", {"eta": 0.2}),
        ("word_drop", 0.2),
        ("finetune_after", 0),
        ("positives", "image"),
        ("average", {"snapshots": 5}),
    ],
)
def test_any_other_difference_is_refused(setting, value):
    ours, other = sides()
    with pytest.raises(ValueError, match=f"differ in more than 'loss': {setting}.* against "):
        decide(ours, [but(r, **{setting: value}) for r in other])
    with pytest.raises(ValueError, match=f"our side differ in {setting}"):
        decide([*ours[:3], but(ours[3], **{setting: value})], other)


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


def test_the_data_of_a_pair_are_the_same():
    ours, other = sides()
    with pytest.raises(ValueError, match="seed 3 saw other data on the other side"):
        decide(ours, [*other[:3], but(other[3], data_hash="another generator")])
    with pytest.raises(ValueError, match="differ in more than 'loss': data_options.train 1500 against 12000"):
        decide(ours, [but(r, data_options={"seed": r["config"]["seed"], "train": 12000}) for r in other])
    more = [but(r, data_options={"seed": r["config"]["seed"], "train": 12000}, data_hash="more") for r in ours]
    assert decide(more, ours, factor="train").n == 4  # there other data are what is claimed
    shared = [
        [
            but(r, data_options={"seed": s, "train": 1500}, data_hash=f"draw {s}")
            for s, r in zip((0, 0, 2, 3), side, strict=True)
        ]
        for side in (ours, other)
    ]
    with pytest.raises(ValueError, match="4 runs on 3 draws of data"):
        decide(*shared)
    photos = [group(loss, sums, drawn=False) for loss, sums in (("triplet_sh", OURS), ("ntxent", OTHER))]
    with pytest.raises(ValueError, match="more than 'loss': data_hash photos against other features"):
        decide(photos[0], [but(r, data_hash="other features") for r in photos[1]])


def test_seeds_are_paired_and_come_once():
    ours, other = sides()
    again = but(other[1], "records/again.json")
    with pytest.raises(ValueError, match="seed 1 twice: records/.*seed1.json and records/again.json"):
        decide(ours, [*other, again])
    with pytest.raises(ValueError, match="seed 1 twice"):
        decide([*ours, but(ours[1], data_options={"seed": 9, "train": 1500}, data_hash="draw 9")], other)
    with pytest.raises(ValueError, match=r"seeds do not match: \[0, 1, 2, 3\] against \[0, 1, 2\]"):
        decide(ours, other[:3])
    with pytest.raises(ValueError, match="no runs on the other side"):
        decide(ours, [])
    with pytest.raises(ValueError, match="do not differ in 'loss'"):
        decide(ours, ours)
    with pytest.raises(ValueError, match="two lists of records; not one of each"):
        decide(ours, {0: 1.0, 1: 2.0, 2: 3.0, 3: 4.0})


def test_equal_numbers_of_evaluations():
    ours, other = sides()
    with pytest.raises(ValueError, match=r"unequal numbers of evaluations .*: 2 \(records.* against 10 \(records"):
        decide(ours, group("ntxent", OTHER, evaluations=10))


CHOICE = {"triplet_sh": {"lr": 0.001, "warmup": 500, "margin": 0.2}, "ntxent": {"lr": 0.003, "tau": 0.05}}


def tuned(**changes):
    ours = group("triplet_sh", OURS, warmup=500)
    other = group("ntxent", OTHER, **({"lr": 0.003, "loss_options": {"tau": 0.05}} | changes))
    return ours, other


def test_tuned_settings_may_differ_if_they_are_the_chosen_ones():
    assert decide(*tuned(), tuning=CHOICE).word == "reproduced"
    with pytest.raises(ValueError, match="differ in more than 'loss': lr 0.001 against 0.003; warmup 500 against 0"):
        decide(*tuned())
    for changes, message in (
        ({"lr": 0.01}, "lr is 0.01 on the side of 'ntxent', but the tuning chose 0.003"),
        ({"lr": 0.001}, "lr is 0.001 on the side of 'ntxent', but the tuning chose 0.003"),
        ({"loss_options": {"tau": 0.1}}, "loss_options.tau is 0.1 on the side of 'ntxent', but the tuning chose 0.05"),
        ({"warmup": 100}, "warmup is 100 on the side of 'ntxent', but the tuning chose nothing"),
        ({"updates": 6000}, "more than 'loss': updates 3000 against 6000"),
    ):
        with pytest.raises(ValueError, match=message):
            decide(*tuned(**changes), tuning=CHOICE)
    with pytest.raises(ValueError, match=r"tuning has no choice for 'ntxent'; it has \['triplet_sh'\]"):
        decide(*tuned(), tuning={"triplet_sh": {}})
    with pytest.raises(ValueError, match="unknown tuned setting .*'temperature'"):
        decide(*tuned(), tuning=CHOICE | {"ntxent": {"temperature": 0.05}})
    with pytest.raises(ValueError, match="tuning= needs records"):
        decide({0: 1.0}, {0: 2.0}, tuning=CHOICE)


def test_other_factors():
    vse, bow = group("ntxent", OURS), group("ntxent", OTHER, method="bow", model_options={})
    assert decide(vse, bow, factor="method").word == "reproduced"
    with pytest.raises(ValueError, match="more than 'method': loss ntxent against triplet"):
        decide(vse, group("triplet", OTHER, method="bow"), factor="method")
    boxes = [
        but(r, method="vsrn", data_hash="regions", data_options=r["config"]["data_options"] | {"regions": True})
        for r in vse
    ]
    assert decide(boxes, bow, factor="method").n == 4
    for strange in ({"seed": 9, "train": 1500}, {"seed": 3, "train": 12000}):
        with pytest.raises(ValueError, match="saw other data|our side differ in data_options.train"):
            decide([*boxes[:3], but(boxes[3], data_options=strange | {"regions": True})], bow, factor="method")
    with pytest.raises(ValueError, match="seed 3 saw other data"):
        decide(vse, [*bow[:3], but(bow[3], data_hash="another generator")], factor="method")
    off = group("ntxent", OTHER, grad_clip=None)
    assert decide(vse, off, factor="grad_clip").word == "reproduced"
    twice = group("ntxent", OTHER, updates=6000, drops=[3000], evaluate_every=500)
    assert decide(vse, twice, factor="updates").word == "reproduced"
    with pytest.raises(ValueError, match="do not differ in 'lr'"):
        decide(vse, vse, factor="lr")
    with pytest.raises(ValueError, match="unknown factor of .* 'grad_clp'.*Did you mean 'grad_clip'"):
        decide(vse, off, factor="grad_clp")
    best = {"vse++": {"lr": 0.003}, "bow": {"lr": 0.01}}
    fast = group("ntxent", OURS, lr=0.003), group("ntxent", OTHER, method="bow", model_options={}, lr=0.01)
    assert decide(*fast, factor="method", tuning=best).word == "reproduced"


def test_against_a_number_and_other_measures():
    runs = group("ntxent", OURS)
    for r, swap in zip(runs, (78.0, 77.0, 80.0, 79.0), strict=True):
        r["test"]["twins"] = {"swap": swap}
    found = verdict("reads", "greater", runs, 50.0, measure="test.twins.swap", own=True)
    by_hand = verdict("reads", "greater", {0: 78.0, 1: 77.0, 2: 80.0, 3: 79.0}, dict.fromkeys(range(4), 50.0))
    assert found.word == "holds" and found.difference == by_hand.difference
    assert verdict("c", "greater", runs, group("triplet", OTHER), measure=lambda r: r["test"]["rsum"]).n == 4
    with pytest.raises(ValueError, match="seed0.json: seed 0 has no finite number for 'test.twins.swap'; got nothing"):
        decide(group("triplet", OTHER), 50.0, measure="test.twins.swap")
    runs[2]["test"]["rsum"] = float("nan")
    with pytest.raises(ValueError, match="seed2.json: seed 2 has no finite number for 'test.rsum'; got nan"):
        decide(runs, group("triplet", OTHER))
    with pytest.raises(ValueError, match="our side differ in loss_options.tau"):
        verdict("c", "greater", [*runs, but(record("ntxent", 4), loss_options={"tau": 0.05})], 50.0)


def test_an_epoch_of_images_has_fewer_batches_and_that_is_no_other_factor():
    """What a run counts as an epoch follows from its batches, which are part of the loss."""
    pairs = group("ntxent", [1.0, 2.0, 3.0], per_epoch=59)
    images = group("smoothap", [1.0, 2.0, 3.0], per_epoch=12, batches="images")
    assert verdict("NT-Xent is better", "greater", pairs, images).n == 3
    assert len(summarise([*pairs, *images])) == 2


def test_draws_that_all_groups_have_in_one_order():
    three, two = group("ntxent", [1.0, 2.0, 3.0]), [record("triplet", 2, 5.0), record("triplet", 0, 4.0)]
    found = common_draws({"a": reversed(three), "b": two})
    assert found == {"a": [three[0], three[2]], "b": [two[1], two[0]]}
    assert common_draws({"a": three, "none": []}) == {"a": [], "none": []} and common_draws({}) == {}


def test_an_objective_is_what_stands_beside_the_loss_and_how_it_is_weighed():
    alone = group("ntxent", OTHER, objective="con", auxiliary=None, auxiliary_options={}, beta=1.0, eta=None)
    held = group(
        "ntxent",
        OURS,
        objective="lagrange",
        auxiliary="latent",
        auxiliary_options={"target": "sbert"},
        beta=1.0,
        eta=0.1,
        multiplier="projected",
    )
    other = [but(r, auxiliary_options={"target": "form"}, eta=0.33) for r in held]
    assert decide(held, alone, factor="objective").n == decide(held, other, factor="objective").n == 4
    with pytest.raises(ValueError, match="more than 'objective': lr 0.001 against 0.003"):
        decide([but(r, lr=0.001) for r in held], [but(r, lr=0.003) for r in alone], factor="objective")
    with pytest.raises(ValueError, match="our side differ in eta"):
        decide([*held[:3], but(held[3], eta=0.2)], alone, factor="objective")
    with pytest.raises(ValueError, match="more than 'loss': auxiliary_options.target sbert against form"):
        decide(held, [but(r, auxiliary_options={"target": "form"}) for r in held])

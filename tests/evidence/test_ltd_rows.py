"""LTD's claims asked of runs: which runs make a row, which bound stands for it, words or none; on made-up records."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from icrlib import paper
from icrlib.evidence import ltd_rows
from icrlib.evidence.ledger import DESCRIBED, Evidence
from icrlib.evidence.ltd_rows import ROWS
from icrlib.paper import ltd
from icrlib.paper.claims import WAYS
from icrlib.studies import lists

from .made import finder as of
from .made import on_photos, record

CLAIMS = paper.claims("ltd")
LTD = lists("places").LTD
AT = {place.name: place for place in LTD}
LATENT, TOKENS = {"target": "sbert"}, {"softmax": "vocabulary"}
NOISE = np.random.default_rng(11).normal(size=(40, 10))
# Settings of each row, and its rsum and swap accuracy.
MADE = {
    "con": ({"objective": "con"}, 400, 60),
    "dual": ({"objective": "dual", "auxiliary": "latent", "auxiliary_options": LATENT, "beta": 1.0}, 401, 62),
    "lag": ({"objective": "lagrange", "auxiliary": "latent", "auxiliary_options": LATENT, "eta": 0.2}, 420, 80),
    "projected": (
        {
            "objective": "lagrange",
            "auxiliary": "latent",
            "auxiliary_options": LATENT,
            "eta": 0.2,
            "multiplier": "projected",
        },
        410,
        70,
    ),
    "itd_dual": ({"objective": "dual", "auxiliary": "tokens", "auxiliary_options": TOKENS, "beta": 1.0}, 390, 75),
    "itd_lag": ({"objective": "lagrange", "auxiliary": "tokens", "auxiliary_options": TOKENS, "eta": 2.0}, 380, 50),
}


def run(row, seed, study="ltd", *, loss="ntxent", rsum=None, val=300.0, **config):
    settings, level, swap = MADE[row]
    noise = NOISE[list(MADE).index(row), seed]
    base = {"method": "ltd", "multiplier": "published", "beta": 1.0, "eta": None}
    made = record(loss, seed, (rsum or level) + noise, **(base | settings | config))
    made["test"]["twins"] = {"swap": swap + noise}
    for side in ("i2t", "t2i"):
        made["test"][side] |= {"average_recall": made["test"]["rsum"] / 6, "r_precision": 0.2 + level / 4000}
    return made | {"study": study, "chosen": {"update": 250, "val_rsum": val + noise}}


def every(seeds=5, rows=tuple(MADE), **more):
    return [run(row, seed, **more) for row in rows for seed in range(seeds)]


def test_tables_have_every_row_with_enough_runs_in_the_preferred_setting():
    runs = every() + every(3, ("lag",), val=900.0, eta=0.1) + every(5, ("lag",), val=310.0, eta=0.3)
    runs += [run("itd_dual", seed, auxiliary_options={"softmax": "time"}) for seed in range(5)]
    found = AT["scenes"].by_row(of(runs))
    assert list(found) == ["con", "dual", "lag", "projected", "itd_dual", "itd_lag", "time_dual"]
    assert {r["config"]["eta"] for r in found["lag"]} == {0.3} and len(found["lag"]) == 5
    assert AT["photos"].by_row(of(runs)) == {}


def test_without_runs_everything_waits_and_the_command_is_named():
    for place in LTD:
        found = Evidence(place, of([]))
        assert found.verdicts == {} and found.missing == dict.fromkeys(place.rows, 0)
        asked = [tests for tests in CLAIMS["tests"] if tests and place.name in tests]
        assert asked and all(str(found.judge(tests)) == "not run yet" for tests in asked)
        assert all(command.startswith("make records STUDY=") for command in place.commands)
    assert AT["photos"].commands == ("make records STUDY=photo_ltd FEATURES=folder",)
    assert Evidence(AT["scenes"], of([])).judge(CLAIMS["tests"][31]) is None  # a matter of photos
    assert Evidence(AT["scenes"], of([])).judge(CLAIMS["tests"][3]) is None  # a matter of formulas


def test_five_draws_describe_and_have_no_word():
    found = Evidence(AT["scenes"], of(every()))
    for tests in CLAIMS["tests"]:
        if tests and "scenes" in tests:
            assert found.judge(tests).word == DESCRIBED
    a, b = ([run(row, seed)["test"]["rsum"] for seed in range(5)] for row in ("lag", "con"))
    d = np.subtract(a, b)
    low, high = stats.t.interval(0.95, 4, d.mean(), d.std(ddof=1) / 5**0.5)
    assert found.result("rsum lag > con") == f"{d.mean():+.1f} [{low:+.1f}, {high:+.1f}] rsum, n = 5"
    swaps = [np.mean([run(row, s)["test"]["twins"]["swap"] for s in range(5)]) for row in ("con", "itd_dual")]
    assert found.verdicts["swap con > itd_dual"].difference.mean == pytest.approx(swaps[0] - swaps[1])
    assert found.verdicts["rp lag > con"].difference.mean == pytest.approx(0.5)


def test_kendalls_coefficient_over_the_rows():
    found = Evidence(AT["scenes"], of(every()))
    means = {
        row: [
            np.mean([run(row, s)["test"]["rsum"] for s in range(5)]),
            np.mean([run(row, s)["test"]["twins"]["swap"] for s in range(5)]),
        ]
        for row in MADE
    }
    expected = stats.kendalltau(*zip(*means.values(), strict=True)).statistic
    assert found.verdicts["goes rsum swap"].tau == pytest.approx(expected) and 0 < expected < 1
    assert found.result("goes rsum swap") == f"K = {expected:+.2f} over 6 rows"
    waiting = Evidence(AT["scenes"], of(every(rows=list(MADE)[:5])))
    assert waiting.result("goes rsum swap") == "not run yet"
    assert waiting.judge(CLAIMS["tests"][12]).missing == ("itd_lag",)


def test_a_row_has_a_say_with_all_its_runs_only():
    found = Evidence(AT["scenes"], of(every(rows=("con", "dual")) + every(4, rows=("lag",))))
    assert found.missing == {"lag": 4, "projected": 0, "itd_dual": 0, "itd_lag": 0}
    assert found.judge(CLAIMS["tests"][13]).word == DESCRIBED and found.judge(CLAIMS["tests"][2]).missing == ("lag",)
    assert str(found.judge(CLAIMS["tests"][2])) == "not run yet" == found.result("rsum lag > dual")


@pytest.mark.parametrize(
    ("row", "other"),
    [
        ("lag", {"auxiliary_options": {"target": "form"}}),
        ("lag", {"finetune_after": 100}),
        ("lag", {"multiplier": "projected"}),
        ("itd_dual", {"auxiliary_options": {"softmax": "time"}}),
        ("dual", {"method": "vse++"}),
        ("con", {"objective": "dual"}),
    ],
)
def test_other_targets_and_the_published_softmax_are_other_rows(row, other):
    assert ltd_rows.is_row(run(row, 0), row) and not ltd_rows.is_row(run(row, 0, **other), row)
    assert sum(ltd_rows.is_row(run(row, 0), name) for name in ROWS) == 1


def test_of_several_bounds_validation_chooses():
    """The bound that is worse on test data is taken where validation prefers it; four runs are too few to be chosen."""
    lower = [run("lag", s, rsum=405, val=310.0, eta=0.1) for s in range(5)]
    few = [run("lag", s, rsum=500, val=400.0, eta=0.05) for s in range(4)]
    found = Evidence(AT["scenes"], of(every() + lower + few))
    assert {r["config"]["eta"] for r in found.groups["lag"]} == {0.1}
    assert found.verdicts["rsum lag > con"].difference.mean == pytest.approx(5, abs=2)


def test_the_lowest_bound_against_the_preferred_one():
    three = [
        run("lag", s, "ltd_eta", rsum=level, val=val, eta=eta)
        for eta, level, val in ((0.05, 390, 290), (0.1, 415, 310), (0.2, 425, 300))
        for s in range(5)
    ]
    found = Evidence(AT["eta"], of(three))
    assert {row: {r["config"]["eta"] for r in group} for row, group in found.groups.items()} == {
        "best": {0.1},
        "lowest": {0.05},
    }
    assert found.verdicts["rsum best > lowest"].difference.mean == pytest.approx(25, abs=1)
    assert found.judge(CLAIMS["tests"][8]).word == found.judge(CLAIMS["tests"][25]).word == DESCRIBED
    two = Evidence(AT["eta"], of(three[:10]))
    assert two.groups == {} and two.missing == {"best": 5, "lowest": 5}


def test_triplet_is_held_against_itself_and_against_infonce():
    changed = {"loss": "triplet_sh", "study": "ltd_triplet", "model_options": {"embed_dim": 128, "head_norm": True}}
    levels = (("con", 300), ("lag", 430))
    runs = every() + [run(row, s, rsum=level, **changed) for row, level in levels for s in range(5)]
    found = Evidence(AT["triplet"], of(runs))
    assert not found.missing and found.verdicts["rsum lag > con"].difference.mean == pytest.approx(130, abs=2)
    assert found.verdicts["rsum lag > ntxent_lag"].difference.mean == pytest.approx(10, abs=1)


def test_each_loss_may_have_what_its_own_search_chose_and_two_rows_of_a_loss_may_not():
    changed = {
        "loss": "triplet_sh",
        "study": "ltd_triplet",
        "model_options": {"embed_dim": 128, "head_norm": True},
        "drop_words": 0.3,
        "delete_words": 0.2,
        "warmup": 500,
    }
    levels = (("con", 300), ("lag", 430))
    runs = every() + [run(row, s, rsum=level, **changed) for row, level in levels for s in range(5)]
    found = Evidence(AT["triplet"], of(runs))
    assert found.verdicts["rsum lag > ntxent_lag"].difference.mean == pytest.approx(10, abs=1)
    for one in runs[-5:]:
        one["config"]["drop_words"] = 0.1
    with pytest.raises(ValueError, match="differ in more than 'objective': drop_words"):
        Evidence(AT["triplet"], of(runs))


def photo(row, seed, strength, **config):
    """A run on 40 photos with five captions each; a higher strength ranks more of them first."""
    rng = np.random.default_rng([seed, round(strength * 100)])
    image_of = np.repeat(np.arange(40), 5)
    i2t, t2i = (1 + rng.geometric(strength, size=n) for n in (40, 200))
    loss = config.pop("loss", "ntxent")
    base = {"method": "ltd", "multiplier": "published", "beta": 1.0, "eta": None}
    made = on_photos(loss, seed, i2t - 1, t2i - 1, image_of, **(base | config))
    for side in ("i2t", "t2i"):
        mean = sum(made["test"][side][cut] for cut in ("r1", "r5", "r10")) / 3
        made["test"][side] |= {"r_precision": strength, "average_recall": mean}
    return made | {"study": "photo_ltd", "chosen": {"update": 250, "val_rsum": 300.0}}


def photos(seeds=3):
    settings = {
        "con": (0.3, {}),
        "dual": (0.3, MADE["dual"][0]),
        "lag": (0.9, MADE["lag"][0]),
        "fixed": (0.05, {"method": "sentence", "loss": "alignment"}),
        "tuned": (0.1, {"method": "sentence"}),
    }
    made = []
    for row, (strength, config) in settings.items():
        base = {"objective": "con"} | config
        method = base.pop("method", "ltd")
        for seed in range(seeds):
            one = photo(row, seed, strength, **base)
            one["config"] |= {"method": method} | ({"objective": "con"} if method == "sentence" else {})
            made.append(one)
    return made


def test_three_seeds_on_photos_give_words_in_one_family():
    found = Evidence(AT["photos"], of(photos()))
    assert not found.missing and found.judge(CLAIMS["tests"][2]).word == "reproduced"
    assert found.judge(CLAIMS["tests"][31]).word == "reproduced"
    assert all(v.adjusted is None or v.adjusted >= v.p for v in found.verdicts.values())
    asked = {part for tests in CLAIMS["tests"] for part in (tests or {}).get("photos", ())}
    assert set(found.verdicts) == asked and any(v.adjusted > v.p for v in found.verdicts.values())
    turned = [r | {"test": s["test"]} for r, s in zip(photos()[:3], photos()[6:9], strict=True)]
    swapped = [r | {"test": s["test"]} for r, s in zip(photos()[6:9], photos()[:3], strict=True)]
    other = Evidence(AT["photos"], of(turned + photos()[3:6] + swapped + photos()[9:]))
    assert str(other.judge(CLAIMS["tests"][14])) == "contradicted (2 of 2)"
    assert Evidence(AT["photos"], of(photos(2))).verdicts == {}


def test_rates_may_be_searched_and_nothing_else_may_differ():
    runs = every()
    for one in runs:
        one["config"]["lr"] = 0.001 if one["config"]["objective"] == "con" else 0.003
    assert Evidence(AT["scenes"], of(runs)).verdicts["rsum lag > con"].n == 5
    for one in runs:
        one["config"]["updates"] = 1500 if one["config"]["objective"] == "con" else 3000
    with pytest.raises(ValueError, match="differ in more than 'objective': updates"):
        Evidence(AT["scenes"], of(runs))


def test_claims_say_how_they_are_judged():
    assert list(CLAIMS.index) == list(range(1, 38)) and CLAIMS["claim"].is_unique
    assert list(CLAIMS.columns) == ["claim", "place", "judged", "asked", "tests", "see", "broken"]
    for number, row in CLAIMS.to_dict("index").items():
        ways = set(row["judged"].split(", "))
        assert ways <= set(WAYS) and row["claim"].endswith(".") and row["place"]
        assert ("records" in ways) == bool(row["tests"] or number == 4), number  # L4: a chapter judges it
        assert not ({"computation", "recorded curves"} & ways) or row["see"] or row["tests"], number
        assert "not measurable as published" not in ways or row["broken"], number
        asked = row["tests"] or "records" in ways or "computation" in ways or number == 37
        assert bool(row["asked"]) == bool(asked), number
        assert set(row["tests"] or ()) <= set(AT)
    with_tables = {n for n, ways in CLAIMS["judged"].items() if "paper tables" in ways}
    with_curves = {n for n, ways in CLAIMS["judged"].items() if "recorded curves" in ways}
    assert set(ltd.COUNTS) == with_tables and set(ltd.CURVES) == with_curves


def test_every_part_can_be_written_out():
    for tests in CLAIMS["tests"]:
        for part in (part for parts in (tests or {}).values() for part in parts):
            text = AT["scenes"].describe(part)
            assert "_" not in text and ">" not in text and "best" not in text, text
    assert AT["scenes"].describe("rsum lag > con") == "LTD constrained − baseline, rsum"
    assert AT["scenes"].describe("rsum dual = con").endswith("(equal)")

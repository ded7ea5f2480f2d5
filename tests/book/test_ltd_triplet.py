"""The rows of the triplet loss on scenes, in shortcuts/tables; made-up records, the twin by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from ltd_studies import made_up, tables
from record_files import put

WOBBLE = [0.0, 2.0, -1.0, 1.5, 0.5]


def section():
    lift = {"Flickr30k": {"triplet_lag": 209.0}, "MS-COCO": {"triplet_lag": 14.0}}
    return tables(("def of_swap", 5), lift=lift)


def rows(book, **leads):
    """The baseline and rows that are so far ahead of it, by a wobble a draw; "eta0.1" is one of two bounds."""
    for seed in range(5):
        norm = {"loss": "triplet_sh", "model_options": {"embed_dim": 128, "word_dim": 64, "head_norm": True}}
        put(book, "ltd", made_up("con", "con", seed, rsum=380.0 + 9 * seed), "con")
        put(book, "ltd_triplet", made_up("con", "con", seed, rsum=400.0 + 9 * seed, **norm), "con")
        for name, lead in leads.items():
            way, more = ("dual", {}) if name == "dual" else ("published", {"eta": float(name.removeprefix("eta_"))})
            made = made_up(
                "sbert", way, seed, rsum=400.0 + 9 * seed + lead + WOBBLE[seed], swap=60.0 - lead / 10, **norm, **more
            )
            put(book, "ltd_triplet", made, name)


def test_without_runs_the_command_stands_there(book):
    names, (table, said) = section()
    assert names["TRIPLET_LEADS"] == {} and said == "" and "`make records STUDY=ltd_triplet`" in table


def test_each_bound_is_a_row_of_its_own(book):
    rows(book, **{"dual": 0.0, "eta_0.1": 12.0, "eta_0.2": -12.0})
    names, (table, said) = section()
    leads = names["TRIPLET_LEADS"]
    assert list(leads) == ["dual", "constrained, η = 0.1", "constrained, η = 0.2"]
    half = stats.t.ppf(0.975, 4) * np.std(WOBBLE, ddof=1) / 5**0.5
    for name, lead in zip(leads, (0.0, 12.0, -12.0), strict=True):
        rsum, swap = leads[name]
        mean = lead + np.mean(WOBBLE)
        assert (rsum.mean, rsum.low, rsum.high) == pytest.approx((mean, mean - half, mean + half))
        assert swap.mean == pytest.approx(-lead / 10) and f"{mean:+.1f}" in table
    assert said.startswith(
        "In rsum *constrained, η = 0.1* is ahead of the baseline and *constrained, η = 0.2* is behind the baseline, "
        "and the others cannot be told from it. In swap accuracy *constrained, η = 0.2* is ahead of the baseline and "
        "*constrained, η = 0.1* is behind the baseline, and the others cannot be told from it. (The baseline has 60 % "
        "there, where guessing has 50, so it hardly reads.)"
    )
    assert f"Of the bounds the larger lift is +12.6 [{12.6 - half:+.1f}, {12.6 + half:+.1f}], where the" in said
    assert f"a difference of more than {0.6 + half:.0f} rsum is unlikely" in said
    assert "printed +209 and +14 on photos" in said and ">0.22<" in table and ">3.00<" in table and ">–<" in table
    assert "Triplet-SH alone has +20.0 [+20.0, +20.0] rsum more than InfoNCE alone (n = 5)" in said


def test_no_clear_row_is_said_to_be_none(book):
    rows(book, dual=0.0)
    _, (_, said) = section()
    assert said.startswith("In rsum no interval is clear of zero. In swap accuracy no interval is clear of zero. (The")
    assert "hardly reads.) That dual is" in said and "larger lift" not in said
    assert said.endswith("What the batch norms do to InfoNCE was not run yet: `make records STUDY=ltd_norms`.")


def test_batch_norms_are_told_apart_from_the_loss(book):
    """Of 20 rsum between the two losses 15 are the batch norms' here, and constrained LTD leads by 4."""
    rows(book, dual=0.0)
    norm = {"model_options": {"embed_dim": 128, "word_dim": 64, "head_norm": True}}
    for seed in range(5):
        put(book, "ltd_norms", made_up("con", "con", seed, rsum=395.0 + 9 * seed, swap=57.0, **norm), "con")
        put(book, "ltd_norms", made_up("sbert", "published", seed, rsum=399.0 + 9 * seed, swap=56.0, **norm), "lag")
    said = section()[1][1]
    assert "it has +15.0 [+15.0, +15.0] rsum more with them and -3.0 [-3.0, -3.0] points" in said
    assert "Triplet-SH alone is then +5.0 [+5.0, +5.0] rsum and +3.0 [+3.0, +3.0] points from it. So about 75 %" in said
    assert "norms is +4.0 [+4.0, +4.0] rsum and -1.0 [-1.0, -1.0] points of swap accuracy from InfoNCE alone" in said
    assert "rows 3 (75 % by draw) comes" in said
    put(book, "ltd_norms", made_up("con", "con", 4, rsum=390.0 + 36, swap=57.0, **norm), "con")  # 10 of 20 on one draw
    assert "So about 70 % of the rsum between rows 1 and rows 3 (50 to 75 % by draw) comes" in section()[1][1]

"""Claims judged by named runs: each kind of part, too few rows, the textbook's words; on made-up records."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from icrlib import paper
from icrlib.experiments.ledger import LOSSES, TABLES, Place, silent, weakest
from icrlib.paper import ecir

from .made import named, record

# What a made-up run of each loss has: rsum (and the recalls with it), effective negatives.
RSUM = {"triplet": 300.0, "triplet_sh": 350.0, "ntxent": 340.0, "smoothap": 345.0}
HEARD = {"triplet": 7.0, "triplet_sh": 1.0, "ntxent": 10.0, "smoothap": 1.3}
NOISE = np.random.default_rng(3).normal(size=(len(LOSSES), 20))


def made(loss, seed, *, rsum=None, heard=None, silent=95.0, **config):
    """A run whose chosen evaluation is its first; 128 queries, ``silent`` % of them without a gradient."""
    noise = NOISE[LOSSES.index(loss), seed]
    total = (rsum or RSUM)[loss] + noise
    one = record(loss, seed, total, **config)
    none = round(1.28 * silent)
    count = {"C_q": 2.0, "C_B": 2.0 * (128 - none), "C_0": float(none), "n_eff": (heard or HEARD)[loss] + noise / 50}
    one["history"][0]["cocos"] = {"i2t": count, "t2i": count}
    one["chosen"] = {"update": one["history"][0]["update"], "val_rsum": total}
    for side in ("i2t", "t2i"):
        one["test"][side] |= {"average_recall": total / 6, "map_at_5": total / 600}
    return one


def place(losses=LOSSES, seeds=10, tests="vsrn", own=False, families=TABLES, **more) -> Place:
    rows = {loss: named([made(loss, seed, **more) for seed in range(seeds)]) for loss in losses}
    return Place("ecir", tests, rows, families, own)


def test_a_claim_is_as_strong_as_its_weakest_part():
    """One part against it decides; then one that is missing, one undecided, one too small."""
    strength = ("contradicted", None, "undecided", "equivalent", "reproduced")
    for words in itertools.chain(*(itertools.product(strength, repeat=n) for n in (1, 2, 3, 4))):
        assert weakest(words) == (min(words, key=strength.index) or "not run"), words
    assert weakest(["holds", "fails"]) == "fails" and weakest(["holds", "holds"]) == "holds"
    assert weakest(["undecided (n = 2)", "equivalent"]) == "undecided (n = 2)"


def test_words_are_those_of_the_textbook_in_one_family_a_table():
    """Every p of the recalls by scipy's paired t-test, and Holm's correction written out."""
    numbers = {
        "rsum": lambda r: r["test"]["rsum"],
        "i2t": lambda r: r["test"]["i2t"]["average_recall"],
        "t2i": lambda r: r["test"]["t2i"]["average_recall"],
        "map": lambda r: 100 * r["test"]["i2t"]["map_at_5"],
    }
    at, alone = place(), {}
    for part in at.parts:
        name, first, _, second = part.split()
        if name in numbers:
            ours, other = ([numbers[name](made(loss, seed)) for seed in range(10)] for loss in (first, second))
            alone[part] = stats.ttest_rel(ours, other).pvalue
    assert len(alone) == 6 + 3 + 3 + 3  # rsum, both directions, mAP@5
    for part, p in alone.items():
        below = sorted(q for q in alone.values() if q <= p)
        holm = max(min(1, (len(alone) - k) * q) for k, q in enumerate(below))
        assert at.parts[part].adjusted == pytest.approx(holm, rel=1e-6), part
    assert [str(at.judge(n)) for n in (1, 5, 6)] == ["reproduced (6 of 6)", "reproduced", "reproduced (3 of 3)"]
    assert place(own=True).judge(2).word == "holds" and at.judge(18) is None  # that one is about VSE++
    assert at.result("rsum triplet_sh > ntxent").endswith(" rsum, n = 10")


def test_rows_that_were_not_run_have_no_say():
    at = place(LOSSES[:3])
    assert at.judge(3).word == "reproduced" and at.judge(5).word == at.judge(6).word == at.judge(7).word == "not run"
    assert not any("smoothap" in part for part in at.parts) and at.judge(22).word == "contradicted"


def test_the_smallest_difference_of_a_recall_is_a_sixth_of_that_of_the_rsum():
    close, apart = place(rsum=RSUM | {"smoothap": 349.0}), place(rsum=RSUM | {"smoothap": 345.8})
    assert close.word("rsum triplet_sh > smoothap") == close.word("i2t triplet_sh > smoothap") == "equivalent"
    assert apart.word("i2t triplet_sh > smoothap") == "reproduced"
    assert str(close.judge(7)) == "equivalent (1 of 3)"


@pytest.mark.parametrize(
    "heard, rsum, says",
    [
        (HEARD, RSUM | {"ntxent": 290.0}, "reproduced (6 of 6)"),
        (HEARD, RSUM, "contradicted (1 of 6)"),  # NT-Xent hears most and is ahead of Triplet
        ({loss: -n for loss, n in HEARD.items()}, RSUM | {"ntxent": 290.0}, "contradicted (6 of 6)"),
        (HEARD | {"ntxent": 7.0}, RSUM | {"ntxent": 290.0}, "undecided (1 of 6)"),
    ],
)
def test_the_rule_that_fewer_is_better(heard, rsum, says):
    assert str(place(heard=heard, rsum=rsum).judge(22)) == says


def test_counts_are_read_at_the_chosen_evaluation_and_held_against_numbers():
    run = made("smoothap", 0, silent=25.0)
    later = {"C_q": 0.0, "C_B": 0.0, "C_0": 77.0, "n_eff": 0.0}
    run["history"][1]["cocos"] = {"i2t": later, "t2i": later}
    assert silent(run, "t2i") == 25.0
    run["chosen"]["update"] = run["history"][1]["update"]
    assert silent(run, "t2i") == 100.0
    much, little = place(silent=95.0), place(silent=5.0)
    assert [much.judge(n).word for n in (23, 24)] == ["reproduced", "contradicted"]
    assert [little.judge(n).word for n in (23, 24)] == ["contradicted", "reproduced"]
    assert much.judge(14).word == "contradicted" and much.judge(20).word == "reproduced"  # 7 and 1.3 against 1


def test_without_families_a_place_describes_and_rows_are_put_in_order():
    """Kendall's K over six objectives, by scipy; five draws have no word."""
    sums = {row: 400.0 + 7 * k % 5 for k, row in enumerate(("con", "dual", "lag", "projected", "itd_dual", "itd_lag"))}
    rows = {row: named([record("ntxent", n, sums[row] + NOISE[0, n], objective=row) for n in range(5)]) for row in sums}
    for k, of in enumerate(rows.values()):
        for one in of:
            one["test"]["twins"] = {"swap": 50.0 + k % 4}
            for side in ("i2t", "t2i"):
                one["test"][side]["r_precision"] = 0.2
    at = Place("ltd", "scenes", rows)
    tau = stats.kendalltau(list(sums.values()), [50.0 + k % 4 for k in range(6)]).statistic
    assert at.result("goes rsum swap") == f"K = {tau:+.2f} over 6 rows" and at.judge(12).word == "described"
    assert at.judge(1).word == "described" and at.parts["rsum lag > con"].adjusted is None and at.judge(31) is None


def test_ecirs_claims_against_its_own_tables():
    """Counted by hand in Table 1 and the reference facts; and cell by cell for the first."""
    words = paper.against_own_tables("ecir")["verdict"].to_dict()
    assert {n for n, word in words.items() if word != "agrees with its table"} == {4, 22, 26, 27, 31}
    assert [words[n].removeprefix("does not: ") for n in (4, 22, 27)] == ["7 of 8", "18 of 24", "2 of 4"]
    printed, ahead = paper.table("ecir/1"), 0
    for _, rows in printed.groupby(["dataset", "method"]):
        (hardest,) = rows[rows["loss"] == "Triplet loss SH"][ecir.RECALLS].to_numpy()
        ahead += int((hardest > rows[ecir.RECALLS].to_numpy()).sum())
    assert ecir.COUNTS[1]()[:2] == (ahead, 72) == (72, 72)

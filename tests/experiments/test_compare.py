"""Comparisons: paired by draw, fair or refused, corrected in families, and the same as evidence's verdicts."""

from __future__ import annotations

import pytest

from icrlib import evidence
from icrlib.experiments import Runs, compare, family, order, runs
from tests.evidence.made import on_photos, record

WORDS = {"ahead": "holds", "behind": "fails"}


def made(loss: str, sums, searched=None, **config) -> Runs:
    """Runs with these sums, a seed each; ``searched``: settings that a search is said to have moved."""
    each = [record(loss, seed, value, **config) for seed, value in enumerate(sums)]
    each = [one | {"key": f"{loss} {config} {seed}"} for seed, one in enumerate(each)]
    return Runs(each, searched={("vse++", loss): set(searched or ())})


FIVE = [400.0, 403.0, 401.0, 405.0, 402.0]


@pytest.mark.parametrize("by", [0.0, 0.4, 2.0, -2.5, 8.0, -30.0])
def test_difference_interval_word_and_p_are_those_of_the_paired_t_test(by):
    a, b = made("triplet", [x + by + (k % 2) for k, x in enumerate(FIVE)]), made("ntxent", FIVE)
    ours = compare(a, b)
    theirs = evidence.verdict("", "greater", a.records, b.records, own=True)
    assert (ours.mean, ours.low, ours.high) == pytest.approx(
        (theirs.difference.mean, theirs.difference.low, theirs.difference.high)
    )
    assert WORDS.get(ours.word, ours.word) == theirs.word and ours.p == pytest.approx(theirs.p)


def test_draws_that_both_sides_have_are_paired_and_a_number_may_be_the_other_side():
    a, b = made("triplet", [*FIVE, 500.0]), made("ntxent", FIVE)
    assert compare(a, b).n == 5 and compare(b, 380.0).word == "ahead"
    assert compare(made("triplet", [1.0, 2.0]), b).word == "undecided (n = 2)"


def test_photos_are_compared_over_seeds_and_test_images():
    ranks = ([1, 2, 9, 30], [1, 3, 11, 12])
    a = Runs([on_photos("triplet", k, *ranks) | {"key": f"a{k}"} for k in range(3)])
    b = Runs([on_photos("ntxent", k, ranks[0][::-1], ranks[1]) | {"key": f"b{k}"} for k in range(3)])
    theirs = evidence.verdict("", "greater", a.records, b.records, own=True)
    ours = compare(a, b)
    twice = [Runs([record | {"log": [[1, 0.5]]} for record in side]) for side in (a, a.records)]
    twice[1].records = [
        r | {"config": r["config"] | {"loss": "ntxent", "loss_options": {"tau": 0.1}}} for r in twice[1]
    ]
    assert compare(*twice).word == "the same runs"
    assert (ours.mean, ours.low, ours.high) == (theirs.difference.mean, theirs.difference.low, theirs.difference.high)


@pytest.mark.parametrize(
    ("other", "options", "word"),
    [
        (made("ntxent", FIVE, lr=0.003), {}, "lr"),  # nobody searched it
        (made("ntxent", FIVE, lr=0.003, searched=["lr"]), {}, "lr"),  # searched for one side only
        (made("ntxent", FIVE, evaluations=3), {}, "evaluations"),
        (made("ntxent", FIVE, updates=6000), {}, "updates"),
        (made("ntxent", FIVE) + made("ntxent", FIVE, lr=0.1), {}, "lr"),
        (made("ntxent", FIVE), {"factor": "method"}, "loss"),
        (made("ntxent", FIVE), {"of": "test.nothing"}, "nothing"),
        (made("ntxent", FIVE), {"of": "test.i2t.r1", "equal": True}, "smallest"),
    ],
)
def test_what_is_unfair_is_refused_by_name(other, options, word):
    with pytest.raises(ValueError, match=word):
        compare(made("triplet", FIVE), other, **options)


def test_what_both_searched_may_differ_and_a_handicapped_side_is_never_behind():
    tuned = made("ntxent", FIVE, searched=["lr"], lr=0.003)
    assert compare(made("triplet", [x + 9 for x in FIVE], searched=["lr"]), tuned).word in ("ahead", "undecided")
    plain = made("triplet", [x + k % 2 for k, x in enumerate(FIVE)])
    ahead = made("ntxent", [x + 20 + k % 3 for k, x in enumerate(FIVE)], searched=["lr"], lr=0.003)
    assert compare(ahead, plain, unsearched="handicap").word == "undecided"
    below = made("ntxent", [x - 20 + k % 3 for k, x in enumerate(FIVE)], searched=["lr"], lr=0.003)
    assert compare(below, plain, unsearched="handicap").word == "behind"


def test_a_family_is_corrected_as_holm_says_and_as_evidence_does():
    pairs = {
        by: (made("triplet", [x + by + k % 2 for k, x in enumerate(FIVE)]), made("ntxent", FIVE)) for by in (0, 1, 4, 9)
    }
    ours = family({by: compare(a, b) for by, (a, b) in pairs.items()})
    theirs = evidence.family(
        {by: evidence.verdict("", "greater", a.records, b.records, own=True) for by, (a, b) in pairs.items()}
    )
    assert {by: WORDS.get(one.word, one.word) for by, one in ours.items()} == {
        by: one.word for by, one in theirs.items()
    }
    assert [one.p for one in ours.values()] == pytest.approx([one.adjusted for one in theirs.values()])
    assert ours.span("{:.1f} to {:.1f}") == "0.4 to 9.4" and list(ours.table()["n"]) == [5] * 4


def test_orders_are_compared_pair_by_pair():
    alike, pairs, tau, p = order({"a": 3, "b": 2, "c": 1}, {"a": 9, "b": 1, "c": 4})
    assert (alike, pairs) == (2, 3) and tau == pytest.approx(1 / 3) and 0 < p <= 1


def test_runs_of_the_book_compare_as_their_page_says():
    vse = runs("scenes", loss=["triplet", "ntxent"], seed=range(100, 103), lr=0.001, updates=3000)
    assert compare(vse["triplet"], vse["ntxent"]).title == "Triplet − NT-Xent, VSE++"

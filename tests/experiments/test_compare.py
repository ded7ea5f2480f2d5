"""Comparisons: what they are made of, families, orders."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from icrlib.experiments import compare, family, order
from icrlib.experiments.compare import Comparison
from icrlib.experiments.intervals import over_pairs

from .made import side

FIVE = [400.0, 403.0, 401.0, 405.0, 402.0]


def test_draws_that_both_sides_have_are_paired_and_a_number_may_be_the_other_side():
    a, b = side("triplet", [*FIVE[::-1], 500.0]), side("ntxent", FIVE)
    one, twin = compare(a, b), stats.ttest_rel(FIVE[::-1], FIVE)
    low, high = twin.confidence_interval()
    assert (one.mean, one.low, one.high, one.p) == pytest.approx((0.0, low, high, twin.pvalue)) and one.n == 5
    assert compare(b, 380.0).word == "ahead" and compare(b, 500.0).word == "behind"
    assert compare(side("triplet", [1.0, 2.0]), b).word == "undecided (n = 2)"
    swap = compare(a, b, of=lambda record: record["test"]["i2t"]["r1"] + (record["config"]["loss"] == "triplet"))
    assert swap.mean == pytest.approx(1.0) and swap.smallest is None and one.smallest == 3.0


def test_a_number_that_is_not_there_is_named():
    a, b = side("triplet", FIVE), side("ntxent", FIVE)
    for options, word in (({"of": "test.nothing"}, "seed0.json.*nothing"), ({"of": len, "equal": True}, "smallest")):
        with pytest.raises(ValueError, match=word):
            compare(a, b, **options)
    with pytest.raises(ValueError, match="seed2.json.*nan"):
        compare(side("triplet", [1.0, 2.0, float("nan")]), side("ntxent", FIVE[:3]))


def test_the_same_runs_under_two_names_are_no_comparison():
    """Ten pairs whose constraint never bound printed +0.0 [+0.0, +0.0]: a test that cannot fail."""

    def rate(lr, *log):
        made = side("triplet", FIVE, lr=lr)
        made.records = [one | {"log": [[1, 0.5], [2, *log]]} for one in made]
        return made

    same, strong = compare(rate(0.1, 0.25), rate(0.2, 0.25), "lr"), with_p(0.02)
    both = family({"same": same, "strong": strong})
    assert same.word == "the same runs" and both.all("ahead") is False
    assert both["strong"].p == pytest.approx(0.02)  # it does not count
    assert compare(rate(0.1, 0.25), rate(0.2, 0.2500001), "lr").word != "the same runs"


def with_p(p: float, n: int = 6, sign: int = 1) -> Comparison:
    """A comparison of n pairs whose two-sided p is p."""
    spread = np.linspace(-1, 1, n) * 100  # so wide that nothing is equivalent
    mean = stats.t.isf(p / 2, n - 1) * spread.std(ddof=1) / n**0.5
    return Comparison(over_pairs(sign * mean + spread, 0.0), 3.0)


def closed(ps):
    """Holm as the closed test that it is: of every set of claims with i in it, the largest |set| · smallest p."""
    sets = [s for size in range(1, len(ps) + 1) for s in itertools.combinations(range(len(ps)), size)]
    return [max(min(1.0, len(s) * min(ps[j] for j in s)) for s in sets if i in s) for i in range(len(ps))]


@settings(max_examples=60)
@given(st.lists(st.sampled_from([0.0005, 0.009, 0.0124, 0.0126, 0.016, 0.03, 0.049, 0.3, 0.9]), min_size=1, max_size=6))
def test_holm_is_the_closed_test(ps):
    one = family(dict(enumerate(map(with_p, ps))))
    assert [c.p for c in one.values()] == pytest.approx(closed(ps))
    assert [c.word == "ahead" for c in one.values()] == [p < 0.05 for p in closed(ps)]
    assert [c.unadjusted for c in family(one).values()] == pytest.approx(ps) and family(one) == one  # twice: no change


def test_what_does_not_count_in_a_family_and_what_goes_before_it():
    two = Comparison(over_pairs(np.array([9.0, 8.0]), 0.0), 3.0)
    one = family({"a": with_p(0.02), "two": two, "b": with_p(0.024, sign=-1)})
    assert [c.p for c in one.values()] == pytest.approx([0.04, 1.0, 0.04])
    assert one.words == {"ahead": 1, "undecided (n = 2)": 1, "behind": 1} and one.with_word("behind") == ["b"]
    near = Comparison(over_pairs(np.array([1.0, 1.1, 0.9]), 0.0), 3.0)
    both = family({"near": near, "far": with_p(0.03)})
    assert near.p < 0.05 and both["near"].word == "equivalent" and both["near"].p == pytest.approx(2 * near.p)
    assert both["far"].word == "ahead"  # the smaller p is near's
    assert one.span("{:.0f} to {:.0f}") == "8 to 103"


def test_orders_are_compared_pair_by_pair():
    alike, pairs, tau, p = order({"a": 3, "b": 2, "c": 1}, {"a": 9, "b": 1, "c": 4})
    assert (alike, pairs) == (2, 3) and tau == pytest.approx(1 / 3) and 0 < p <= 1

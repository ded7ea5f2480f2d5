"""Intervals and their words against slow twins: Student's t, two one-sided tests, Kendall's permutation test."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from icrlib.experiments.compare import Comparison
from icrlib.experiments.intervals import kendall, over_pairs

numbers = st.floats(-50, 50).map(lambda x: round(x, 1))


def pairs_of(low: int, high: int, values=numbers):
    return st.integers(low, high).flatmap(lambda n: st.tuples(*[st.lists(values, min_size=n, max_size=n)] * 2))


def less(ours, other, smallest=None, equal=False) -> Comparison:
    return Comparison(over_pairs(np.array(ours, float), np.array(other, float)), smallest, equal)


@settings(max_examples=100)
@given(pairs_of(3, 8), st.sampled_from([0.5, 3.0, 20.0]))
def test_words_are_those_of_t_tests(pair, smallest):
    """Twin: SciPy's paired t-test, and its one-sided ones against −smallest and +smallest, both below 5 %."""
    assert less([2, 3, 4], [1, 2, 3]).word == "ahead"  # each by 1, without any spread
    d = np.round(np.subtract(*map(np.array, pair)), 6)
    above = stats.ttest_1samp(d, -smallest, alternative="greater").pvalue
    below = stats.ttest_1samp(d, smallest, alternative="less").pvalue
    if d.std() < 1e-9 or abs(max(above, below) - 0.05) < 1e-9:
        return
    plain, same = less(*pair, smallest), less(*pair, smallest, equal=True)
    assert (plain.word == "equivalent") == (same.word == "equivalent") == (max(above, below) < 0.05)
    assert plain.p == pytest.approx(stats.ttest_rel(*pair).pvalue, abs=1e-9)
    low, high = stats.ttest_rel(*pair).confidence_interval(0.95)
    assert (plain.low, plain.high) == pytest.approx((low, high), abs=1e-9)
    if plain.word != "equivalent" and min(abs(low), abs(high)) > 1e-9:
        assert plain.word == ("ahead" if low > 0 else "behind" if high < 0 else "undecided")
    outside = low > smallest or high < -smallest
    assert (same.word in ("ahead", "behind")) == outside == (same.p < 0.05)


def slow_kendall(a, b):
    agree = disagree = ties_a = ties_b = 0
    for i, j in itertools.combinations(range(len(a)), 2):
        x, y = (a[i] > a[j]) - (a[i] < a[j]), (b[i] > b[j]) - (b[i] < b[j])
        agree, disagree = agree + (x * y > 0), disagree + (x * y < 0)
        ties_a, ties_b = ties_a + (x != 0), ties_b + (y != 0)
    return (agree - disagree) / math.sqrt(ties_a * ties_b) if ties_a * ties_b else 0.0


@settings(max_examples=60)
@given(pairs_of(3, 5, st.integers(0, 4)))
def test_correlation_is_an_exact_permutation_test(pair):
    a, b = pair
    tau, p = kendall(np.array(a, float), np.array(b, float))
    assert tau == pytest.approx(slow_kendall(a, b))
    as_extreme = [abs(slow_kendall(a, order)) >= abs(tau) - 1e-12 for order in itertools.permutations(b)]
    assert p == pytest.approx(sum(as_extreme) / len(as_extreme))


def test_correlation_beyond_the_exact_orders():
    """n > 8: without ties SciPy's exact distribution is a twin; with ties a slow loop over random orders."""
    rng = np.random.default_rng(5)
    for n, slope in ((10, 0.0), (12, 0.3), (15, -0.9)):
        a = rng.permutation(n).astype(float)
        b = slope * a + rng.normal(size=n) * 3
        exact = stats.kendalltau(a, b, method="exact")
        assert kendall(a, b) == pytest.approx((exact.statistic, exact.pvalue), abs=0.01), (n, slope)
    a, b = np.repeat(np.arange(5.0), 2), np.array([1.0, 3, 1, 2, 3, 2, 1, 3, 3, 2])
    (tau, p), first = kendall(a, b), a.tolist()
    slow = np.mean([abs(slow_kendall(first, rng.permutation(b).tolist())) >= abs(tau) - 1e-12 for _ in range(4000)])
    assert tau == pytest.approx(slow_kendall(first, b.tolist())) and p == pytest.approx(slow, abs=0.03)
    assert 0.1 < slow < 0.6 and kendall(a, np.ones(10)) == (0.0, 1.0)

"""The one function that decides claims, against slow twins and constructed cases."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from icrlib.paper import verdict
from icrlib.paper.verdicts import _kendall

# Two-sided 95 % quantiles of Student's t, from a printed table: degrees of freedom 2, 3, 4, 9.
T = {2: 4.303, 3: 3.182, 4: 2.776, 9: 2.262}


def seeds(values) -> dict[int, float]:
    return dict(enumerate(values))


def slow_word(ours, other):
    """Textbook: mean difference ± t s / sqrt(n), every sum written out."""
    d = [a - b for a, b in zip(ours, other, strict=True)]
    mean = sum(d) / len(d)
    s = math.sqrt(sum((x - mean) ** 2 for x in d) / (len(d) - 1))
    half = T[len(d) - 1] * s / math.sqrt(len(d))
    return "reproduced" if mean - half > 0 else "contradicted" if mean + half < 0 else "undecided"


numbers = st.floats(-50, 50).map(lambda x: round(x, 1))


@settings(deadline=None, max_examples=150)
@given(st.sampled_from([3, 4, 5]).flatmap(lambda n: st.tuples(*[st.lists(numbers, min_size=n, max_size=n)] * 2)))
def test_greater_agrees_with_the_textbook_and_flips(pair):
    ours, other = pair
    found = verdict("c", "greater", seeds(ours), seeds(other))
    edge = found.difference
    if min(abs(edge.low), abs(edge.high)) > 0.02 * (edge.high - edge.low + 1e-9) + 1e-9:  # the table has four digits
        assert found.word == slow_word(ours, other)
    flipped = {"reproduced": "contradicted", "contradicted": "reproduced", "undecided": "undecided"}
    assert verdict("c", "less", seeds(ours), seeds(other)).word == flipped[found.word]
    assert verdict("c", "greater", seeds(other), seeds(ours)).word == flipped[found.word]


def test_constructed_cases():
    assert verdict("c", "greater", seeds([3, 4, 3.5]), seeds([1, 2.2, 1])).word == "reproduced"
    assert verdict("c", "greater", seeds([1, 2.2, 1]), seeds([3, 4, 3.5])).word == "contradicted"
    assert verdict("c", "greater", seeds([3, 0, 2]), seeds([1, 2, 1.5])).word == "undecided"
    assert verdict("c", "greater", seeds([9, 9]), seeds([1, 1])).word == "undecided (n = 2)"
    assert verdict("c", "greater", seeds([9]), seeds([1])).word == "undecided (n = 1)"
    same = verdict("c", "greater", seeds([2, 3, 4]), seeds([1, 2, 3]))
    assert same.word == "reproduced" and same.difference.low == same.difference.high == 1
    assert verdict("c", "greater", seeds([1, 2, 3]), seeds([1, 2, 3])).word == "undecided"
    assert verdict("c", "not measurable").word == "not measurable as published"


def test_pairing_is_by_seed_not_by_order():
    ours, other = {0: 10.0, 1: 20.0, 2: 30.0}, {2: 29.0, 0: 9.1, 1: 19.05}
    assert verdict("c", "greater", ours, other).word == "reproduced"  # unpaired, the spread would hide it


def test_similar_needs_the_whole_interval_inside():
    close, far = seeds([50.0, 50.1, 49.9]), seeds([53.0, 53.1, 52.9])
    assert verdict("c", "similar", close, seeds([50.1, 50.0, 50.0])).word == "reproduced"
    assert verdict("c", "similar", far, close).word == "contradicted"
    assert verdict("c", "similar", seeds([50, 55, 45]), close).word == "undecided"
    assert verdict("c", "similar", far, close, tolerance=5.0).word == "reproduced"


def slow_kendall(a, b):
    agree = disagree = ties_a = ties_b = 0
    for i, j in itertools.combinations(range(len(a)), 2):
        x, y = (a[i] > a[j]) - (a[i] < a[j]), (b[i] > b[j]) - (b[i] < b[j])
        agree, disagree = agree + (x * y > 0), disagree + (x * y < 0)
        ties_a, ties_b = ties_a + (x != 0), ties_b + (y != 0)
    return (agree - disagree) / math.sqrt(ties_a * ties_b) if ties_a * ties_b else 0.0


@settings(deadline=None, max_examples=60)
@given(st.integers(3, 5).flatmap(lambda n: st.tuples(*[st.lists(st.integers(0, 4), min_size=n, max_size=n)] * 2)))
def test_correlation_is_an_exact_permutation_test(pair):
    a, b = pair
    found = verdict("c", "correlates", seeds(a), seeds(b))
    tau = slow_kendall(a, b)
    assert found.tau == pytest.approx(tau) == pytest.approx(_kendall(np.array(a, float), np.array(b, float)))
    as_extreme = [abs(slow_kendall(a, order)) >= abs(tau) - 1e-12 for order in itertools.permutations(b)]
    assert found.p == pytest.approx(sum(as_extreme) / len(as_extreme))


def test_correlation_words():
    up = seeds([1, 2, 3, 4, 5, 6])
    assert verdict("c", "correlates", up, seeds([2, 3, 5, 6, 8, 9])).word == "reproduced"
    assert verdict("c", "correlates", up, seeds([9, 8, 6, 5, 3, 2])).word == "contradicted"
    assert verdict("c", "correlates", seeds([1, 2, 3]), seeds([1, 2, 3])).word == "undecided"  # p = 1/3 at best
    ten = seeds(range(12))
    assert verdict("c", "correlates", ten, ten).word == "reproduced"


def test_bad_input_is_named():
    with pytest.raises(ValueError, match=r"seeds do not match: \[0, 1\] against \[0, 2\]"):
        verdict("c", "greater", {0: 1.0, 1: 2.0}, {0: 1.0, 2: 2.0})
    with pytest.raises(ValueError, match="seed 1 has no finite number"):
        verdict("c", "greater", {0: 1.0, 1: float("nan"), 2: 1.0}, seeds([1, 1, 1]))
    with pytest.raises(ValueError, match="no runs on our side"):
        verdict("c", "greater", {}, seeds([1, 1, 1]))
    with pytest.raises(ValueError, match="unknown kind of claim 'bigger'"):
        verdict("c", "bigger", seeds([1]), seeds([1]))

"""The one function that decides claims, against slow twins and constructed cases."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from icrlib.evidence import family, tabulate, verdict
from icrlib.evidence.correlation import kendall
from icrlib.evidence.verdicts import SAME

from .made import group, record

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


@settings(max_examples=150)
@given(st.sampled_from([3, 4, 5]).flatmap(lambda n: st.tuples(*[st.lists(numbers, min_size=n, max_size=n)] * 2)))
def test_greater_agrees_with_the_textbook_and_flips(pair):
    ours, other = pair
    result = verdict("c", "greater", seeds(ours), seeds(other))
    edge = result.difference
    if min(abs(edge.low), abs(edge.high)) > 0.02 * (edge.high - edge.low + 1e-9) + 1e-9:  # the table has four digits
        assert result.word == slow_word(ours, other)
    flipped = {"reproduced": "contradicted", "contradicted": "reproduced", "undecided": "undecided"}
    assert verdict("c", "less", seeds(ours), seeds(other)).word == flipped[result.word]
    assert verdict("c", "greater", seeds(other), seeds(ours)).word == flipped[result.word]


@pytest.mark.parametrize(
    ("ours", "other", "word"),
    [
        ([3, 4, 3.5], [1, 2.2, 1], "reproduced"),
        ([1, 2.2, 1], [3, 4, 3.5], "contradicted"),
        ([3, 0, 2], [1, 2, 1.5], "undecided"),
        ([2, 3, 4], [1, 2, 3], "reproduced"),  # each by 1
        ([1, 2, 3], [1, 2, 3], "undecided"),
        ([9, 9], [1, 1], "undecided (n = 2)"),
        ([9], [1], "undecided (n = 1)"),
    ],
)
def test_constructed_cases(ours, other, word):
    result = verdict("c", "greater", seeds(ours), seeds(other))
    assert result.word == word
    own = {"reproduced": "holds", "contradicted": "fails"}  # of our own claims
    assert verdict("c", "greater", seeds(ours), seeds(other), own=True).word == own.get(word, word)
    if len(ours) < 3:
        assert result.p is None and family([result])[0] == result
    turned = dict(reversed(seeds(other).items()))  # pairing is by seed, not by order
    assert verdict("c", "greater", seeds(ours), turned) == result


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


@settings(max_examples=60)
@given(st.integers(3, 5).flatmap(lambda n: st.tuples(*[st.lists(st.integers(0, 4), min_size=n, max_size=n)] * 2)))
def test_correlation_is_an_exact_permutation_test(pair):
    a, b = pair
    result = verdict("c", "correlates", seeds(a), seeds(b))
    tau = slow_kendall(a, b)
    assert result.tau == pytest.approx(tau) == pytest.approx(kendall(np.array(a, float), np.array(b, float))[0])
    as_extreme = [abs(slow_kendall(a, order)) >= abs(tau) - 1e-12 for order in itertools.permutations(b)]
    assert result.p == pytest.approx(sum(as_extreme) / len(as_extreme))


def test_correlation_beyond_the_exact_orders():
    """n > 9: without ties SciPy's exact distribution is a twin; with ties a slow loop over random orders."""
    rng = np.random.default_rng(5)
    for n, slope in ((10, 0.0), (10, 0.8), (12, 0.3), (15, -0.9), (15, 0.5)):
        a = rng.permutation(n).astype(float)
        b = slope * a + rng.normal(size=n) * 3
        result, exact = verdict("c", "correlates", seeds(a), seeds(b)), stats.kendalltau(a, b, method="exact")
        assert result.tau == pytest.approx(exact.statistic) and result.n == n
        assert result.p == pytest.approx(exact.pvalue, abs=0.01), (n, slope)
        decided = "reproduced" if exact.statistic > 0 else "contradicted"
        assert result.word == (decided if exact.pvalue < 0.05 else "undecided")
    a, b = [0, 0, 1, 1, 2, 2, 3, 3, 4, 4], [1, 3, 1, 2, 3, 2, 1, 3, 3, 2]
    result, tau = verdict("c", "correlates", seeds(a), seeds(b)), slow_kendall(a, b)
    slow = np.mean([abs(slow_kendall(a, rng.permutation(b).tolist())) >= abs(tau) - 1e-12 for _ in range(4000)])
    assert 0.1 < slow < 0.6
    assert result.tau == pytest.approx(tau) and result.p == pytest.approx(slow, abs=0.03)
    up = np.arange(10.0)
    assert verdict("c", "correlates", seeds(up), seeds(-up), own=True).word == "fails"
    flat = verdict("c", "correlates", seeds(up), seeds([1.0] * 10))
    assert flat.word == "undecided" and (flat.tau, flat.p) == (0.0, 1.0)
    assert verdict("c", "correlates", seeds([1, 2, 3]), seeds([1, 2, 3])).word == "undecided"  # p = 1/3 at best


@settings(max_examples=100)
@given(
    st.integers(3, 8).flatmap(lambda n: st.tuples(*[st.lists(numbers, min_size=n, max_size=n)] * 2)),
    st.sampled_from([0.5, 3.0, 20.0]),
)
def test_equivalence_is_two_one_sided_tests(pair, smallest):
    """Twin: SciPy's one-sided t-tests against −smallest and +smallest, both below 5 %."""
    d = np.round(np.subtract(*map(np.array, pair)), 6)
    if d.std() < 1e-9:
        return
    above = stats.ttest_1samp(d, -smallest, alternative="greater").pvalue
    below = stats.ttest_1samp(d, smallest, alternative="less").pvalue
    if abs(max(above, below) - 0.05) < 1e-9:
        return
    greater = verdict("c", "greater", seeds(pair[0]), seeds(pair[1]), smallest=smallest)
    same = verdict("c", "equivalent", seeds(pair[0]), seeds(pair[1]), smallest=smallest)
    assert greater.small == same.small == (max(above, below) < 0.05)
    assert (greater.word == "equivalent") == (same.word == "reproduced") == greater.small
    assert greater.p == pytest.approx(stats.ttest_rel(*pair).pvalue, abs=1e-9)
    low, high = stats.ttest_rel(*pair).confidence_interval(0.95)
    assert (greater.difference.low, greater.difference.high) == pytest.approx((low, high), abs=1e-9)
    outside = low > smallest or high < -smallest
    assert (same.word == "contradicted") == outside == (same.p < 0.05)


def test_the_smallest_difference_that_matters():
    """3 rsum for records; a 90 % interval inside of it says equivalent even where 0 is outside of it."""
    base = [400.0, 404.0, 398.0, 402.0]
    other = group("ntxent", base)

    def moved(*by):
        return group("triplet", [b + e for b, e in zip(base, by, strict=True)])

    for shift, word in ((1.0, "equivalent"), (2.6, "equivalent"), (6.0, "reproduced"), (-6.0, "contradicted")):
        result = verdict("c", "greater", moved(*(shift + e for e in (0.2, -0.2, 0.1, -0.1))), other)
        assert result.word == word and result.p < 0.05, shift
    wide, near = moved(4, -4, 3, -3), moved(1.5, -1.5, 1.5, -1.5)
    assert verdict("c", "greater", wide, other).word == "undecided"
    assert verdict("c", "greater", wide, other, smallest=20.0).word == "equivalent"
    assert verdict("c", "equivalent", near, other).word == "reproduced"  # s = √3, n = 4: the 90 % interval is ±2.04
    inside = verdict("c", "equivalent", seeds([1.0, 1.1, 0.9]), seeds([0.0, 0.0, 0.0]), smallest=3.0)
    assert inside.p == 1.0  # nothing speaks against a difference within ±3, however far it is from ±3
    edge = verdict("c", "less", moved(1.8, -1.8, 1.8, -1.8), other)  # 90 %: ±2.45; 95 %: ±3.31
    assert edge.word == "equivalent" and edge.difference.high > 3
    recall = verdict("c", "greater", near, other, measure="test.i2t.r1")
    assert not recall.small and recall.word == "undecided"  # no smallest difference is known for R@1


def with_p(p: float, sign: int = 1, n: int = 5):
    """A verdict of a made-up claim with that p."""
    spread = np.array([-1.0, 0.5, 0.5, -0.5, 0.5])[:n]
    mean = stats.t.isf(p / 2, n - 1) * spread.std(ddof=1) / n**0.5
    return verdict(f"p = {p}", "greater", seeds(sign * mean + spread), seeds(np.zeros(n)))


def closed(ps):
    """Holm as the closed test that it is: of every set of claims with i in it, the largest |set| · smallest p."""
    sets = [s for size in range(1, len(ps) + 1) for s in itertools.combinations(range(len(ps)), size)]
    return [max(min(1.0, len(s) * min(ps[j] for j in s)) for s in sets if i in s) for i in range(len(ps))]


@settings(max_examples=60)
@given(
    st.lists(
        st.sampled_from([0.0005, 0.004, 0.009, 0.0124, 0.0126, 0.016, 0.02, 0.03, 0.049, 0.051, 0.3, 0.9]),
        min_size=1,
        max_size=6,
    )
)
def test_holm_is_the_closed_test(ps):
    result = family([with_p(p) for p in ps])
    assert [v.adjusted for v in result] == pytest.approx(closed(ps))
    assert [v.word == "reproduced" for v in result] == [p < 0.05 for p in closed(ps)]
    assert [v.p for v in result] == pytest.approx(ps)


def test_what_does_not_count_in_a_family():
    strong = family({"a": with_p(0.001, sign=-1), "b": with_p(0.2)})
    assert strong["a"].word == "contradicted" and strong["a"].adjusted == pytest.approx(0.002)
    out = [verdict("c", "not measurable"), verdict("c", "greater", seeds([9, 8]), seeds([1, 2]))]
    with_out = family([with_p(0.02), *out, with_p(0.024)])
    assert [v.adjusted for v in with_out] == [pytest.approx(0.04), None, None, pytest.approx(0.04)]
    assert [v.word for v in with_out[1:3]] == ["not measurable as published", "undecided (n = 2)"]
    assert family(with_out) == with_out  # correcting twice changes nothing
    assert [v.word for v in family([with_p(0.04)] * 2, level=0.1)] == ["reproduced"] * 2
    rows = [{"claim": "x", "paper": "", "ours": "", "verdict": v} for v in (*with_out, with_p(0.5))]
    assert tabulate(rows)["p"].tolist() == [".040", "–", "–", ".040", "–"]


def test_equivalent_goes_before_holm_and_stays_in_the_family():
    near = verdict("near", "greater", seeds([1.0, 1.1, 0.9]), seeds([0.0, 0.0, 0.0]), smallest=3.0)
    result = family([near, with_p(0.03)])
    assert near.p < 0.05 and result[0].word == "equivalent" and result[0].adjusted == pytest.approx(2 * near.p)
    assert result[1].word == "reproduced" and family([near, near, near, with_p(0.04)])[3].word == "reproduced"
    wide = verdict("wide", "equivalent", seeds([1.0, 1.1, 0.9]), seeds([0.0, 0.0, 0.0]), smallest=0.5)
    assert wide.word == "contradicted" and wide.p == pytest.approx(stats.ttest_1samp([1.0, 1.1, 0.9], 0.5).pvalue)
    assert family([wide] + [with_p(0.5)] * 9)[0].word == "undecided"


@pytest.mark.parametrize(
    ("kind", "ours", "other", "message"),
    [
        ("greater", {0: 1.0, 1: 2.0}, {0: 1.0, 2: 2.0}, r"\[0, 1\] against \[0, 2\]"),
        ("greater", {0: 1.0, 1: float("nan"), 2: 1.0}, seeds([1, 1, 1]), "seed 1"),
        ("greater", {}, seeds([1, 1, 1]), "no runs"),
        ("bigger", seeds([1]), seeds([1]), "'bigger'"),
        ("equivalent", seeds([1, 2, 3]), seeds([1, 2, 3]), "smallest="),
    ],
)
def test_bad_input_is_named(kind, ours, other, message):
    with pytest.raises(ValueError, match=message):
        verdict("c", kind, ours, other)


def test_the_same_runs_under_two_names_are_no_comparison():
    """Ten pairs whose constraint never bound printed +0.0 [+0.0, +0.0]: a test that cannot fail."""

    def side(rate, *log):
        return [record("triplet", s, 300.0 + s, lr=rate) | {"log": [[1, 0.5 + s], [2, *log]]} for s in range(4)]

    same = verdict("c", "greater", side(0.1, 0.25), side(0.2, 0.25), factor="lr")
    assert same.word == SAME and same.difference is None and same.p is None and same.n == 4
    assert [v.word for v in family([same, with_p(0.001)])] == [SAME, "reproduced"]
    other = side(0.2, 0.25)
    other[3]["log"][1][1] = 0.2500001
    bare = [[r | {"log": None} for r in side(rate, 0)] for rate in (0.1, 0.2)]
    for one, two in ((side(0.1, 0.25), other), bare):
        assert verdict("c", "greater", one, two, factor="lr").word != SAME

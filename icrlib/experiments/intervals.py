"""How sure a difference is, by Student's t; and whether two measurements put the same items in the same order."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special, stats

RESAMPLES, BATCH = 50_000, 5_000  # of orders; exact up to n = 8, whose 40,320 are fewer


@dataclass(frozen=True)
class Estimate:
    """A mean difference of ``n`` runs a side; ``se`` and ``df`` are None where n < 2."""

    mean: float
    se: float | None
    df: float | None
    n: int

    def interval(self, level: float) -> tuple[float, float]:
        """Two-sided t-interval. Without any spread it is a point: none was seen, so none is claimed."""
        half = float(special.stdtrit(self.df, (1 + level) / 2)) * self.se
        return self.mean - half, self.mean + half

    def p(self, at: float = 0.0) -> float:
        """Two-sided p of the hypothesis that the true difference is ``at``."""
        distance = abs(self.mean - at)
        if self.se == 0:
            return 1.0 if distance == 0 else 0.0
        return float(2 * special.stdtr(self.df, -distance / self.se))

    def p_beyond(self, smallest: float) -> float:
        """Two-sided p of the hypothesis that the true difference lies within ±``smallest``."""
        return 1.0 if abs(self.mean) <= smallest else self.p(math.copysign(smallest, self.mean))

    def within(self, smallest: float, level: float) -> bool:
        """Two one-sided tests at (1 − level)/2 each: does the whole interval at ``level`` lie within ±``smallest``?"""
        low, high = self.interval(level)
        return -smallest < low and high < smallest


def over_pairs(first: np.ndarray, second: np.ndarray | float) -> Estimate:
    """The paired t-test: mean of the differences, s/√n, n − 1 degrees of freedom. (n,) each."""
    difference = first - second
    n, mean = len(difference), float(difference.mean())
    if n < 2:
        return Estimate(mean, None, None, n)
    return Estimate(mean, float(difference.std(ddof=1) / math.sqrt(n)), n - 1, n)


def kendall(first: np.ndarray, second: np.ndarray) -> tuple[float, float]:
    """Kendall's τ-b of two (n,) and its two-sided p by a permutation test; ties stay ties.

    Exact where there are at most ``RESAMPLES`` orders, else from as many random ones (fixed seed); p is the share of
    orders with |τ| at least as large. τ is 0 and p is 1 where one side is constant. n ≥ 2.
    """
    tau = stats.kendalltau(first, second).statistic
    if np.isnan(tau):
        return 0.0, 1.0
    i, j = np.triu_indices(len(first), 1)
    fixed = np.sign(second[i] - second[j])

    def agreement(values: np.ndarray, axis: int) -> np.ndarray:
        """|agreeing − disagreeing pairs|: |τ-b| without its denominator, which is the same in every order."""
        values = np.moveaxis(values, axis, -1)
        return abs((np.sign(values[..., i] - values[..., j]) * fixed).sum(-1))

    test = stats.permutation_test(
        (first,),
        agreement,
        permutation_type="pairings",
        vectorized=True,
        batch=BATCH,
        n_resamples=RESAMPLES,
        alternative="greater",
        random_state=0,
    )
    return float(tau), float(test.pvalue)

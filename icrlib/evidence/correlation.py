"""Do two measurements of the same items put them in the same order?"""

from __future__ import annotations

import numpy as np
from scipy import stats

RESAMPLES, BATCH = 50_000, 5_000  # exact up to n = 8, whose 40,320 orders are fewer


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

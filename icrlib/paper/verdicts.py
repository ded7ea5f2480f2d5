"""One function decides every claim of the book."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations

import numpy as np
import pandas as pd
from scipy import stats

from icrlib.errors import choose

KINDS = ("greater", "less", "similar", "correlates", "not measurable")
LEVEL = 0.95


@dataclass(frozen=True)
class Difference:
    """A mean difference and its 95 % interval; ``low`` and ``high`` are None where n < 2."""

    mean: float
    low: float | None
    high: float | None
    unit: str = ""

    def __str__(self) -> str:
        interval = "" if self.low is None else f" [{self.low:+.1f}, {self.high:+.1f}]"
        return f"{self.mean:+.1f}{interval} {self.unit}".strip()


@dataclass(frozen=True)
class Verdict:
    """``word``: "reproduced", "contradicted", "undecided", "undecided (n = …)" or "not measurable as published"."""

    word: str
    claim: str
    n: int
    difference: Difference | None = None
    tau: float | None = None
    p: float | None = None

    def __str__(self) -> str:
        return self.word


def verdict(
    claim: str, kind: str, ours: Mapping | None = None, other: Mapping | None = None, *, unit: str = "points",
    tolerance: float = 1.0,
) -> Verdict:  # fmt: skip
    """Decide a claim about two sets of runs, ``{seed: number}`` each, paired by seed.

    ``kind="greater"`` (``"less"``): ours exceeds (falls below) other. *Reproduced* if the 95 % t-interval of the
    mean paired difference lies on the claimed side of 0, *contradicted* if on the other, else *undecided*.
    ``"similar"``: reproduced if the interval lies within ±``tolerance``, contradicted if outside of it.
    ``"correlates"``: ours and other are two measurements of the same items; Kendall's τ > 0 with an exact permutation
    test at 5 %, two-sided. Fewer than three seeds are always undecided. ``"not measurable"`` needs no numbers: the
    published procedure could not have measured it.
    If all differences are equal the interval is that point: no spread was seen, so none is claimed.

    Raises ``ValueError`` where the seeds do not match or a number is missing.
    """
    choose(kind, KINDS, "kind of claim")
    if kind == "not measurable":
        return Verdict("not measurable as published", claim, 0)
    first, second = _paired(claim, ours, other)
    n = len(first)
    if kind == "correlates":
        return _correlates(claim, first, second)
    difference = first - second
    mean = float(difference.mean())
    if n < 2:
        return Verdict(f"undecided (n = {n})", claim, n, Difference(mean, None, None, unit))
    half = float(stats.t.ppf((1 + LEVEL) / 2, n - 1) * difference.std(ddof=1) / math.sqrt(n))
    low, high = mean - half, mean + half
    found = Difference(mean, low, high, unit)
    if n < 3:
        return Verdict(f"undecided (n = {n})", claim, n, found)
    if kind == "similar":
        yes, no = -tolerance < low and high < tolerance, low >= tolerance or high <= -tolerance
    else:
        above, below = low > 0, high < 0
        yes, no = (above, below) if kind == "greater" else (below, above)
    return Verdict("reproduced" if yes else "contradicted" if no else "undecided", claim, n, found)


def ledger(rows: list[dict]) -> pd.DataFrame:
    """Rows of ``{"claim", "paper", "ours", "verdict"}`` as the book's table of claims, with n, the number of seeds."""
    frame = pd.DataFrame(rows, columns=["claim", "paper", "ours", "verdict"])
    frame["n"] = [row["verdict"].n for row in rows]
    frame["verdict"] = [str(row["verdict"]) for row in rows]
    return frame


def _paired(claim: str, ours: Mapping | None, other: Mapping | None) -> tuple[np.ndarray, np.ndarray]:
    if not ours or not other:
        raise ValueError(f"{claim!r}: no runs on {'our side' if not ours else 'the other side'}; give {{seed: number}}")
    if set(ours) != set(other):
        raise ValueError(f"{claim!r}: seeds do not match: {sorted(ours)} against {sorted(other)}; pair runs by seed")
    seeds = sorted(ours)
    values = [np.array([side[seed] for seed in seeds], dtype=float) for side in (ours, other)]
    for side in values:
        if not np.isfinite(side).all():
            raise ValueError(f"{claim!r}: seed {seeds[int(np.argmin(np.isfinite(side)))]} has no finite number")
    return values[0], values[1]


def _correlates(claim: str, first: np.ndarray, second: np.ndarray) -> Verdict:
    n = len(first)
    if n < 3:
        return Verdict(f"undecided (n = {n})", claim, n)
    if n > 9:
        result = stats.kendalltau(first, second, method="auto")
        tau, p = float(result.statistic), float(result.pvalue)
    else:
        tau = _kendall(first, second)
        shuffled = [_kendall(first, np.array(order)) for order in permutations(second)]
        p = float(np.mean([abs(t) >= abs(tau) - 1e-12 for t in shuffled]))
    word = "undecided" if p >= 1 - LEVEL else "reproduced" if tau > 0 else "contradicted"
    return Verdict(word, claim, n, tau=tau, p=p)


def _kendall(first: np.ndarray, second: np.ndarray) -> float:
    """Kendall's τ-b; 0 where one side is constant."""
    i, j = np.triu_indices(len(first), 1)
    a, b = np.sign(first[i] - first[j]), np.sign(second[i] - second[j])
    scale = math.sqrt((a**2).sum() * (b**2).sum())
    return float((a * b).sum() / scale) if scale else 0.0

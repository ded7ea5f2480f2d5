"""Two groups of runs, paired by draw: how far apart they are, how sure that is, and whether they may be compared."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from icrlib.experiments import fairness, photo_intervals
from icrlib.experiments.intervals import Estimate, kendall, over_pairs
from icrlib.experiments.named import Runs
from icrlib.experiments.record_settings import measured

ALPHA = 0.05
SMALLEST = 3.0  # a difference of test rsum below which the book does not care
FEWEST = 3  # runs a side


@dataclass(frozen=True)
class Comparison:
    """A mean difference. ``word``: "ahead" or "behind" (the 95 % interval, or in a family Holm's p, excludes 0),
    "equivalent" (the 90 % interval lies within ± ``smallest``: two one-sided tests, Schuirmann 1987), "undecided", or
    "the same runs". Fewer than three runs a side are always undecided.

    ``equal``: the question is whether they are, so that p is of a difference within ± the smallest. ``adjusted``:
    Holm's p, where it stands in a family.
    """

    estimate: Estimate
    smallest: float | None
    equal: bool = False
    adjusted: float | None = None
    same: bool = False

    @property
    def mean(self) -> float:
        return self.estimate.mean

    @property
    def n(self) -> int:
        return self.estimate.n

    @property
    def low(self) -> float:
        return self.estimate.interval(1 - ALPHA)[0]

    @property
    def high(self) -> float:
        return self.estimate.interval(1 - ALPHA)[1]

    @property
    def p(self) -> float:
        """Two-sided; Holm's where it stands in a family, and 1 where three runs are not there."""
        return self.adjusted if self.adjusted is not None else self.unadjusted if self.n >= FEWEST else 1.0

    @property
    def unadjusted(self) -> float:
        return self.estimate.p_beyond(self.smallest) if self.equal else self.estimate.p()

    @property
    def word(self) -> str:
        if self.same or self.n < FEWEST:
            return "the same runs" if self.same else f"undecided (n = {self.n})"
        if self.smallest is not None and self.estimate.within(self.smallest, 1 - 2 * ALPHA):
            return "equivalent"
        if self.p >= ALPHA:
            return "undecided"
        return "ahead" if self.mean > 0 else "behind"

    def __str__(self) -> str:
        return f"{self.mean:+.1f} [{self.low:+.1f}, {self.high:+.1f}]" if self.n > 1 else f"{self.mean:+.1f}"


class Family(dict):
    """Comparisons by name, tested together: Holm's correction is in their p and in their words."""

    def all(self, word: str) -> bool:
        return all(one.word == word for one in self.values())

    def with_word(self, word: str) -> list:
        return [name for name, one in self.items() if one.word == word]

    @property
    def words(self) -> Counter:
        return Counter(one.word for one in self.values())

    def span(self, form: str = "{:+.1f} to {:+.1f}") -> str:
        """The smallest and the largest mean difference; a form without signs says their sizes."""
        means = [one.mean if "+" in form else abs(one.mean) for one in self.values()]
        return form.format(min(means), max(means))


def compare(
    a: Runs,
    b: Runs | float,
    factor: str | tuple[str, ...] = "loss",
    of: str | Callable = "test.rsum",
    *,
    smallest: float | None = None,
    equal: bool = False,
) -> Comparison:
    """``a`` less ``b``, paired by draw (the seeds that both have), in the unit of ``of``.

    The sides must differ in ``factor`` ("loss", "method", "system", "updates", "grad_clip", … or several of them), may
    differ in what their searches moved (``runs(…, at=search)``), and in nothing else: ``ValueError`` names what does,
    or which draws or evaluations do not match. ``b`` may be a number, such as the accuracy of chance. ``smallest``, the
    difference below which nobody cares, is 3 for "test.rsum"; for other measures nothing is called equivalent unless it
    is given.

    Drawn data: a paired t-interval over draws. Photos with test ranks: seeds and a bootstrap over test photos, where
    training set and gallery are fixed (:mod:`icrlib.experiments.photo_intervals`).
    """
    smallest = SMALLEST if smallest is None and of == "test.rsum" else smallest
    if equal and smallest is None:
        raise ValueError(f"{of}: equal=True needs smallest=, the smallest difference that matters")
    alone = isinstance(b, (int, float))
    factors = (factor,) if isinstance(factor, str) else factor
    ours, other = (fairness.side("our side", a), float(b)) if alone else fairness.paired(a, b, factors)
    if photo_intervals.applies(ours if alone else [*ours, *other], of):
        estimate = photo_intervals.estimate(ours, other, of)
    else:
        estimate = over_pairs(Runs(ours).values(of), other if alone else Runs(other).values(of))
    same = not alone and all(_same(x, y, of) for x, y in zip(ours, other, strict=True))
    return Comparison(estimate, smallest, equal, same=same)


def family(named: Mapping[object, Comparison]) -> Family:
    """Holm's correction over what is said together: one table, one model. Hand in *all* of it at once.

    The p of m comparisons are sorted; the adjusted p₍ᵢ₎ is the largest of (m − j + 1)·p₍ⱼ₎ with j ≤ i, at most 1 (Holm
    1979). What cannot be decided (fewer than three runs, the same runs) does not count into m. Equivalence rests on
    other hypotheses and is not corrected; intervals stay at 95 % each.
    """
    tested = [name for name, one in named.items() if one.n >= FEWEST and not one.same]
    corrected, largest = Family(named), 0.0
    for rank, name in enumerate(sorted(tested, key=lambda name: named[name].unadjusted)):
        largest = min(1.0, max(largest, (len(tested) - rank) * named[name].unadjusted))
        corrected[name] = replace(named[name], adjusted=largest)
    return corrected


def order(ours: Mapping[object, float], theirs: Mapping[object, float]) -> tuple[int, int, float, float]:
    """(pairs of rows that stand alike in both, all pairs, Kendall's τ-b, its two-sided permutation p)."""
    rows = list(ours)
    pairs = list(itertools.combinations(rows, 2))
    alike = sum((ours[x] - ours[y]) * (theirs[x] - theirs[y]) > 0 for x, y in pairs)
    return alike, len(pairs), *kendall(np.array([ours[r] for r in rows]), np.array([theirs[r] for r in rows]))


def _same(a: Mapping, b: Mapping, of: str | Callable) -> bool:
    """Did both leave the same log and number? What tells the sides apart then never came into play."""
    return bool(a.get("log")) and a["log"] == b.get("log") and measured(a, of) == measured(b, of)

"""One function decides every claim of the book, and one corrects a family of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from icrlib.errors import choose
from icrlib.evidence import comparison, photo_intervals
from icrlib.evidence import record_settings as runs
from icrlib.evidence.correlation import kendall
from icrlib.evidence.intervals import Estimate, over_pairs

KINDS = ("greater", "less", "equivalent", "correlates", "not measurable")
ALPHA = 0.05
LEVEL, TOST_LEVEL = 1 - ALPHA, 1 - 2 * ALPHA  # of the interval shown, and of the one for two one-sided tests
SMALLEST = 3.0  # a difference of test rsum below which the book does not care
FEWEST = 3
NOT_MEASURABLE = "not measurable as published"
SAME = "the same runs: not testable here"
WORDS = {False: ("reproduced", "contradicted"), True: ("holds", "fails")}


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
    """What was decided and on what grounds.

    ``word``: "reproduced", "contradicted" (``own``: "holds", "fails"), "equivalent", "undecided", "undecided (n = …)",
    "not measurable as published" or "the same runs: not testable here". ``p``: two-sided, of this claim alone (no
    difference; of a claim of equivalence: a difference within ±smallest); ``adjusted``: after :func:`family`.
    ``small``: the whole 90 % interval lies within ± the smallest difference that matters. ``basis``: what the interval
    is made of, and so what it does not contain.
    """

    word: str
    claim: str
    n: int
    difference: Difference | None = None
    tau: float | None = None
    p: float | None = None
    adjusted: float | None = None
    kind: str = "greater"
    own: bool = False
    small: bool = False
    basis: str = ""

    def __str__(self) -> str:
        return self.word


def verdict(
    claim: str,
    kind: str,
    ours: Sequence[Mapping] | Mapping | None = None,
    other: Sequence[Mapping] | Mapping | float | None = None,
    *,
    factor: str = "loss",
    measure: str | Callable[[Mapping], float] = "test.rsum",
    own: bool = False,
    tuning: Mapping | None = None,
    unit: str | None = None,
    smallest: float | None = None,
    tolerance: float | None = None,
) -> Verdict:
    """Decide a claim about two groups of runs, given as lists of records.

    ``kind="greater"`` (``"less"``): the measure of ours exceeds (falls below) that of other. *Reproduced* if the 95 %
    interval of the mean difference lies on the claimed side of 0, *contradicted* if on the other; but *equivalent* if
    the whole 90 % interval lies within ±``smallest`` (two one-sided tests at 5 %, Schuirmann 1987), whether or not it
    contains 0; else *undecided*. ``"equivalent"``: there is no difference that matters; reproduced if the 90 % interval
    lies within ±``smallest``, contradicted if the 95 % interval lies outside of it. Claims of our own (``own=True``)
    *hold* or *fail*. Fewer than three runs are always undecided. ``"not measurable"`` needs no runs: the published
    procedure could not have measured it.

    The groups must differ in ``factor`` only, and ``tuning`` may name what was tuned; everything else is refused, see
    :func:`icrlib.evidence.comparison.paired`. ``other`` may be a number, such as the accuracy of chance. ``measure``: a
    path into a record, "test.rsum" or "test.twins.swap", or a function of a record. ``smallest`` is 3 for
    "test.rsum"; for another measure nothing is called equivalent unless it is given.

    On drawn data, where run s draws its own, the interval is the paired t-interval over draws, which has training data,
    test data and seeds in it. On photos with test ranks it is that of
    :func:`~icrlib.evidence.photo_intervals.estimate`: seeds and test images vary, **training set and gallery are
    fixed**. Elsewhere (other measures of photos, one draw for all seeds) it is a paired t-interval over seeds;
    ``Verdict.basis`` says so.

    ``kind="correlates"``: ours and other are mappings from the same items to numbers; Kendall's τ-b > 0 by a two-sided
    permutation test at 5 %.

    For a transition, ours and other may be mappings ``{seed: number}`` for all kinds; nothing is then known of the
    runs, so that nothing but the seeds is checked. ``"similar"`` with ``tolerance`` is the old name of ``"equivalent"``
    with ``smallest``. ``unit``: as shown behind the difference.

    Raises ``ValueError`` for groups that may not be compared and for numbers that are missing or not finite.
    """
    if kind == "similar":
        kind, smallest = "equivalent", 1.0 if tolerance is None else tolerance
    choose(kind, KINDS, "kind of claim")
    if kind == "not measurable":
        return Verdict(NOT_MEASURABLE, claim, 0, kind=kind, own=own)
    if kind == "correlates":
        return _correlates(claim, own, *_by_key(claim, ours, other))
    of_records = not (isinstance(ours, Mapping) or isinstance(other, Mapping) or ours is None or other is None)
    if of_records:
        ours = list(ours)
        if (found := _of_records(claim, ours, other, factor, measure, tuning)) is None:
            return Verdict(SAME, claim, len(ours), kind=kind, own=own)
        smallest = SMALLEST if smallest is None and measure == "test.rsum" else smallest
        unit = "rsum" if unit is None and measure == "test.rsum" else unit
    elif tuning is not None:
        raise ValueError(f"{claim!r}: tuning= needs records; of {{seed: number}} it cannot be checked")
    else:
        found = over_pairs(*_by_key(claim, ours, other), "paired by seed")
    if kind == "equivalent" and smallest is None:
        raise ValueError(f"{claim!r}: a claim of equivalence needs smallest=, the smallest difference that matters")
    return _decided(claim, kind, own, found, smallest, "points" if unit is None else unit)


def family(verdicts: Iterable[Verdict] | Mapping, level: float = ALPHA) -> list[Verdict] | dict:
    """The verdicts of one family with Holm's correction: words and ``adjusted`` p as they are within it.

    A family is one table × one model × one protocol; hand in *all* its claims at once. The two-sided p of each are
    sorted, p₍₁₎ ≤ … ≤ p₍ₘ₎, and the adjusted p₍ᵢ₎ is the largest of (m − j + 1)·p₍ⱼ₎ with j ≤ i, at most 1 (Holm
    1979). A claim is decided where that is below ``level``, and its direction is the sign of the difference (of τ): the
    chance that a family without any effect decides anything is at most ``level``. Claims that cannot be decided
    (fewer than three runs, not measurable) do not count into m.

    Holm's correction is about differences that are not there. *Equivalent* rests on other hypotheses, that a
    difference is ±``smallest`` or more, and is not corrected: each claim that is called equivalent, wrongly, has a
    chance of at most 5 % of its own. As before it goes first: what lies within ±``smallest`` decides no claim about a
    direction, so that the correction can turn a decided claim into undecided, and nothing else. Claims called
    equivalent stay in m. Intervals stay at 95 % each. Correcting twice changes nothing.

    ``verdicts``: an iterable, which gives a list in the same order, or a dictionary, which gives one.
    """
    if isinstance(verdicts, Mapping):
        return dict(zip(verdicts, family(verdicts.values(), level), strict=True))
    verdicts = list(verdicts)
    tested = [place for place, one in enumerate(verdicts) if one.p is not None]
    largest = 0.0
    for rank, place in enumerate(sorted(tested, key=lambda place: verdicts[place].p)):
        one = verdicts[place]
        largest = min(1.0, max(largest, (len(tested) - rank) * one.p))
        sign = one.difference.mean if one.tau is None else one.tau
        word = _word(one.kind, one.own, sign, largest < level, one.small)
        verdicts[place] = replace(one, adjusted=largest, word=word)
    return verdicts


def tabulate(rows: list[dict]) -> pd.DataFrame:
    """Rows of ``{"claim", "paper", "ours", "verdict"}`` as the book's table of claims, with n, the number of seeds.

    With a column p where verdicts come from a :func:`family`: Holm's, within it.
    """
    frame = pd.DataFrame(rows, columns=["claim", "paper", "ours", "verdict"])
    frame["n"] = [row["verdict"].n for row in rows]
    adjusted = [row["verdict"].adjusted for row in rows]
    if any(p is not None for p in adjusted):
        frame["p"] = ["–" if p is None else "< .001" if p < 0.001 else f"{p:.3f}".removeprefix("0") for p in adjusted]
    frame["verdict"] = [str(row["verdict"]) for row in rows]
    return frame


def _of_records(claim: str, ours: list, other, factor: str, measure, tuning: Mapping | None) -> Estimate | None:
    """None where each pair left the same log and number: what tells the sides apart then never came into play."""
    if isinstance(other, (int, float)):
        ours = comparison.alone(claim, ours)
        every = ours
    else:
        ours, other = comparison.paired(claim, ours, list(other), factor, tuning)
        if all(same_runs(a, b, measure) for a, b in zip(ours, other, strict=True)):
            return None
        every = [*ours, *other]
    if photo_intervals.applies(every, measure):
        return photo_intervals.estimate(ours, other, measure)
    first = np.array([runs.measured(record, measure) for record in ours])
    second = other if isinstance(other, (int, float)) else np.array([runs.measured(r, measure) for r in other])
    draws = {(runs.draw(record), runs.data_hash(record)) for record in ours}
    own_draws = len(draws) == len(ours)
    basis = "over draws of data" if own_draws else "over seeds; training data and test set fixed"
    return over_pairs(first, second, f"{len(ours)} pairs, {basis}")


def same_runs(a: Mapping, b: Mapping, measure) -> bool:
    return bool(a.get("log")) and a["log"] == b.get("log") and runs.measured(a, measure) == runs.measured(b, measure)


def _decided(claim: str, kind: str, own: bool, found: Estimate, smallest: float | None, unit: str) -> Verdict:
    n = found.n
    if found.se is None:
        return Verdict(
            f"undecided (n = {n})",
            claim,
            n,
            Difference(found.mean, None, None, unit),
            kind=kind,
            own=own,
            basis=found.basis,
        )
    difference = Difference(found.mean, *found.interval(LEVEL), unit)
    if n < FEWEST:
        return Verdict(f"undecided (n = {n})", claim, n, difference, kind=kind, own=own, basis=found.basis)
    small = smallest is not None and found.within(smallest, TOST_LEVEL)
    p = found.p_beyond(smallest) if kind == "equivalent" else found.p()
    word = _word(kind, own, found.mean, p < ALPHA, small)
    return Verdict(word, claim, n, difference, p=p, kind=kind, own=own, small=small, basis=found.basis)


def _word(kind: str, own: bool, sign: float, decided: bool, small: bool) -> str:
    yes, no = WORDS[own]
    if kind == "equivalent":
        return yes if small else no if decided else "undecided"
    if small:
        return "equivalent"
    return "undecided" if not decided else yes if (sign > 0) == (kind != "less") else no


def _correlates(claim: str, own: bool, first: np.ndarray, second: np.ndarray) -> Verdict:
    n, about = len(first), {"kind": "correlates", "own": own}
    if n < FEWEST:
        return Verdict(f"undecided (n = {n})", claim, n, **about)
    tau, p = kendall(first, second)
    word = _word("correlates", own, tau, p < ALPHA, False)
    return Verdict(word, claim, n, tau=tau, p=p, basis=f"{n} items", **about)


def _by_key(claim: str, ours: Mapping | None, other: Mapping | None) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of two mappings with the same keys (seeds, or items), in the order of the keys."""
    if not ours or not other:
        raise ValueError(
            f"{claim!r}: no runs on {'our side' if not ours else 'the other side'}; give records, or {{seed: number}}"
        )
    if not (isinstance(ours, Mapping) and isinstance(other, Mapping)):
        raise ValueError(f"{claim!r}: two mappings are needed here, or two lists of records; not one of each")
    if set(ours) != set(other):
        raise ValueError(f"{claim!r}: seeds do not match: {sorted(ours)} against {sorted(other)}; pair runs by seed")
    seeds = sorted(ours)
    values = [np.array([side[seed] for seed in seeds], dtype=float) for side in (ours, other)]
    for side in values:
        if not np.isfinite(side).all():
            raise ValueError(f"{claim!r}: seed {seeds[int(np.argmin(np.isfinite(side)))]} has no finite number")
    return values[0], values[1]

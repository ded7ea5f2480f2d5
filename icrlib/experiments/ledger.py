"""The numbered claims of the papers, judged by named runs: one :class:`Place` for each model and data set.

A claim consists of *parts*, written in ``icrlib/paper/*_claims.json`` as ``"rsum triplet_sh > ntxent"``: a measure, a
row, ``>``, ``<`` or ``=``, and a row or a number. A row is a loss (ECIR) or an objective (LTD). Three parts are others:
``"map best"``, the loss with the best recall has the best mAP; ``"rule"``, of any two losses the one that hears fewer
negatives is ahead; ``"goes rsum swap"``, rows with more of the one have more of the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import pandas as pd

from icrlib.experiments.compare import SMALLEST, Comparison, compare, family, order
from icrlib.experiments.named import Runs
from icrlib.names import label
from icrlib.paper.claims import claims

LOSSES = ("triplet", "triplet_sh", "ntxent", "smoothap")
# Of rows 1.1 to 1.4 of ECIR's Table 1 and of their counts in Tables 2 to 4, image to text, the highest first.
ORDERS = {
    "heard_i2t": ("ntxent", "triplet", "smoothap", "triplet_sh"),
    "rsum": ("triplet_sh", "smoothap", "ntxent", "triplet"),
}
YES, NO, NOT_RUN = ("reproduced", "holds"), ("contradicted", "fails"), "not run"
DECIDED = {  # by the sign of a part: for which word of a comparison it is so (0), and for which not (1)
    ">": {"ahead": 0, "behind": 1},
    "<": {"ahead": 1, "behind": 0},
    "=": {"equivalent": 0, "ahead": 1, "behind": 1},
}
ROWS = {loss: label(loss) for loss in LOSSES} | {
    "con": "baseline",
    "dual": "LTD dual",
    "lag": "LTD constrained",
    "projected": "LTD constrained, projected rule",
    "itd_dual": "ITD dual",
    "itd_lag": "ITD constrained",
    "fixed": "fixed targets",
    "tuned": "tuned targets",
    "ntxent_lag": "LTD constrained with InfoNCE",
    "best": "the η that validation prefers",
    "lowest": "the lowest η",
}


class Measure(NamedTuple):
    """``smallest``: the smallest difference that matters, ``equal``: that of a claim that there is none, if another;
    ``count``: it counts samples in training (ECIR's Tables 2 to 4), and is not about what was learnt (Table 1)."""

    title: str
    of: str | Callable[[Mapping], float]
    unit: str = "points"
    smallest: float | None = None
    equal: float | None = None
    count: bool = False


def at_choice(record: Mapping) -> Mapping:
    """The evaluation at which the run chose its weights."""
    return next(entry for entry in record["history"] if entry["update"] == record["chosen"]["update"])


def silent(record: Mapping, side: str) -> float:
    """% of the queries of the last batch before the chosen evaluation that had no gradient, by the exact weights.

    C_B / C_q is the number of queries that have one, and with C_0 that is all of them, whatever the batch's size.
    """
    count = at_choice(record)["cocos"][side]
    heard = count["C_B"] / count["C_q"] if count["C_q"] else 0.0
    return 100 * count["C_0"] / (count["C_0"] + heard)


def _heard(side: str) -> Measure:
    """Nearer to another whole number than half a negative is another number of negatives."""
    return Measure(
        f"negatives heard {side}", lambda r: at_choice(r)["cocos"][side]["n_eff"], "negatives", equal=0.5, count=True
    )


# The smallest difference of an average recall is that of the rsum, which is a sum of six, divided by six.
MEASURES = {
    "rsum": Measure("rsum", "test.rsum", "rsum", SMALLEST),
    "i2t": Measure("average recall i2t", "test.i2t.average_recall", smallest=SMALLEST / 6),
    "t2i": Measure("average recall t2i", "test.t2i.average_recall", smallest=SMALLEST / 6),
    "map": Measure("mAP@5", lambda r: 100 * r["test"]["i2t"]["map_at_5"], "hundredths"),
    "rp": Measure("R-precision i2t", lambda r: 100 * r["test"]["i2t"]["r_precision"], "hundredths"),
    "swap": Measure("swap accuracy", "test.twins.swap"),
    "sides": Measure(
        "average recall i2t less t2i", lambda r: r["test"]["i2t"]["average_recall"] - r["test"]["t2i"]["average_recall"]
    ),
    "heard_i2t": _heard("i2t"),
    "heard_t2i": _heard("t2i"),
    "silent_i2t": Measure("images without gradient", lambda r: silent(r, "i2t"), "%", count=True),
    "silent_t2i": Measure("captions without gradient", lambda r: silent(r, "t2i"), "%", count=True),
}
TABLES = tuple(tuple(name for name, one in MEASURES.items() if one.count == counts) for counts in (False, True))


class Judged(NamedTuple):
    """A claim at one place: its word, and those of its parts (None: rows that were not run)."""

    word: str
    parts: Mapping[str, str | None]

    def __str__(self) -> str:
        """ "contradicted (1 of 3)": that many parts have this word; a claim of one part has no bracket."""
        same = sum(word == self.word for word in self.parts.values())
        return f"{self.word} ({same} of {len(self.parts)})" if same and len(self.parts) > 1 else self.word


def weakest(words: Iterable[str | None]) -> str:
    """The word of a claim that says several things at once ("regardless of", "consistently", "both").

    *Contradicted* (*fails*) if one of them is; else "not run" if one was not (None); else *undecided* if one is; else
    *equivalent* if one is; and *reproduced* (*holds*) only if all are. With words of a family the chance to contradict
    a claim of which all is true is at most the family's 5 %, however many parts it has; to confirm it each must pass
    its own test, which needs no correction (Berger 1982, intersection-union).
    """
    rank = [*NO, None, "undecided", "described", "the same runs", "equivalent", *YES]
    return min(words, key=lambda word: rank.index(word if word in rank else "undecided")) or NOT_RUN


@dataclass(frozen=True)
class Place:
    """Runs by row, which a paper's claims are asked of under the name ``tests``.

    ``families``: the measures whose parts are corrected together; without any the place describes, and gives no words.
    ``own``: the question is ours, since the paper had no such model: it "holds" or "fails".
    """

    paper: str
    tests: str
    rows: Mapping[str, Runs]
    families: tuple[tuple[str, ...], ...] = ()
    own: bool = False

    def judge(self, number: int) -> Judged | None:
        """Claim ``number`` of the paper; None where it is not about this place."""
        words = {name: word for part in self._asked(number) for name, word in self._words(part).items()}
        return Judged(weakest(words.values()), words) if words else None

    @cached_property
    def parts(self) -> dict[str, Comparison | tuple]:
        """All parts of all claims of which the rows are there, corrected; of "goes" what :func:`order` returns."""
        every = [part for number in claims(self.paper).index for part in self._asked(number)]
        every = dict.fromkeys(name for part in every for name in self._expanded(part) if self._has(name))
        found = {part: self._decided(part) for part in every}
        for names in self.families:
            found |= family({part: one for part, one in found.items() if part.split()[0] in names})
        return found

    def word(self, part: str) -> str | None:
        """None where it was not run; "described" where the place gives no words."""
        if (one := self.parts.get(part)) is None:
            return None
        if not isinstance(one, Comparison) or not (self.families or one.same):
            return "described"
        decided = DECIDED[part.split()[2]].get(one.word)
        return one.word if decided is None else (YES, NO)[decided][self.own]

    def result(self, part: str) -> str:
        """ "+8.1 [+5.9, +10.4] rsum, n = 10"; or Kendall's K of the rows."""
        one = self.parts[part]
        if not isinstance(one, Comparison):
            return f"K = {one[2]:+.2f} over {len(self.rows)} rows"
        return one.word if one.same else f"{one} {MEASURES[part.split()[0]].unit}, n = {one.n}"

    def title(self, part: str) -> str:
        """ "Triplet-SH − NT-Xent, rsum"; "SmoothAP, negatives heard i2t, less 1 (equal)"."""
        name, first, *rest = part.split()
        if name == "goes":
            return f"{MEASURES[rest[0]].title} with {MEASURES[first].title}, over the rows"
        sign, second = rest
        first, measure = ROWS[first], MEASURES[name].title
        text = f"{first}, {measure}, less {second}" if _is_number(second) else f"{first} − {ROWS[second]}, {measure}"
        return text + " (equal)" * (sign == "=")

    def table(self) -> pd.DataFrame:
        """A line for each part, with its claims: difference, interval, n, Holm's p and word."""
        of = {number: judged.parts for number in claims(self.paper).index if (judged := self.judge(number))}
        lines = []
        for part, one in self.parts.items():
            line = {"claims": " ".join(str(n) for n, parts in of.items() if part in parts), "part": self.title(part)}
            if isinstance(one, Comparison) and not one.same:
                line |= {"mean": one.mean, "low": one.low, "high": one.high, "n": one.n, "p, Holm": one.adjusted}
            lines.append(line | {"word": self.word(part)})
        return pd.DataFrame(lines)

    def _asked(self, number: int) -> Iterable[str]:
        tests = claims(self.paper)["tests"][number] or {}
        return tests.get(self.tests, tests.get("*", ()))

    def _has(self, part: str) -> bool:
        """Are all rows there?"""
        name, *rows = part.split()
        return name == "goes" or all(row in self.rows or row in DECIDED or _is_number(row) for row in rows)

    def _expanded(self, part: str) -> list[str]:
        """The parts that one stands for."""
        if part == "rule":
            return [name for pair in combinations(LOSSES, 2) for name in _both(*pair)]
        if part == "map best" and set(LOSSES) <= set(self.rows):
            best = max(LOSSES, key=lambda loss: self.rows[loss].mean("test.i2t.average_recall"))
            return [f"map {best} > {loss}" for loss in LOSSES if loss != best]
        return [part]

    def _words(self, part: str) -> dict[str, str | None]:
        if part == "rule":
            return {f"rule {a} {b}": self._rule(a, b) for a, b in combinations(LOSSES, 2)}
        return {name: self.word(name) for name in self._expanded(part)}

    def _rule(self, a: str, b: str) -> str | None:
        """Is the loss that hears fewer negatives ahead? Undecided unless both differences are decided."""
        words = {part: self.word(part) for part in _both(a, b)}
        if None in words.values():
            return None
        fewer, better = (
            (w in YES) - (w in NO) if part.split()[1] == a else (w in NO) - (w in YES) for part, w in words.items()
        )
        return (YES if fewer * better < 0 else NO)[self.own] if fewer * better else "undecided"

    def _decided(self, part: str) -> Comparison | tuple:
        name, first, *rest = part.split()
        if name == "goes":
            return order(*({r: of.mean(MEASURES[m].of) for r, of in self.rows.items()} for m in (first, *rest)))
        measure, equal, second = MEASURES[name], rest[0] == "=", rest[1]
        other = float(second) if _is_number(second) else self.rows[second]
        smallest = measure.equal if equal and measure.equal else measure.smallest
        return compare(self.rows[first], other, _factor(first, second), measure.of, smallest=smallest, equal=equal)


def _factor(first: str, second: str) -> str:
    """In what two rows differ."""
    if {first, second} & {"fixed", "tuned"}:
        return "caption encoder"
    return "loss" if first in LOSSES else "criterion" if second == "ntxent_lag" else "objective"


def _both(a: str, b: str) -> tuple[str, str]:
    """The parts about two losses that the rule needs, each in the direction in which a claim of the paper has it."""
    return tuple("{} {} > {}".format(name, *sorted((a, b), key=of.index)) for name, of in ORDERS.items())


def _is_number(text: str) -> bool:
    return text.replace(".", "").isdigit()

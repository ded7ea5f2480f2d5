"""The claims of a paper, judged by whatever runs there are: one :class:`Place` at a time.

A claim consists of *parts*, each of which :func:`icrlib.evidence.verdict` can decide. They are written as in
``ecir_claims.json`` and ``ltd_claims.json``: ``"rsum triplet_sh > ntxent"`` (a measure, a row, ``>``, ``<`` or ``=``,
and a row or a number), or ``"goes rsum swap"`` (do rows with more of the one have more of the other?). What a row is,
the place says: :mod:`icrlib.evidence.ecir_rows`, where it is a loss, :mod:`icrlib.evidence.ltd_rows`, an objective.

Nothing is read from disk here: ``find``, such as :func:`icrlib.records.find`, is handed in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import ClassVar

from icrlib.evidence.measures import MEASURES
from icrlib.evidence.record_settings import common_draws, measured
from icrlib.evidence.verdicts import SAME, Verdict, family, verdict
from icrlib.paper.claims import claims

KINDS = {">": "greater", "<": "less", "=": "equivalent"}
YES, NO = ("reproduced", "holds"), ("contradicted", "fails")
NOT_RUN, DESCRIBED = "not run yet", "described"
GOES = "goes"
Find = Callable[..., list[dict]]
Groups = dict[str, list[dict]]  # the runs of each row


class Place:
    """Where runs are that a paper's claims are asked of: a study on a data set, ``wanted`` runs for each of its rows.

    ``name`` is what the claims' ``tests`` call it. ``families`` are the measures whose parts are corrected as one
    family each; without any, the place describes, and gives no words. ``own``: whether it is a question of ours,
    because the paper had no such model.
    """

    paper: ClassVar[str]
    name: str
    dataset: str
    wanted: int
    rows: tuple[str, ...]
    own: bool = False
    families: tuple[tuple[str, ...], ...] = ()

    def select(self, find: Find) -> tuple[Groups, dict[str, int]]:
        """The runs of each row that has enough of them, and the number that there are of each other one."""
        raise NotImplementedError

    def tuning(self, find: Find, groups: Groups) -> dict[str, dict]:
        """What a search chose for each row, if a comparison of two rows needs to know it."""
        return {}

    def factor(self, first: str, second: str) -> str:
        """In what two rows differ, as :mod:`icrlib.evidence.comparison` has it."""
        raise NotImplementedError

    def comparable(self, record: dict, other: str) -> dict:
        """The record as it is compared with row ``other``, without what each side may have for itself."""
        return record

    def title_of(self, row: str) -> str:
        """How a table calls a row."""
        raise NotImplementedError

    def describe(self, part: str) -> str:
        """A part as a table has it: "Triplet-SH − NT-Xent, rsum"; "SmoothAP, negatives heard i2t, less 1 (equal)"."""
        name, first, *rest = part.split()
        if name == GOES:
            return f"{MEASURES[rest[0]].title} with {MEASURES[first].title}, over the rows"
        sign, second = rest
        equal, title = " (equal)" if sign == "=" else "", MEASURES[name].title
        if _is_number(second):
            return f"{self.title_of(first)}, {title}, less {second}{equal}"
        return f"{self.title_of(first)} − {self.title_of(second)}, {title}{equal}"

    def parts_of(self, part: str, found: Evidence) -> list[str]:
        """The parts that one stands for, as a rule itself."""
        return [part]

    def words_of(self, part: str, found: Evidence) -> dict[str, str | None]:
        """Of these parts the words; None without enough runs."""
        return {name: found.word(name) for name in self.parts_of(part, found)}


@dataclass(frozen=True)
class Judged:
    """A claim at one place: its word, the words of its parts, and rows that still have too few runs."""

    word: str
    parts: Mapping[str, str]
    missing: tuple[str, ...] = ()

    def __str__(self) -> str:
        """ "contradicted (1 of 3)": that many parts have this word; a claim of one part has no bracket."""
        same = sum(word == self.word for word in self.parts.values())
        return f"{self.word} ({same} of {len(self.parts)})" if same and len(self.parts) > 1 else self.word


def weakest(words: Mapping[str, str | None]) -> str:
    """The word of a claim that says several things at once ("regardless of", "consistently", "both").

    *Contradicted* (*fails*) if one of them is; else "not run yet" if one has no runs (None); else *undecided* if one
    is; else *equivalent* if one is; and *reproduced* (*holds*) only if all are. With words of a :func:`family` the
    chance to contradict a claim of which all is true is at most the family's 5 %, however many parts it has; to
    confirm it each part must pass its own test, so that nothing need be corrected for that (Berger 1982,
    intersection-union).
    """
    found = list(words.values())
    if not found:
        raise ValueError("a claim needs at least one part")
    bad = [word for word in found if word in NO]
    if bad:
        return bad[0]
    if None in found:
        return NOT_RUN
    doubtful = [word for word in found if word not in YES]
    return next((word for word in doubtful if word != "equivalent"), doubtful[0]) if doubtful else found[0]


class Evidence:
    """Everything that the runs of a place say: ``verdicts``, part by part, corrected within the place's families.

    A row has a say only when it has the ``wanted`` number of runs: looking before that, and again later, decides more
    than 5 % of claims where nothing is true. ``groups``: the runs by row, of such rows; ``missing``: the number that
    there are of each other one; ``tuning``: what a search chose for a row.
    """

    def __init__(self, at: Place, find: Find) -> None:
        self.place = at
        self.groups, self.missing = at.select(find)
        self.tuning = at.tuning(find, self.groups)
        decided = {part: self._decide(part) for part in self._every() if not self.lacking(part)}
        self.verdicts: dict[str, Verdict] = {} if at.families else decided
        for names in at.families:
            self.verdicts |= family({part: v for part, v in decided.items() if part.split()[0] in names})

    def judge(self, tests: Mapping[str, Sequence[str]] | None) -> Judged | None:
        """A claim's ``tests`` at this place; None where the claim is not about it."""
        if not tests or not (parts := tests.get(self.place.name, tests.get("*"))):
            return None
        words = {name: word for part in parts for name, word in self.place.words_of(part, self).items()}
        lacking = {row for part in parts for name in self.place.parts_of(part, self) for row in self.lacking(name)}
        return Judged(weakest(words), words, tuple(row for row in self.place.rows if row in lacking))

    def word(self, part: str) -> str | None:
        """The word of a part, "described" where the place gives none; None without enough runs."""
        if part not in self.verdicts:
            return None
        word = self.verdicts[part].word
        return word if self.place.families or word == SAME else DESCRIBED

    def lacking(self, part: str) -> tuple[str, ...]:
        """The rows of a part that have too few runs; of "goes" all rows are parts."""
        named = part.split()
        return tuple(row for row in self.missing if named[0] == GOES or row in named)

    def result(self, part: str) -> str:
        """A part in a table: its difference with n, or Kendall's K of its rows."""
        found = self.verdicts.get(part)
        if found is None:
            return NOT_RUN
        if found.word == SAME:
            return SAME
        return (
            f"{found.difference}, n = {found.n}" if found.tau is None else f"K = {found.tau:+.2f} over {found.n} rows"
        )

    def _every(self) -> Iterable[str]:
        """All parts of all claims about this place, once each."""
        asked = (tests or {} for tests in claims(self.place.paper)["tests"])
        parts = (part for tests in asked for part in tests.get(self.place.name, tests.get("*", ())))
        return dict.fromkeys(name for part in parts for name in self.place.parts_of(part, self))

    def _decide(self, part: str) -> Verdict:
        at, (name, first, *rest) = self.place, part.split()
        if name == GOES:
            ours, other = (
                {row: mean(measured(r, MEASURES[one].of) for r in group) for row, group in self.groups.items()}
                for one in (first, *rest)
            )
            return verdict(part, "correlates", ours, other)
        sign, second = rest
        measure = MEASURES[name]
        if _is_number(second):
            ours, other = self.groups[first], float(second)
        else:
            sides = {row: [at.comparable(r, second) for r in self.groups[row]] for row in (first, second)}
            ours, other = common_draws(sides).values()
        return verdict(
            part,
            KINDS[sign],
            ours,
            other,
            factor=at.factor(first, second),
            measure=measure.of,
            own=at.own,
            tuning=self.tuning if {first, second} <= set(self.tuning) else None,
            unit=measure.unit,
            smallest=measure.equal if sign == "=" and measure.equal else measure.smallest,
        )


def _is_number(text: str) -> bool:
    return text.replace(".", "").isdigit()

"""ECIR's claims are about losses: a place is one model on one data set, and its rows are the four losses.

Two parts stand for several: ``"map best"``, the loss with the best recall has the best mAP, and ``"rule"``, of any two
losses the one that hears fewer negatives is ahead.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np

from icrlib.evidence.ledger import NO, YES, Evidence, Find, Groups, Place
from icrlib.evidence.measures import MEASURES
from icrlib.evidence.tuning import choices
from icrlib.evidence.verdicts import Verdict
from icrlib.names import is_baseline, label
from icrlib.studies import Study

LOSSES = ("triplet", "triplet_sh", "ntxent", "smoothap")
PAIRS = tuple(combinations(LOSSES, 2))
# Of rows 1.1 to 1.4 of Table 1 and of their counts in Tables 2 to 4, image to text, the highest first.
ORDERS = {
    "heard_i2t": ("ntxent", "triplet", "smoothap", "triplet_sh"),
    "rsum": ("triplet_sh", "smoothap", "ntxent", "triplet"),
}
# Table 1, and Tables 2 to 4.
FAMILIES = tuple(tuple(name for name, one in MEASURES.items() if one.count == counts) for counts in (False, True))


@dataclass(frozen=True)
class LossRows(Place):
    """One model on one data set: the runs of ``study``; ``search`` chose what each loss was trained with."""

    paper: ClassVar[str] = "ecir"
    rows: ClassVar[tuple[str, ...]] = LOSSES
    families: ClassVar[tuple[tuple[str, ...], ...]] = FAMILIES

    dataset: str
    method: str
    study: Study
    search: Study

    @property
    def name(self) -> str:
        return self.method

    @property
    def wanted(self) -> int:
        return self.study.wanted

    @property
    def own(self) -> bool:
        return is_baseline(self.method)

    def command(self, losses: Iterable[str]) -> tuple[str, ...]:
        """What to type, in this order, to get the runs of these losses."""
        found = self.study.command(losses, self.method)
        searched = self.search.command(search=False) if set(self.study.command(search=False)) & set(found) else ()
        return tuple(dict.fromkeys((*searched, *found)))

    def select(self, find: Find) -> tuple[Groups, dict[str, int]]:
        found = {loss: self._runs(find, self.study.name, loss=loss) for loss in LOSSES}
        groups = {loss: group for loss, group in found.items() if len(group) >= self.wanted}
        return groups, {loss: len(group) for loss, group in found.items() if loss not in groups}

    def tuning(self, find: Find, groups: Groups) -> dict[str, dict]:
        """What the search chose for each loss among the candidates with the constants that its runs have."""
        constants = {loss: group[0]["config"]["loss_options"] for loss, group in groups.items()}
        searched = self._runs(find, self.search.name)
        alike = [r for r in searched if constants.get(r["config"]["loss"]) == r["config"]["loss_options"]]
        return {loss: chosen for (_, loss), chosen in choices(alike).items()} if alike else {}

    def _runs(self, find: Find, study: str, **wanted: str) -> list[dict]:
        return find(study=study, dataset=self.dataset, method=self.method, **wanted)

    def factor(self, first: str, second: str) -> str:
        return "loss"

    def title_of(self, row: str) -> str:
        return label(row)

    def parts_of(self, part: str, found: Evidence) -> list[str]:
        if part == "rule":
            return [name for pair in PAIRS for name in _both(*pair)]
        if part == "map best":
            return self._best_map(found)
        return [part]

    def words_of(self, part: str, found: Evidence) -> dict[str, str | None]:
        if part == "rule":
            return {f"rule {a} {b}": self._rule(a, b, found) for a, b in PAIRS}
        return super().words_of(part, found)

    def _rule(self, a: str, b: str, found: Evidence) -> str | None:
        """Is the loss that hears fewer negatives ahead? Undecided unless both differences are decided."""
        fewer, better = (_ahead(found.verdicts.get(part), a, part) for part in _both(a, b))
        if fewer is None or better is None:
            return None
        product = fewer * better
        yes, no = ("holds", "fails") if self.own else ("reproduced", "contradicted")
        return yes if product < 0 else no if product > 0 else "undecided"

    def _best_map(self, found: Evidence) -> list[str]:
        """Which loss is the best in recall, the same runs say."""
        if found.missing:
            return [f"map best > {loss}" for loss in found.missing]
        best = max(LOSSES, key=lambda loss: np.mean([r["test"]["i2t"]["average_recall"] for r in found.groups[loss]]))
        return [f"map {best} > {loss}" for loss in LOSSES if loss != best]


def _both(a: str, b: str) -> tuple[str, str]:
    """The parts about two losses that the rule needs, each in the direction in which a claim of the paper has it."""
    return tuple("{} {} > {}".format(name, *sorted((a, b), key=order.index)) for name, order in ORDERS.items())


def _ahead(found: Verdict | None, loss: str, part: str) -> int | None:
    """+1 if this loss of the part is decidedly the higher one, −1 if the lower, 0 if undecided, None without runs."""
    if found is None:
        return None
    sign = (found.word in YES) - (found.word in NO)
    return sign if part.split()[1] == loss else -sign

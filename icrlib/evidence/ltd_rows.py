"""LTD's claims are about objectives: a place is one list of runs on one data set, and its rows are those of ``ROWS``.

Where a list holds several settings of a row, several bounds η above all, the one that *validation* prefers stands for
it, as the paper chose its η. Five draws of scenes describe: a difference with its interval, no word. Three seeds on
photos give words, which are corrected as one family.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import mean
from typing import ClassVar

from icrlib.evidence.ledger import Find, Groups, Place
from icrlib.evidence.measures import MEASURES
from icrlib.evidence.record_settings import by_settings
from icrlib.studies import Study

INFONCE = "ntxent_"
SEARCHED = ("lr", "finetune_lr", "restart_lr")  # each row may have the rate that a search chose for it
OF_EACH_LOSS = ("drop_words", "delete_words", "warmup")  # … and each loss what its own search chose for its baseline
# What a record's configuration has in each row, ITD over the vocabulary. "ntxent_…": a row of the study with InfoNCE,
# for a place that has another loss.
_LTD, _ITD = {"auxiliary": "latent", "target": "sbert"}, {"auxiliary": "tokens", "softmax": "vocabulary"}
_TIME, _FORM = _ITD | {"softmax": "time"}, _LTD | {"target": "form"}
_CON = {"method": "ltd", "objective": "con"}
_DUAL = {"method": "ltd", "objective": "dual"}
_LAG = {"method": "ltd", "objective": "lagrange", "multiplier": "published"}
ROWS: dict[str, dict[str, str]] = {
    "con": _CON,
    "dual": _DUAL | _LTD,
    "lag": _LAG | _LTD,
    "projected": _LAG | _LTD | {"multiplier": "projected"},
    "itd_dual": _DUAL | _ITD,
    "itd_lag": _LAG | _ITD,
    "time_dual": _DUAL | _TIME,
    "time_lag": _LAG | _TIME,
    "form_dual": _DUAL | _FORM,
    "form_lag": _LAG | _FORM,
    "fixed": {"method": "sentence", "loss": "alignment"},
    "tuned": {"method": "sentence", "loss": "ntxent"},
}
BOUNDS = ("best", "lowest")  # rows of a list over bounds η
TITLES = {
    "con": "baseline",
    "dual": "LTD dual",
    "lag": "LTD constrained",
    "projected": "LTD constrained, projected rule",
    "itd_dual": "ITD dual",
    "itd_lag": "ITD constrained",
    "time_dual": "ITD dual, softmax as released",
    "time_lag": "ITD constrained, softmax as released",
    "form_dual": "logical form dual",
    "form_lag": "logical form constrained",
    "fixed": "fixed targets",
    "tuned": "tuned targets",
    "ntxent_lag": "LTD constrained with InfoNCE",
    "best": "the η that validation prefers",
    "lowest": "the lowest η",
}


@dataclass(frozen=True)
class ObjectiveRows(Place):
    """A list of runs, ``study``, and the ``rows`` that claims need; ``infonce``: the study of the same rows with it."""

    paper: ClassVar[str] = "ltd"

    name: str
    title: str
    dataset: str
    study: Study
    rows: tuple[str, ...]
    infonce: Study | None = None
    decides: bool = False

    @property
    def wanted(self) -> int:
        return self.study.wanted

    @property
    def families(self) -> tuple[tuple[str, ...], ...]:
        return (tuple(MEASURES),) if self.decides else ()

    @property
    def commands(self) -> tuple[str, ...]:
        """What to type, in this order, to get its runs."""
        studies = (self.infonce, self.study) if self.infonce else (self.study,)
        return tuple(command for one in studies for command in one.command(search=False))

    def select(self, find: Find) -> tuple[Groups, dict[str, int]]:
        """Of each row the setting that validation prefers; the number: of the runs of one setting, the largest."""
        found = self._by_row(find)
        chosen = {row: preferred(found.get(row, ()), self.wanted) for row in self.rows if row not in BOUNDS}
        if set(BOUNDS) <= set(self.rows):
            chosen |= bounds(found["lag"], self.wanted)
        groups = {row: group for row, group in chosen.items() if group}
        there = {row: by_settings(found["lag" if row in BOUNDS else row]) for row in self.rows if row not in groups}
        return groups, {row: max((len(one.records) for one in of), default=0) for row, of in there.items()}

    def by_row(self, find: Find) -> Groups:
        """The runs for its tables: of every row that has the wanted number of runs, in the setting that validation
        prefers; also of rows that no claim needs."""
        found = {row: preferred(group, self.wanted) for row, group in self._by_row(find).items() if row in ROWS}
        return {row: group for row, group in found.items() if group}

    def _by_row(self, find: Find) -> Groups:
        """All runs by row; those in which the image network learns are not among them."""
        here = find(study=self.study.name, dataset=self.dataset)
        found = {row: [r for r in here if is_row(r, row)] for row in ROWS}
        beside = find(study=self.infonce.name, dataset=self.dataset) if self.infonce else []
        return found | {f"{INFONCE}{row}": [r for r in beside if is_row(r, row)] for row in ROWS}

    def factor(self, first: str, second: str) -> str:
        if {first, second} & {"fixed", "tuned"}:
            return "caption encoder"
        return "criterion" if second.startswith(INFONCE) else "objective"

    def comparable(self, record: dict, other: str) -> dict:
        free = SEARCHED + OF_EACH_LOSS * other.startswith(INFONCE)
        return {**record, "config": {name: value for name, value in record["config"].items() if name not in free}}

    def title_of(self, row: str) -> str:
        return TITLES[row]


def is_row(record: Mapping, row: str) -> bool:
    """Is the run one of this row? Options of the auxiliary count as settings."""
    config = record["config"]
    flat = {**config, **(config.get("auxiliary_options") or {})}
    return flat.get("finetune_after") is None and all(flat.get(name) == value for name, value in ROWS[row].items())


def preferred(records: Iterable[Mapping], wanted: int) -> list[Mapping]:
    """Of the settings with enough runs, that with the highest mean validation rsum; empty where there is none."""
    return max(_enough(records, wanted), key=_validation, default=[])


def bounds(records: Iterable[Mapping], wanted: int) -> Groups:
    """The η that validation prefers and the lowest one, if at least three have enough runs; else nothing.

    Where the lowest is also the preferred one, that is the answer, and the second best stands against it.
    """
    enough = _enough(records, wanted)
    if len(enough) < 3:
        return {}
    lowest = min(enough, key=lambda group: group[0]["config"]["eta"])
    return {"best": max((group for group in enough if group is not lowest), key=_validation), "lowest": lowest}


def _enough(records: Iterable[Mapping], wanted: int) -> list[list[Mapping]]:
    return [one.records for one in by_settings(records) if len(one.records) >= wanted]


def _validation(group: Iterable[Mapping]) -> float:
    return mean(record["chosen"]["val_rsum"] for record in group)

"""The rule: start with the cheapest, and pay more only for what is decidedly ahead."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache, cached_property
from statistics import median
from typing import NamedTuple

import numpy as np

from icrlib.evidence.decision.plan import LENGTHS_SEARCHED, LOSSES, MODELS, SCHEDULE
from icrlib.evidence.of_studies import Verdict, choices, common_draws, verdict
from icrlib.experiments.compare import family
from icrlib.experiments.record_settings import is_neutral, seed, settings
from icrlib.studies import lists

CONSTANTS = ("tau", "margin")
TIMES, MORE = 3.0, 60.0  # a cost decides where one would notice: three times as much, and over a minute
_OF_LOSS = ("loss_options", "learn_tau", "learn_bias", "batches")

System = tuple[str, str]  # a model and a loss
Rungs = list[tuple[System, dict[System, Verdict]]]  # where one stood, and the others against it


class Answer(NamedTuple):
    """Where the rule ends: ``losses`` has the rungs of each model, ``models`` those of the models with their losses."""

    situation: str
    system: System
    losses: dict[str, Rungs]
    models: Rungs


def _kind(record: Mapping) -> tuple:
    """What the cost of an update depends on."""
    c = record["config"]
    return c["dataset"], c["method"], c["loss"], c["batch_size"], c["model_options"]["embed_dim"]


def dearer(cost: float, other: float) -> bool:
    """Is it so much more, in seconds, that one would notice?"""
    return cost >= TIMES * other and cost > other + MORE


def _price(records: Iterable[Mapping]) -> float:
    """Seconds of an update: the median of the runs on the processor that has most of them.

    Not the quickest: one lucky clock would decide. Not over processors: one of them is slower.
    """
    groups: dict[str, list[float]] = defaultdict(list)
    for r in records:
        groups[str(r.get("device"))].append(r["wall_seconds"] / r["config"]["updates"])
    return median(max(groups.values(), key=len))


def whole(record: Mapping) -> dict:
    """A record in which a model with its loss is one thing, so that two can be compared; all else must agree."""
    config = record["config"]
    options = config["model_options"] | {"of the loss": {name: config.get(name) for name in _OF_LOSS}}
    rest = {name: value for name, value in config.items() if name not in _OF_LOSS}
    return {
        **record,
        "config": rest | {"method": f"{config['method']}, {config['loss']}", "loss": "", "model_options": options},
    }


def validation(record: Mapping) -> float:
    """Rsum on validation data at the chosen evaluation."""
    return record["chosen"]["val_rsum"]


def question(record: Mapping) -> frozenset:
    """What a run answers, but for its repetition: settings and data, whatever study it was made for."""
    return frozenset((name, value) for name, value in settings(record).items() if not is_neutral(name, value))


def narrow(v: Verdict) -> bool:
    """Decided, but not if it were asked twice as strictly: in a family of twice the size it might be undecided."""
    return v.word in ("holds", "fails") and v.adjusted is not None and v.adjusted > 0.025


def steps_up(rungs: Rungs) -> list[tuple[System, System, Verdict]]:
    """The steps that were taken: from where, to where, and the verdict."""
    return [(here, there, tests[there]) for (here, tests), (there, _) in zip(rungs, rungs[1:], strict=False)]


class Decision:
    """The runs of the plan, and what the rule makes of them.

    ``find(study=name)`` gives the records of a study, "*" of all; :func:`icrlib.records.find` reads the book's.
    ``rows`` is the plan, ``place`` {(situation, model, loss): row}, ``runs`` {situation: {(model, loss): records by
    rising seed}}: those of the row's study, and every other record of the same settings and data
    (:func:`question`), whatever study it was made for; none on a draw on which
    settings were chosen. Only groups that are complete (:meth:`ready`) are judged.
    """

    def __init__(self, find: Callable[..., list[dict]]) -> None:
        self.study = cache(lambda name: find(study=name))
        book = lists("situations")
        self.rows = book.plan(self.study)
        self.place = {(row.situation, m, loss): row for row in self.rows for m in row.models for loss in row.losses}
        self.runs: dict[str, dict[System, list[dict]]] = {row.situation: {} for row in self.rows}
        for (situation, *system), row in self.place.items():
            if found := self.tried(row.study.name, *system, row.only):
                self.runs[situation][tuple(system)] = self._known(found, book.CHOSEN_ON)
        kinds: dict[tuple, list[dict]] = defaultdict(list)
        places = (name for row in self.rows for name in (row.study.name, row.searches[0]))
        for name in dict.fromkeys((*places, *book.ALSO_PRICED)):
            for r in self.study(name):
                kinds[_kind(r)].append(r)
        self._speed = {kind: _price(group) for kind, group in kinds.items()}
        self.answer = cache(self._answer)

    def _known(self, found: list[dict], searched: Collection[int]) -> list[dict]:
        """These runs and all others of the same question, by rising seed; none on draws that were ``searched``."""
        by_seed = {seed(r): r for r in (*self._of_question[question(found[0])], *found)}
        return [by_seed[number] for number in sorted(by_seed) if number not in searched]

    @cached_property
    def _of_question(self) -> dict[frozenset, list[dict]]:
        """All records of the book, by what they answer."""
        groups: dict[frozenset, list[dict]] = defaultdict(list)
        for record in self.study("*"):
            groups[question(record)].append(record)
        return groups

    def tried(self, study: str, model: str, loss: str, only: Mapping | None = None) -> list[dict]:
        """The runs of a study with this model, loss and settings; "train" is a size of the data."""
        return [
            r
            for r in self.study(study)
            if (r["config"]["method"], r["config"]["loss"]) == (model, loss)
            and all((r["config"]["data_options"] | r["config"])[key] == value for key, value in (only or {}).items())
        ]

    def ready(self, situation: str) -> list[System]:
        """The models with losses that have all runs that were planned."""
        return [s for s, runs in self.runs[situation].items() if len(runs) >= self.place[situation, *s].wanted]

    def chosen(self, situation: str, model: str, loss: str) -> dict:
        """What the search chose for runs, among candidates with their margin or temperature; and what all had."""
        row, config = self.place[situation, model, loss], self.runs[situation][model, loss][0]["config"]
        searched = row.as_loss or loss
        found = [
            r
            for name in row.searches
            for r in self.tried(name, model, searched, row.only)
            if all(r["config"]["loss_options"].get(key) == config["loss_options"].get(key) for key in CONSTANTS)
        ]
        if row.own_length:
            # Of equals the shortest, as in the lists: before its rate falls, a run is the same as a longer one.
            found = [max(found, key=lambda r: (validation(r), -r["config"]["updates"]))]
        schedule = SCHEDULE if situation in LENGTHS_SEARCHED else ()  # elsewhere it is the same for all
        shared = {name: found[0]["config"][name] for name in ("lr", "drop_words", "warmup", *schedule)}
        return shared | (choices(found)[model, searched] if len(found) > 1 else {})

    def mean(
        self, situation: str, system: System, measure: Callable[[Mapping], float] = lambda r: r["test"]["rsum"]
    ) -> float:
        """The mean of a measure, test rsum if none is given, over the runs of one system."""
        return float(np.mean([measure(r) for r in self.runs[situation][system]]))

    def seconds(self, situation: str, system: System) -> float:
        """What a run of a system costs, as :meth:`price`."""
        return self.price(self.runs[situation][system][0])

    def price(self, record: Mapping) -> float:
        """Seconds of one core for a run of one of the rule's studies, by the runs of its kind (:func:`_price`)."""
        return record["config"]["updates"] * self._speed[_kind(record)]

    def versus(self, situation: str, ours: System, other: System) -> Verdict:
        """Is one model with its loss ahead of another, on the draws that both have?"""
        sides = common_draws({s: map(whole, self.runs[situation][s]) for s in (ours, other)})
        tuning = {", ".join(s): self.chosen(situation, *s) for s in (ours, other)}
        return verdict(sides[ours], sides[other], "method", tuning)

    def first(self, situation: str, systems: Iterable[System]) -> System:
        """Of those that are not :func:`dearer` than the cheapest, the one with the highest validation rsum."""
        cost = {s: self.seconds(situation, s) for s in systems}
        near = [s for s in cost if not dearer(cost[s], min(cost.values()))]
        return max(near, key=lambda s: self.mean(situation, s, validation))

    def climb(self, situation: str, systems: Iterable[System]) -> Rungs:
        """From the cheapest to what is decidedly ahead of it, and so on. Each step is a family of its own."""
        left, rungs = list(systems), []
        here = self.first(situation, left)
        while True:
            left = [s for s in left if s != here]
            rungs.append((here, family({s: self.versus(situation, s, here) for s in left})))
            ahead = [s for s, v in rungs[-1][1].items() if v.word == "holds"]
            if not ahead:
                return rungs
            here = self.first(situation, ahead)

    def _answer(self, situation: str, limit: float = math.inf, among: tuple[str, ...] = LOSSES) -> Answer | None:
        """First a loss for each model, then a model, each with the loss that it got.

        ``limit``: seconds that a run may cost. None if nothing that is complete costs so little.
        """
        systems = [s for s in self.ready(situation) if self.seconds(situation, s) <= limit and s[1] in among]
        losses = {m: self.climb(situation, of) for m in MODELS if (of := [s for s in systems if s[0] == m])}
        if not losses:
            return None
        models = self.climb(situation, [rungs[-1][0] for rungs in losses.values()])
        return Answer(situation, models[-1][0], losses, models)

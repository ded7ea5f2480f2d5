"""The claims of ECIR, judged by whatever runs there are: one model on one data set at a time.

A claim consists of *parts*, each of which :func:`icrlib.evidence.verdict` can decide. They are written as in
``ecir_claims.json``: ``"rsum triplet_sh > ntxent"`` (a measure, a loss, ``>``, ``<`` or ``=``, and a loss or a number),
or one of two that stand for several, ``"map best"`` and ``"rule"``. The runs of a model on a data set are those of a
:class:`Place`, which also knows how many are wanted and the command that makes them.

Nothing is read from disk here: ``find``, such as :func:`icrlib.records.find`, is handed in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from icrlib.evidence import record_settings as runs
from icrlib.evidence.tuning import choices
from icrlib.evidence.verdicts import SMALLEST, Verdict, family, verdict
from icrlib.names import is_baseline, label
from icrlib.paper.claims import claims

LOSSES = ("triplet", "triplet_sh", "ntxent", "smoothap")
PAIRS = tuple(combinations(LOSSES, 2))
KINDS = {">": "greater", "<": "less", "=": "equivalent"}
YES, NO = ("reproduced", "holds"), ("contradicted", "fails")
NOT_RUN = "not run yet"
# Of rows 1.1 to 1.4 of Table 1 and of their counts in Tables 2 to 4, image to text, the highest first.
ORDERS = {
    "heard_i2t": ("ntxent", "triplet", "smoothap", "triplet_sh"),
    "rsum": ("triplet_sh", "smoothap", "ntxent", "triplet"),
}
HALF = 0.5  # negatives: nearer to another whole number than that is another number of them


@dataclass(frozen=True)
class Place:
    """One model on one data set: where its runs and its search are, how many runs a loss needs, and what makes them."""

    dataset: str
    method: str
    study: str
    search: str
    wanted: int
    commands: tuple[str, ...]
    later: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # losses whose runs have commands of their own

    @property
    def own(self) -> bool:
        """Is it a question of ours, because the paper had no such model?"""
        return is_baseline(self.method)

    def command(self, losses: Iterable[str]) -> tuple[str, ...]:
        """What to type, in this order, to get the runs of these losses."""
        losses = set(losses)
        found = dict.fromkeys(self.commands if losses - set(self.later) else ())
        for loss in sorted(losses & set(self.later)):
            found |= dict.fromkeys(self.later[loss])
        return tuple(found)


def _records(*studies: str, photos: bool = False) -> tuple[str, ...]:
    return tuple(f"make records STUDY={study}" + (" FEATURES=folder" if photos else "") for study in studies)


def _grid(dataset: str, method: str, seeds: int, study: str) -> tuple[str, ...]:
    numbers = ",".join(map(str, range(seeds)))
    return (f"make reproduce DATASET={dataset} METHODS={method} SEEDS={numbers} FEATURES=folder KEEP={study}",)


SMOOTHAP_PHOTOS = {"smoothap": _records("photo_smoothap_tuning", "photo_smoothap", photos=True)}
PLACES = (
    Place("scenes", "vse++", "ecir", "tuning", 10, _records("tuning", "ecir")),
    Place("scenes", "vsrn", "vsrn", "vsrn_tuning", 10, _records("vsrn_tuning", "vsrn")),
    Place("scenes", "bow", "ecir", "tuning", 10, _records("tuning", "ecir")),
    Place(
        "flickr8k",
        "vse++",
        "photo_runs",
        "photo_tuning",
        3,
        _records("photo_tuning", "photo_runs", photos=True),
        SMOOTHAP_PHOTOS,
    ),
    Place(
        "flickr8k",
        "vsrn",
        "photo_vsrn",
        "photo_vsrn_tuning",
        3,
        _records("photo_vsrn_tuning", "photo_vsrn", photos=True),
    ),
    Place("flickr8k", "bow", "photo_runs", "photo_tuning", 3, _records("photo_tuning", "photo_runs", photos=True)),
    *(
        Place(dataset, method, dataset, f"{dataset}_tuning", 5, _grid(dataset, method, 5, dataset))
        for dataset in ("flickr30k", "coco")
        for method in ("vse++", "vsrn")
    ),
)


def place(dataset: str, method: str) -> Place:
    """The place of a model on a data set; ``KeyError`` where the ledger has none."""
    return {(one.dataset, one.method): one for one in PLACES}[dataset, method]


@dataclass(frozen=True)
class Judged:
    """A claim at one place: its word, the words of its parts, and losses that still have too few runs."""

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
    """Everything that the runs of a place say: ``verdicts``, part by part, corrected as two families.

    The families are Table 1 (all parts about recall and mAP) and Tables 2 to 4 (all parts about counts). A loss has a
    say only when it has the ``wanted`` number of runs: looking before that, and again later, decides more than 5 % of
    claims where nothing is true. ``groups``: the runs by loss, of such losses; ``missing``: the number that there are
    of each other one.
    """

    def __init__(self, at: Place, find: Callable[..., list[dict]]):
        found = {loss: find(study=at.study, dataset=at.dataset, method=at.method, loss=loss) for loss in LOSSES}
        self.place = at
        self.groups = {loss: group for loss, group in found.items() if len(group) >= at.wanted}
        self.missing = {loss: len(group) for loss, group in found.items() if loss not in self.groups}
        self.tuning = self._tuning(find(study=at.search, dataset=at.dataset, method=at.method))
        self.verdicts: dict[str, Verdict] = {}
        for table in (True, False):
            parts = [part for part in dict.fromkeys(self._every()) if (part.split()[0] in _RECALLS) == table]
            decided = {part: self._decide(part) for part in parts if not self._lacks(part)}
            self.verdicts |= family(decided)

    def judge(self, tests: Mapping[str, Sequence[str]] | None) -> Judged | None:
        """A claim's ``tests`` at this place; None where the claim is not about this model."""
        if not tests or not (parts := tests.get(self.place.method, tests.get("*"))):
            return None
        words, lacking = {}, set()
        for part in parts:
            found = self._words(part)
            lacking |= {loss for name, word in found.items() if word is None for loss in self._lacks(name)}
            words |= found
        return Judged(weakest(words), words, tuple(loss for loss in LOSSES if loss in lacking))

    def _words(self, part: str) -> dict[str, str | None]:
        """Of a part, or of those that it stands for, the word; None without enough runs."""
        if part == "rule":
            return {f"rule {a} {b}": self._rule(a, b) for a, b in PAIRS}
        if part == "map best":
            return {name: self._word(name) for name in self._best_map()}
        return {part: self._word(part)}

    def _word(self, part: str) -> str | None:
        return self.verdicts[part].word if part in self.verdicts else None

    def _rule(self, a: str, b: str) -> str | None:
        """Is the loss that hears fewer negatives ahead? Undecided unless both differences are decided."""
        fewer, better = (_ahead(self.verdicts.get(part), a, part) for part in _both(a, b))
        if fewer is None or better is None:
            return None
        product = fewer * better
        yes, no = ("holds", "fails") if self.place.own else ("reproduced", "contradicted")
        return yes if product < 0 else no if product > 0 else "undecided"

    def _best_map(self) -> list[str]:
        """The parts of "the best in recall has the best mAP": which loss that is, the same runs say."""
        if self.missing:
            return [f"map best > {loss}" for loss in self.missing]
        best = max(LOSSES, key=lambda loss: np.mean([r["test"]["i2t"]["average_recall"] for r in self.groups[loss]]))
        return [f"map {best} > {loss}" for loss in LOSSES if loss != best]

    def _every(self) -> Iterable[str]:
        """All parts of all claims about this model, and of what they stand for."""
        for tests in claims("ecir")["tests"]:
            for part in (tests or {}).get(self.place.method, (tests or {}).get("*", ())):
                if part == "rule":
                    yield from (name for pair in PAIRS for name in _both(*pair))
                elif part == "map best":
                    yield from self._best_map()
                else:
                    yield part

    def _lacks(self, part: str) -> tuple[str, ...]:
        """The losses of a part that have too few runs."""
        return tuple(loss for loss in self.missing if loss in part.split())

    def _decide(self, part: str) -> Verdict:
        name, first, sign, second = part.split()
        measure, unit, smallest = MEASURES[name]
        smallest = HALF if sign == "=" and name.startswith("heard") else smallest
        ours, other = self.groups[first], float(second) if second not in LOSSES else self.groups[second]
        tuning = None
        if second in LOSSES:
            shared = runs.common_draws({"ours": ours, "other": other})
            ours, other = shared["ours"], shared["other"]
            tuning = self.tuning if {first, second} <= set(self.tuning) else None
        return verdict(
            part,
            KINDS[sign],
            ours,
            other,
            measure=measure,
            own=self.place.own,
            tuning=tuning,
            unit=unit,
            smallest=smallest,
        )

    def _tuning(self, searched: list[dict]) -> dict[str, dict]:
        """What the search chose for each loss among the candidates with the constants that its runs have."""
        alike = [
            r
            for r in searched
            if (loss := r["config"]["loss"]) in self.groups
            and r["config"]["loss_options"] == self.groups[loss][0]["config"]["loss_options"]
        ]
        return {loss: chosen for (_, loss), chosen in choices(alike).items()} if alike else {}


def _both(a: str, b: str) -> tuple[str, str]:
    """The parts about two losses that the rule needs, each in the direction in which a claim of the paper has it."""
    return tuple("{} {} > {}".format(name, *sorted((a, b), key=order.index)) for name, order in ORDERS.items())


def _ahead(found: Verdict | None, loss: str, part: str) -> int | None:
    """+1 if this loss of the part is decidedly the higher one, −1 if the lower, 0 if undecided, None without runs."""
    if found is None:
        return None
    sign = (found.word in YES) - (found.word in NO)
    return sign if part.split()[1] == loss else -sign


def describe(part: str) -> str:
    """A part as a table has it: "Triplet-SH − NT-Xent, rsum"; "NT-Xent, negatives heard i2t, less 1"; "… (equal)"."""
    name, first, sign, second = part.split()
    equal = " (equal)" if sign == "=" else ""
    if second in LOSSES:
        return f"{label(first)} − {label(second)}, {TITLES[name]}{equal}"
    return f"{label(first)}, {TITLES[name]}, less {second}{equal}"


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


def _heard(side: str) -> Callable[[Mapping], float]:
    return lambda record: at_choice(record)["cocos"][side]["n_eff"]


def _silent(side: str) -> Callable[[Mapping], float]:
    return lambda record: silent(record, side)


# Name -> what is read from a record, its unit, and the smallest difference that matters (None: none was named). That
# of an average recall is that of the rsum, which is a sum of six, divided by six.
MEASURES: dict[str, tuple[str | Callable[[Mapping], float], str, float | None]] = {
    "rsum": ("test.rsum", "rsum", SMALLEST),
    "i2t": ("test.i2t.average_recall", "points", SMALLEST / 6),
    "t2i": ("test.t2i.average_recall", "points", SMALLEST / 6),
    "map": (lambda record: 100 * record["test"]["i2t"]["map_at_5"], "hundredths", None),
    "heard_i2t": (_heard("i2t"), "negatives", None),
    "heard_t2i": (_heard("t2i"), "negatives", None),
    "silent_i2t": (_silent("i2t"), "%", None),
    "silent_t2i": (_silent("t2i"), "%", None),
}
_RECALLS = ("rsum", "i2t", "t2i", "map")
TITLES = {
    "rsum": "rsum",
    "i2t": "average recall i2t",
    "t2i": "average recall t2i",
    "map": "mAP@5",
    "heard_i2t": "negatives heard i2t",
    "heard_t2i": "negatives heard t2i",
    "silent_i2t": "images without gradient",
    "silent_t2i": "captions without gradient",
}

"""The claims of LTD, asked of whatever runs there are: one list of runs on one data set at a time.

A claim consists of parts, written as in ``ltd_claims.json``: ``"rsum lag > con"`` (a measure, a row, ``>`` or ``=``,
and a row), or ``"goes rsum swap"`` (do rows with more of the one have more of the other?). Rows are those of
:data:`ROWS`. Where a list holds several settings of a row, several bounds η above all, the one that *validation*
prefers stands for it, as the paper chose its η.

Five draws of scenes describe: a difference with its interval, no word. Three seeds on photos give words, which are
corrected as one family. Nothing is read from disk here: ``find``, such as :func:`icrlib.records.find`, is handed in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean

from icrlib.evidence import record_settings as runs
from icrlib.evidence.ledger import KINDS, NOT_RUN, Judged, weakest
from icrlib.evidence.verdicts import SMALLEST, Verdict, family, verdict
from icrlib.paper.claims import claims

DESCRIBED, INFONCE = "described", "ntxent_"
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
class Place:
    """A list of runs: its study, the rows that claims need, how many runs each needs, and what makes them."""

    name: str
    title: str
    dataset: str
    study: str
    rows: tuple[str, ...]
    wanted: int
    commands: tuple[str, ...]
    decides: bool = False


def _command(*studies: str, photos: bool = False) -> tuple[str, ...]:
    return tuple(f"make records STUDY={study}" + (" FEATURES=folder" if photos else "") for study in studies)


PLACES = (
    Place(
        "scenes",
        "scenes, InfoNCE",
        "scenes",
        "ltd",
        ("con", "dual", "lag", "projected", "itd_dual", "itd_lag"),
        5,
        _command("ltd"),
    ),
    Place(
        "triplet",
        "scenes, Triplet-SH",
        "scenes",
        "ltd_triplet",
        ("con", "lag", "ntxent_lag"),
        5,
        _command("ltd", "ltd_triplet"),
    ),
    Place("eta", "scenes, several η", "scenes", "ltd_eta", ("best", "lowest"), 5, _command("ltd_eta")),
    Place(
        "photos",
        "photos (Flickr8k)",
        "flickr8k",
        "photo_ltd",
        ("con", "dual", "lag", "fixed", "tuned"),
        3,
        _command("photo_ltd", photos=True),
        decides=True,
    ),
)
STAMPS = _command("ltd_stamps")


class Evidence:
    """What the runs of a place say: ``verdicts`` by part, of a place that decides corrected as one family.

    A row has a say when one of its settings has the ``wanted`` number of runs. ``groups``: the runs of such rows, of
    the setting that validation prefers; ``missing``: the largest number of runs that there are of each other row.
    """

    def __init__(self, at: Place, find: Callable[..., list[dict]]):
        self.place = at
        found = _by_row(at, find)
        chosen = {row: preferred(found.get(row, ()), at.wanted) for row in at.rows if row not in ("best", "lowest")}
        if "best" in at.rows:
            chosen |= bounds(found.get("lag", ()), at.wanted)
        self.groups = {row: group for row, group in chosen.items() if group}
        self.missing = {
            row: max(map(len, settings_of(found.get("lag" if row in ("best", "lowest") else row, ()))), default=0)
            for row in at.rows
            if row not in self.groups
        }
        parts = dict.fromkeys(part for tests in claims("ltd")["tests"] for part in (tests or {}).get(at.name, ()))
        decided = {part: self._decide(part) for part in parts if not self.lacks(part)}
        self.verdicts: dict[str, Verdict] = family(decided) if at.decides else decided

    def judge(self, tests: Mapping[str, Sequence[str]] | None) -> Judged | None:
        """A claim's ``tests`` at this place; None where the claim is not about it.

        The word of a place that does not decide is "described", whatever its intervals.
        """
        if not tests or not (parts := tests.get(self.place.name)):
            return None
        words = {part: self._word(part) for part in parts}
        lacking = {row for part in parts for row in self.lacks(part)}
        return Judged(weakest(words), words, tuple(row for row in self.place.rows if row in lacking))

    def lacks(self, part: str) -> tuple[str, ...]:
        """The rows of a part that have too few runs; of "goes" all rows are parts."""
        rows = self.missing if part.startswith("goes ") else [r for r in self.missing if r in part.split()]
        return tuple(rows)

    def shown(self, part: str) -> str:
        """A part in a table: its difference with n, or Kendall's K of its rows."""
        found = self.verdicts.get(part)
        if found is None:
            return NOT_RUN
        if found.tau is not None:
            return f"K = {found.tau:+.2f} over {found.n} rows"
        return f"{found.difference}, n = {found.n}"

    def _word(self, part: str) -> str | None:
        if part not in self.verdicts:
            return None
        return self.verdicts[part].word if self.place.decides else DESCRIBED

    def _decide(self, part: str) -> Verdict:
        if part.startswith("goes "):
            first, second = (
                {row: mean(runs.measured(r, MEASURES[name][0]) for r in group) for row, group in self.groups.items()}
                for name in part.split()[1:]
            )
            return verdict(part, "correlates", first, second)
        name, first, sign, second = part.split()
        measure, unit, smallest = MEASURES[name]
        more = OF_EACH_LOSS if second.startswith(INFONCE) else ()
        both = runs.common_draws(
            {
                side: [comparable(record, more) for record in self.groups[row]]
                for side, row in {"ours": first, "other": second}.items()
            }
        )
        return verdict(
            part,
            KINDS[sign],
            both["ours"],
            both["other"],
            factor=factor_of(first, second),
            measure=measure,
            unit=unit,
            smallest=smallest,
        )


def by_row(at: Place, find: Callable[..., list[dict]]) -> dict[str, list[dict]]:
    """The runs of a place for its tables, {row: runs}: of every row that has the wanted number of runs, in the setting
    that validation prefers; also of rows that no claim needs."""
    found = {row: preferred(group, at.wanted) for row, group in _by_row(at, find).items() if row in ROWS}
    return {row: group for row, group in found.items() if group}


def _by_row(at: Place, find: Callable[..., list[dict]]) -> dict[str, list[dict]]:
    """The runs of a place by row; those in which the image network learns are not among them."""
    here = find(study=at.study, dataset=at.dataset)
    found = {row: [r for r in here if is_row(r, row)] for row in ROWS}
    with_infonce = find(study="ltd", dataset=at.dataset) if at.name == "triplet" else []
    return found | {f"{INFONCE}{row}": [r for r in with_infonce if is_row(r, row)] for row in ROWS}


def is_row(record: Mapping, row: str) -> bool:
    """Is the run one of this row? Options of the auxiliary count as settings."""
    config = record["config"]
    flat = {**config, **(config.get("auxiliary_options") or {})}
    return flat.get("finetune_after") is None and all(flat.get(name) == value for name, value in ROWS[row].items())


def settings_of(records: Iterable[Mapping]) -> list[list[Mapping]]:
    """The runs, one list for each setting."""
    records = list(records)
    groups: dict[tuple, list[Mapping]] = {}
    for record, settings in zip(records, runs.aligned(records), strict=True):
        groups.setdefault(tuple(sorted((name, repr(value)) for name, value in settings.items())), []).append(record)
    return list(groups.values())


def preferred(records: Iterable[Mapping], wanted: int) -> list[Mapping]:
    """Of the settings with enough runs, that with the highest mean validation rsum; empty where there is none."""
    enough = [group for group in settings_of(records) if len(group) >= wanted]
    return max(enough, key=lambda group: mean(r["chosen"]["val_rsum"] for r in group), default=[])


def bounds(records: Iterable[Mapping], wanted: int) -> dict[str, list[Mapping]]:
    """The η that validation prefers and the lowest one, if at least three have enough runs; else nothing.

    Where the lowest is also the preferred one, that is the answer, and the second best stands against it.
    """
    enough = [group for group in settings_of(records) if len(group) >= wanted]
    if len(enough) < 3:
        return {}
    lowest = min(enough, key=lambda group: group[0]["config"]["eta"])
    others = [group for group in enough if group is not lowest]
    return {"best": max(others, key=lambda group: mean(r["chosen"]["val_rsum"] for r in group)), "lowest": lowest}


def comparable(record: Mapping, more: Sequence[str] = ()) -> dict:
    """The record without the learning rates, which may have been searched for each row, and without ``more``."""
    return {**record, "config": {k: v for k, v in record["config"].items() if k not in (*SEARCHED, *more)}}


def factor_of(first: str, second: str) -> str:
    """In what two rows differ, as :mod:`icrlib.evidence.comparison` has it."""
    if {first, second} & {"fixed", "tuned"}:
        return "caption encoder"
    return "criterion" if second.startswith(INFONCE) else "objective"


def describe(part: str) -> str:
    """A part as a table has it: "LTD constrained − baseline, rsum"."""
    if part.startswith("goes "):
        return "swap accuracy with rsum, over the rows"
    name, first, sign, second = part.split()
    return f"{TITLES[first]} − {TITLES[second]}, {NAMES[name]}" + (" (equal)" if sign == "=" else "")


def _sides(record: Mapping) -> float:
    """How far the average recall image to text is above that text to image."""
    return record["test"]["i2t"]["average_recall"] - record["test"]["t2i"]["average_recall"]


# Name -> what is read from a record, its unit, and the smallest difference that matters (None: none was named).
MEASURES: dict[str, tuple[str | Callable[[Mapping], float], str, float | None]] = {
    "rsum": ("test.rsum", "rsum", SMALLEST),
    "i2t": ("test.i2t.average_recall", "points", SMALLEST / 6),
    "t2i": ("test.t2i.average_recall", "points", SMALLEST / 6),
    "rp": (lambda record: 100 * record["test"]["i2t"]["r_precision"], "hundredths", None),
    "swap": ("test.twins.swap", "points", None),
    "sides": (_sides, "points", None),
}
NAMES = {
    "rsum": "rsum",
    "i2t": "average recall i2t",
    "t2i": "average recall t2i",
    "rp": "R-precision i2t",
    "swap": "swap accuracy",
    "sides": "average recall i2t less t2i",
}

"""Signs that depend on a condition: which of two losses is ahead, by budget, clipping, constants, data and model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING

from icrlib.evidence.verdicts import Difference, Verdict, family, verdict
from icrlib.names import label

if TYPE_CHECKING:
    import pandas as pd

PAIRS = (  # in the direction that ECIR's Table 1 prints
    ("triplet_sh", "ntxent"),
    ("triplet_sh", "triplet"),
    ("ntxent", "triplet"),
    ("triplet_sh", "smoothap"),
    ("smoothap", "ntxent"),
    ("smoothap", "triplet"),
)
SEARCHED = ("lr", "warmup", "drop_words")  # what searches moved beside a loss's own constants
FIRST, SECOND, SMALL, OPEN = "first", "second", "small", "undecided"


@dataclass(frozen=True)
class Condition:
    """One model under one protocol: where the runs of each loss are.

    ``studies``: of all losses, all together (a study that adds draws to another is named beside it). ``instead``: of a
    loss whose runs are elsewhere; several entries are candidates that lie within the error of the search that chose
    them, and a sign stands only where all of them give it. ``constants``: options of a loss, where its studies hold
    runs with several. ``least``: draws (photos: seeds) that a loss must have.
    """

    title: str
    model: str
    studies: tuple[str, ...]
    dataset: str = "scenes"
    instead: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    train: int | None = None
    constants: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    losses: tuple[str, ...] = ("triplet", "triplet_sh", "ntxent", "smoothap")
    least: int = 3

    def candidates(self, loss: str, find: Callable[..., list[dict]]) -> list[list[dict]]:
        """The runs of a loss, once for each candidate; empty where it has too few."""
        if loss not in self.losses:
            return []
        groups = [(study,) for study in self.instead[loss]] if loss in self.instead else [self.studies]
        found = [
            [r for s in group for r in find(study=s, dataset=self.dataset, method=self.model, loss=loss) if self.has(r)]
            for group in groups
        ]
        return [group for group in found if len(group) >= self.least]

    def has(self, record: Mapping) -> bool:
        config = record["config"]
        asked = self.constants.get(config["loss"], {})
        sized = self.train is None or config["data_options"]["train"] == self.train
        return sized and all(config["loss_options"][name] == value for name, value in asked.items())


@dataclass(frozen=True)
class Sign:
    """Which of two losses is ahead under a condition: a verdict for each pair of candidates, one word for all."""

    verdicts: tuple[Verdict, ...]

    @property
    def word(self) -> str:
        """ "first", "second", "small" (within the smallest difference that matters) or "undecided"."""
        (word, *others) = {_sign(one) for one in self.verdicts}
        return OPEN if others else word

    @property
    def difference(self) -> Difference:
        """Of the candidates, the one that the search chose; see ``verdicts`` for the others."""
        return self.verdicts[0].difference

    @property
    def n(self) -> int:
        return min(one.n for one in self.verdicts)

    def __str__(self) -> str:
        """Mean and half of the 95 % interval, marked where no side is shown to be ahead: what ± leaves possible."""
        marks = {FIRST: "", SECOND: "", SMALL: " =", OPEN: " ?"}
        each = (f"{d.mean:+.1f} ± {(d.high - d.low) / 2:.1f}" for d in (one.difference for one in self.verdicts))
        return " / ".join(each).replace("-", "\N{MINUS SIGN}") + marks[self.word]


def signs(
    condition: Condition, find: Callable[..., list[dict]], pairs: Iterable[tuple[str, str]] = PAIRS
) -> dict[tuple[str, str], Sign]:
    """Test rsum of the first of each pair less the second, with Holm's correction over the condition's pairs.

    Only draws that both losses have are compared. The sides may differ in the loss with its constants, and in what the
    searches moved (``SEARCHED``); everything else is refused. Pairs without runs are left out.

    ``find``: :func:`icrlib.records.find`, or a function like it.
    """
    pairs = list(pairs)
    named = list(dict.fromkeys(loss for pair in pairs for loss in pair))
    found = {loss: runs for loss in named if (runs := condition.candidates(loss, find))}
    choices = [dict(zip(found, one, strict=True)) for one in product(*found.values())]
    ready = [pair for pair in pairs if set(pair) <= set(found)]
    judged = [family({pair: _compared(condition, pair, chosen) for pair in ready}) for chosen in choices]
    return {pair: Sign(tuple(dict.fromkeys(one[pair] for one in judged))) for pair in ready}


def table(
    conditions: Iterable[Condition], find: Callable[..., list[dict]], pairs: Iterable[tuple[str, str]] = PAIRS
) -> pd.DataFrame:
    """A row for each condition, a column for each pair of losses; a dash where a loss has not been run.

    ``attrs["signs"]``: ``{title: {pair: Sign}}``.
    """
    import pandas as pd

    pairs = list(pairs)
    found = {one.title: signs(one, find, pairs) for one in conditions}
    rows = [
        {"condition": title, "n": _span(sign.n for sign in row.values())}
        | {f"{label(a)} − {label(b)}": str(row.get((a, b), "–")) for a, b in pairs}
        for title, row in found.items()
    ]
    frame = pd.DataFrame(rows)
    frame.attrs["signs"] = found
    return frame


def _compared(condition: Condition, pair: tuple[str, str], chosen: Mapping[str, list[dict]]) -> Verdict:
    sides = [chosen[loss] for loss in pair]
    shared = set.intersection(*({r["config"]["seed"] for r in side} for side in sides))
    sides = [[r for r in side if r["config"]["seed"] in shared] for side in sides]
    configs = [side[0]["config"] if side else {} for side in sides]
    moved = [name for name in SEARCHED if any(name in config for config in configs)]
    tuning = {loss: {name: config.get(name) for name in moved} for loss, config in zip(pair, configs, strict=True)}
    claim = f"{label(pair[0])} beats {label(pair[1])}, {condition.title}"
    return verdict(claim, "greater", *sides, own=True, tuning=tuning)


def _sign(one: Verdict) -> str:
    if one.word in ("holds", "fails"):
        return FIRST if one.difference.mean > 0 else SECOND
    return SMALL if one.word == "equivalent" else OPEN


def _span(numbers: Iterable[int]) -> str:
    low, high = min(found := list(numbers), default=0), max(found, default=0)
    return str(low) if low == high else f"{low} to {high}"

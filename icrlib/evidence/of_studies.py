"""Records that were found by their study, compared and searched as ``icrlib.experiments`` does named runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd

from icrlib.experiments.compare import Comparison, compare
from icrlib.experiments.named import Runs, searched
from icrlib.experiments.record_settings import by_settings, common_draws, frozen, settings, short
from icrlib.experiments.search import Search
from icrlib.experiments.summary import summarise

__all__ = ["Verdict", "by_rate", "choices", "common_draws", "summarise", "tuned_studies", "verdict"]

FOLLOWING = ("drops", "evaluate_every")  # they follow from the number of updates


class Verdict(Comparison):
    """A comparison of which the first side is claimed to be ahead: the claim "holds" or "fails"."""

    @property
    def word(self) -> str:
        return {"ahead": "holds", "behind": "fails"}.get(super().word, super().word)

    @property
    def difference(self) -> Verdict:
        return self


def verdict(ours: Iterable, other: Iterable, factor: str = "loss", tuning: Mapping | None = None) -> Verdict:
    """Is the test rsum of ours above that of the others? ``tuning``: {value of the factor: what was chosen for it}."""
    return Verdict(**vars(compare(_runs(ours, factor, tuning), _runs(other, factor, tuning), factor)))


def _runs(records: Iterable[Mapping], factor: str, tuning: Mapping | None) -> Runs:
    found = _keyed(records)
    names = {c["method"]: c["loss"] for c in (record["config"] for record in found)}
    chosen = (tuning or {}).get(found[0]["config"].get(factor), {})
    values = {short(name): value for name, value in settings(found[0]).items()}
    if wrong := [name for name, value in chosen.items() if values.get(name, frozen(value)) != frozen(value)]:
        raise ValueError(f"{wrong[0]} is {values[wrong[0]]}, but the tuning chose {chosen[wrong[0]]}")
    return Runs(found, searched=dict.fromkeys(names.items(), set(chosen)))


def _keyed(records: Iterable[Mapping]) -> list[Mapping]:
    return [{**record, "key": number} for number, record in enumerate(records)]


def choices(records: Iterable[Mapping]) -> dict[tuple[str, str], dict[str, object]]:
    """``{("vse++", "ntxent"): {"lr": 0.01, "tau": 0.1}, …}``: of what was moved, the best on validation."""
    return _search(records).best


def by_rate(records: Iterable[Mapping]) -> pd.DataFrame:
    """A search as a table: validation rsum, a column for each learning rate."""
    return _search(records).table


def _search(records: Iterable[Mapping]) -> Search:
    """A search over what differs within a model and a loss."""
    every, given = Runs(_keyed(records)), {}
    for group in every.by("method", "loss").values():
        tried = by_settings(group)
        first = tried[0].settings
        moved = [name for name in first if any(one.settings[name] != first[name] for one in tried)]
        for flat, runs in tried:
            values = {short(name): flat[name] for name in moved if short(name) not in FOLLOWING}
            given |= dict.fromkeys((run["key"] for run in runs), values)
    return Search(Runs(every, given))


def tuned_studies() -> dict[tuple[str, str], str]:
    """In which study the runs with a loss's own constant are: "ecir" where that is the published one, else "tuned"."""
    own, published = searched()["scenes, own constants"].best, searched()["scenes"].best
    same = {pair: all(own[pair].get(n) == published[pair].get(n) for n in ("margin", "tau")) for pair in own}
    return {pair: "ecir" if alike else "tuned" for pair, alike in same.items()}

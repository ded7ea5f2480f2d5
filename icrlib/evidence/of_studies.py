"""Records that were found by their study, as older pages have them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from icrlib.experiments.compare import Comparison
from icrlib.experiments.named import Runs, searched
from icrlib.experiments.record_settings import by_settings, common_draws, short
from icrlib.experiments.search import Search

__all__ = ["Verdict", "choices", "common_draws", "tuned_studies"]

FOLLOWING = ("drops", "evaluate_every")  # they follow from the number of updates


class Verdict(Comparison):
    """A comparison of which the first side is claimed to be ahead: the claim "holds" or "fails"."""

    @property
    def word(self) -> str:
        return {"ahead": "holds", "behind": "fails"}.get(super().word, super().word)

    @property
    def difference(self) -> Verdict:
        return self


def choices(records: Iterable[Mapping]) -> dict[tuple[str, str], dict[str, object]]:
    """``{("vse++", "ntxent"): {"lr": 0.01, "tau": 0.1}, …}``: of what was moved, the best on validation."""
    every, given = Runs([{**record, "key": number} for number, record in enumerate(records)]), {}
    for group in every.by("method", "loss").values():
        tried = by_settings(group)
        first = tried[0].settings
        moved = [name for name in first if any(one.settings[name] != first[name] for one in tried)]
        for flat, runs in tried:
            values = {short(name): flat[name] for name in moved if short(name) not in FOLLOWING}
            given |= dict.fromkeys((run["key"] for run in runs), values)
    return Search(Runs(every, given)).best


def tuned_studies() -> dict[tuple[str, str], str]:
    """In which study the runs with a loss's own constant are: "ecir" where that is the published one, else "tuned"."""
    own, published = searched()["scenes, own constants"].best, searched()["scenes"].best
    same = {pair: all(own[pair].get(n) == published[pair].get(n) for n in ("margin", "tau")) for pair in own}
    return {pair: "ecir" if alike else "tuned" for pair, alike in same.items()}

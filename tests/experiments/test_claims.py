"""The claims of the papers come out of named runs as they come out of evidence's ledger: what the old code decides, the
new decides, part for part."""

from __future__ import annotations

import pytest

from icrlib import evidence, records
from icrlib.evidence.ecir_rows import FAMILIES
from icrlib.evidence.measures import MEASURES
from icrlib.experiments import compare, family, runs
from icrlib.studies import lists

ECIR = ["triplet", "triplet_sh", "ntxent", "smoothap"]
WORDS = {
    ">": {"ahead": "reproduced", "behind": "contradicted"},
    "<": {"behind": "reproduced", "ahead": "contradicted"},
    "=": {"equivalent": "reproduced", "ahead": "contradicted", "behind": "contradicted"},
}
OWN = {"reproduced": "holds", "contradicted": "fails"}


def compared(part: str, rows, factor: str = "loss"):
    """A part of the ledger, "rsum triplet_sh > ntxent" or "swap dual > 50", as a comparison of named runs."""
    name, first, sign, second = part.split()
    other = float(second) if second[0].isdigit() else rows[second]
    measure, equal = MEASURES[name], sign == "="
    smallest = measure.equal if equal and measure.equal else measure.smallest
    return compare(rows[first], other, factor, measure.of, smallest=smallest, equal=equal)


def same_difference(ours, theirs) -> bool:
    if theirs.difference is None:
        return ours.same
    return [ours.mean, ours.low, ours.high] == pytest.approx(
        [theirs.difference.mean, theirs.difference.low, theirs.difference.high], abs=1e-9
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dataset", "method", "losses", "seeds"),
    [
        *(("scenes", method, ECIR, 10) for method in ("vse++", "vsrn", "bow")),
        ("flickr8k", "vse++", ECIR[:3], 3),
        ("flickr8k", "bow", ECIR, 3),
    ],
)
def test_words_about_losses_are_the_ledgers(dataset, method, losses, seeds):
    rows = runs(dataset, method=method, loss=losses, seed=range(seeds), at="searched").by("loss")
    ledger = evidence.Evidence(lists("places").of_model(dataset, method), records.find).verdicts
    parts = [part for part in ledger if len(part.split()) == 4 and not part.startswith("goes")]
    ours = {}
    for names in FAMILIES:
        ours |= family({part: compared(part, rows) for part in parts if part.split()[0] in names})
    assert len(parts) > 10
    for part, one in ours.items():
        word = WORDS[part.split()[2]].get(one.word, one.word)
        assert same_difference(one, ledger[part]), part
        assert (OWN.get(word, word) if method == "bow" else word) == ledger[part].word, part


@pytest.mark.slow
def test_differences_between_objectives_are_the_ledgers():
    def ltd(at: str, **more):
        return runs("scenes", method="ltd", loss="ntxent", seed=range(5), at=at, **more)

    words = {"auxiliary": "tokens", "decoder_words": 64, "softmax": "vocabulary"}
    rows = {
        "con": ltd("searched, LTD"),
        "dual": ltd("searched, LTD", objective="dual", target="sbert"),
        "lag": ltd("searched, LTD bound"),
        "projected": ltd("searched, LTD bound", multiplier="projected"),
        "itd_dual": ltd("searched, LTD", objective="dual", **words),
        "itd_lag": ltd("searched, LTD bound words"),
    }
    place = next(place for place in lists("places").LTD if place.name == "scenes")
    ledger = evidence.Evidence(place, records.find).verdicts
    parts = [part for part in ledger if len(part.split()) == 4 and not part.startswith("goes")]
    assert len(parts) > 10
    for part in parts:
        assert same_difference(compared(part, rows, "objective"), ledger[part]), part

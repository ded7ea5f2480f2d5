"""Sentences written by hand: what holds them, and that damage to their records is noticed."""

import json

import numpy as np
import pytest

from icrlib.evidence.sentences import NotSo, check, greater, number, survived, word
from icrlib.experiments.check import SMOKE, printed
from icrlib.experiments.compare import Comparison
from icrlib.experiments.intervals import over_pairs


def runs(*rsums):
    return [{"test": {"rsum": x, "twins": {"swap": x / 10}}, "history": [{"loss": 1.0}]} for x in rsums]


def mean(records):
    return np.mean([r["test"]["rsum"] for r in records])


AHEAD, BEHIND = runs(440.1, 441.3, 438.9, 440.5), runs(430.2, 431.0, 429.4, 430.6)


def gap(ours, other):
    return mean(ours) - mean(other)


def test_a_true_sentence_passes():
    check(
        "Pairs have 440.2 rsum on four draws of 3,000 updates, +9.9 more.",
        number("440.2", mean, AHEAD, draws=4),
        number("+9.9", gap, AHEAD, BEHIND),
        also="3,000",
    )
    check("Pairs are ahead.", greater(mean, AHEAD, BEHIND, draws=4))
    check("It holds.", word("holds", lambda a, b: "holds" if gap(a, b) > 0 else "fails", AHEAD, BEHIND, draws=4))


@pytest.mark.parametrize(
    ("claims", "why"),
    [
        ([number("440.3", mean, AHEAD)], "computed 440.2"),
        ([number("440.3", mean, AHEAD, off=1, draws=10)], "there are 4"),
        ([greater(mean, BEHIND, AHEAD), number("440.3", mean, AHEAD, off=1)], "falling order"),
        ([word("equivalent", lambda a: "holds", AHEAD), number("440.3", mean, AHEAD, off=1)], "'holds'"),
        ([], "claims nothing"),
        ([greater(mean, AHEAD, BEHIND)], "no claim holds it"),
    ],
)
def test_a_false_one_is_named_with_its_reason(claims, why):
    with pytest.raises(NotSo, match=f"“Pairs have 440.3 rsum.”.*{why}"):
        check("Pairs have 440.3 rsum.", *claims)


def test_numbers_are_read_as_they_are_printed():
    assert printed(
        "Table 6: **−4.8** [−7.1, −2.4] of 6,000 pictures, R@1, VSE++, Chapters 3 and 12, 83.6 %, 1e-3."
    ) == ["-4.8", "-7.1", "-2.4", "6000", "83.6", "1e-3"]
    assert printed("the 8-query circle, l2, ten draws") == []


def test_a_verdict_gives_its_interval():
    result = Comparison("a > b", over_pairs(np.array([7.0, 8.0, 9.42]), 0.0, ""), 3.0)
    check(
        "It is +8.1 [+5.1, +11.2] ahead.",
        number("+8.1 [+5.1, +11.2]", lambda: result),
        word("ahead", lambda: result),
    )
    with pytest.raises(NotSo, match=r"printed is 11\.3"):
        check("It is 8.1 [5.1, 11.3] ahead.", number("8.1 [5.1, 11.3]", lambda: result))


def test_a_live_number_leaves_room_for_another_processor(monkeypatch):
    check("It has 338.1.", number("338.1", 335.0, live=True))
    for claim in (number("338.1", 300.0, live=True), number("338.1", 338.0)):
        with pytest.raises(NotSo):
            check("It has 338.1.", claim)
    monkeypatch.setattr(SMOKE, "run", True)
    check("It has 338.1.", number("338.1", 3.0, live=True))


def test_damage_is_noticed(monkeypatch, tmp_path):
    assert list(survived(number("+9.9", gap, AHEAD, BEHIND, draws=4))) == []
    assert list(survived(greater(mean, AHEAD, BEHIND, draws=4))) == []
    assert list(survived(number("440.2", mean, AHEAD, off=50, draws=4))) == ["moved by three half-widths"]
    blind = word("holds", lambda a, b: "holds", AHEAD, BEHIND, draws=4)
    assert list(survived(blind)) == ["exchanged"]
    assert list(survived(blind, number("+9.9", gap, list(AHEAD), BEHIND, draws=4))) == []  # one of them notices
    monkeypatch.setenv("ICR_PERTURBED", str(tmp_path / "noted"))
    check("Pairs are ahead.", greater(mean, AHEAD, BEHIND))
    assert json.loads((tmp_path / "noted").read_text())["survives"] == ["half of the runs lost"]

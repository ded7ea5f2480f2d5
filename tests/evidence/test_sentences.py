"""Sentences written by hand: what holds them, and that damage to their records is noticed."""

import json

import numpy as np
import pytest

from icrlib.evidence import sentences
from icrlib.evidence.sentences import NotSo, check, greater, number, printed, survived, word
from icrlib.evidence.verdicts import Difference, Verdict


def runs(*rsums):
    return [{"test": {"rsum": x, "twins": {"swap": x / 10}}, "history": [{"loss": 1.0}]} for x in rsums]


def mean(records):
    return np.mean([r["test"]["rsum"] for r in records])


AHEAD, BEHIND = runs(440.1, 441.3, 438.9, 440.5), runs(430.2, 431.0, 429.4, 430.6)


def gap(ours, other):
    return mean(ours) - mean(other)


def test_a_true_sentence_passes():
    check(
        "Pairs have 440.2 rsum on four draws, +9.9 more.",
        number("440.2", mean, AHEAD, draws=4),
        number("+9.9", gap, AHEAD, BEHIND),
    )
    check("Pairs are ahead.", greater(mean, AHEAD, BEHIND, draws=4))
    check("It holds.", word("holds", lambda a, b: "holds" if gap(a, b) > 0 else "fails", AHEAD, BEHIND, draws=4))


@pytest.mark.parametrize(
    "claims, why",
    [
        ([number("440.3", mean, AHEAD)], "printed is 440.3, computed 440.2"),
        ([number("440.3", mean, AHEAD, off=1, draws=10)], "about 10 runs, there are 4"),
        ([greater(mean, BEHIND, AHEAD), number("440.3", mean, AHEAD, off=1)], "not in falling order"),
        ([word("equivalent", lambda a: "holds", AHEAD), number("440.3", mean, AHEAD, off=1)], "the runs say 'holds'"),
        ([], "claims nothing"),
        ([greater(mean, AHEAD, BEHIND)], "prints 440.3, and no claim holds it"),
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
    found = Verdict("reproduced", "a > b", 10, Difference(8.14, 5.92, 10.36))
    check(
        "It is +8.1 [+5.9, +10.4] ahead.",
        number("+8.1 [+5.9, +10.4]", lambda: found),
        word("reproduced", lambda: found),
    )
    with pytest.raises(NotSo, match=r"printed is 10\.5"):
        check("It is 8.1 [5.9, 10.5] ahead.", number("8.1 [5.9, 10.5]", lambda: found))


def test_settings_are_no_results():
    check("At 3,000 updates it has 440.2.", number("440.2", mean, AHEAD), also="3,000")


def test_a_smoke_run_does_not_ask_of_live_numbers(monkeypatch):
    monkeypatch.setattr(sentences, "smoke_run", True)
    check("It ends at 7.", number("7", 3.0, live=True))
    monkeypatch.setattr(sentences, "smoke_run", False)
    with pytest.raises(NotSo):
        check("It ends at 7.", number("7", 3.0, live=True))


def test_a_live_number_leaves_room_for_another_processor():
    check("It has 338.1.", number("338.1", 335.0, live=True))
    for claim in (number("338.1", 300.0, live=True), number("338.1", 338.0)):
        with pytest.raises(NotSo):
            check("It has 338.1.", claim)


def test_damage_is_noticed():
    assert list(survived(number("+9.9", gap, AHEAD, BEHIND, draws=4))) == []
    assert list(survived(greater(mean, AHEAD, BEHIND, draws=4))) == []
    assert list(survived(greater(mean, AHEAD, BEHIND))) == ["half of the runs lost"]
    assert list(survived(number("440.2", mean, AHEAD, off=50, draws=4))) == ["moved by three half-widths"]
    assert list(survived(word("holds", lambda a, b: "holds", AHEAD, BEHIND, draws=4))) == ["exchanged"]


def test_a_sentence_notices_what_one_of_its_claims_notices():
    blind = word("holds", lambda a, b: "holds", AHEAD, BEHIND, draws=4)
    assert list(survived(blind, number("+9.9", gap, list(AHEAD), BEHIND, draws=4))) == []
    assert list(survived(blind, number("440.2", mean, AHEAD, draws=4))) == []
    assert list(survived(blind, greater(mean, AHEAD[:3], BEHIND[:2]))) == ["exchanged", "half of the runs lost"]


def test_where_an_exchange_is_no_damage():
    decided = word("undecided", lambda a, b: "undecided" if abs(gap(a, b)) < 11 else "holds", AHEAD, BEHIND, draws=4)
    assert list(survived(decided)) == []
    blind = word("undecided", lambda a, b: "undecided", AHEAD, BEHIND, draws=4)
    assert list(survived(blind)) == ["moved by three half-widths"]
    again = runs(*(r["test"]["rsum"] for r in AHEAD))
    same = number("4", lambda a, b: sum(x["test"] == y["test"] for x, y in zip(a, b, strict=True)), AHEAD, again)
    assert list(survived(same)) == []


def test_what_survives_is_noted(monkeypatch, tmp_path):
    monkeypatch.setenv("ICR_PERTURBED", str(tmp_path / "noted"))
    check("Pairs are ahead.", greater(mean, AHEAD, BEHIND))
    (line,) = (tmp_path / "noted").read_text().splitlines()
    assert json.loads(line) == {"sentence": "Pairs are ahead.", "survives": ["half of the runs lost"]}

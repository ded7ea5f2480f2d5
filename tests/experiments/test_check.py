"""A checked sentence holds only as long as every number in it stands in a fact, word for word."""

from __future__ import annotations

import re

import pytest

from icrlib.experiments import Untrue, check, live
from icrlib.experiments.check import SMOKE

SENTENCE = "Triplet-SH is ahead by +8.1 [+5.9, +10.4] with 3,000 updates, by 47 in 47 runs"
FACTS = ("+8.1 [+5.9, +10.4]", "by 47", "in 47 runs")


def test_facts_that_hold_pass():
    check(SENTENCE, *FACTS, True, also="3,000")
    check("it lost \N{MINUS SIGN}4.3, in **2** of 3", "-4.3", "2 of 3")


@pytest.mark.parametrize(
    ("facts", "also"),
    [
        ((*FACTS, False), "3,000"),
        ((*FACTS, "ahead by +8.2"), "3,000"),
        (("+8.1 [+5.9, +10.4]", "7 in", "47 runs"), "3,000"),  # 7 is no number of it, only an end of one
        (FACTS[:-1], "3,000"),  # 47 stands there twice, and one fact holds it once
        (FACTS, ""),
    ],
)
def test_what_no_longer_holds_or_is_not_held_is_named(facts, also):
    with pytest.raises(Untrue, match="Triplet-SH"):
        check(SENTENCE, *facts, also=also)


def test_each_changed_number_is_seen():
    for number in re.finditer(r"\d+(?:\.\d+)?", SENTENCE):
        last = str((int(number[0][-1]) + 1) % 10)
        with pytest.raises(Untrue):
            check(SENTENCE[: number.end() - 1] + last + SENTENCE[number.end() :], *FACTS, also="3,000")


def test_numbers_of_a_training_on_the_page_may_be_a_little_off_and_a_smoke_run_is_not_asked(monkeypatch):
    monkeypatch.setattr(SMOKE, "run", False)  # other tests start chapters
    check("it rises by 39 points, to 0.8", live("39 points, to 0.8", 40.6, 0.82))
    with pytest.raises(Untrue, match="47"):
        check("it rises by 39 points", live("by 39", 47.0))
    with pytest.raises(Untrue, match="4"):
        check("the query hears 2 negatives", live("hears 2", 4))
    monkeypatch.setattr(SMOKE, "run", True)
    check("it rises by 39 points", live("by 39", float("nan")))

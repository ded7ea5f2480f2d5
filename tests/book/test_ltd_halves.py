"""Both halves of LTD's training, in shortcuts/tables; made-up records, the twin by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from icrlib.evidence import ltd_runs
from ltd_studies import made_up, tables
from record_files import put

FIRST, SECOND = [1.0, 3.0, 2.0], [6.0, 9.0, 4.0]  # the lead after each half, one number a draw


def section(above=10.0):
    """The cells about the two halves, where the first table has a lead of ``above``."""
    lead = {"lag": (ltd_runs.interval([above, above], [0.0, 0.0]),)}
    names, shown = tables(("def of_swap", 1), ("def halves", 4), AHEAD=lead)
    return names, [text for text in shown if text]


def run(book, row, seed, lead=(0.0, 0.0), late=0.0):
    """250 to 3,000 updates, the network learns after 1,500; of the second half the last but one evaluation is the best
    one, ``late`` less than it the last; the first half begins above both."""
    kind, way = ("con", "con") if row == "con" else ("sbert", "published")
    base = 300.0 + 9 * seed
    record = made_up(kind, way, seed, rsum=base + 50 + lead[1], swap=60.0 + lead[0], finetune_after=1500)
    for entry in record["history"]:
        at = entry["update"]
        of_first = 90 if at == 250 else at / 100 + lead[0] * (at == 1500)
        entry["val"]["rsum"] = base + (of_first if at <= 1500 else 20 + at / 100 + lead[1])
    record["history"][-1]["val"]["rsum"] = record["history"][-2]["val"]["rsum"] - late
    put(book, "ltd_finetune", record, row)


def test_without_all_draws_the_command_stands_there(book):
    for seed in range(3):
        run(book, "con", seed)
    for seed in range(2):
        run(book, "lag", seed)
    names, (table,) = section()
    assert names["HALF"] == {}
    assert table == "These six runs are not complete yet: `make records STUDY=ltd_finetune`."


def test_the_lead_is_told_after_each_half_and_so_is_its_change(book):
    for seed in range(3):
        run(book, "con", seed)
        run(book, "lag", seed, (FIRST[seed], SECOND[seed]), late=0.5)
    names, (table, said) = section()
    for name, leads in (("first", FIRST), ("second", SECOND), ("test", SECOND), ("swap", FIRST)):
        half = stats.t.ppf(0.975, 2) * np.std(leads, ddof=1) / 3**0.5
        found = names["HALF"][name]
        mean = np.mean(leads)
        assert (found.mean, found.low, found.high) == pytest.approx((mean, mean - half, mean + half))
    # at 1,500 the baseline has 15 over its start, at 2,750, the best of the second half, 20 + 27.5
    assert "moves the baseline's validation rsum by +32.5" in said and "best of six evaluations" in said
    assert "no lead to be seen" not in said  # the second half's interval is above zero
    assert "neither grows nor shrinks measurably (the change is +4.3 [" in said
    assert "changed by +2.0 to +2.5" in said and said.endswith("network would, was not tried.")
    assert "324.0 ± 7.3" in table and "309 + 15" not in table


def test_a_lead_that_surely_grows_and_halves_that_were_too_short(book):
    for seed in range(3):
        run(book, "con", seed, late=-8.0)
        run(book, "lag", seed, (FIRST[seed], FIRST[seed] + 7 + 0.1 * seed), late=-8.0)
    _, (_, said) = section()
    assert "; it grows (the change is +7.1 [" in said and "after *so many* updates" in said


def test_where_no_half_has_a_lead_it_is_said_what_the_test_could_have_seen(book):
    for seed in range(3):
        run(book, "con", seed)
        run(book, "lag", seed, ((1.0, -1.5, 1.0)[seed], (2.0, -1.0, 1.0)[seed]))
    names, (_, said) = section()
    high = names["HALF"]["test"].high
    assert 2 < high < 10 and "the +10.0 of the table above does not lie in the test's interval." in said
    assert f"the +{high - 0.5:.1f} of the table above lies in" in section(high - 0.5)[1][1]

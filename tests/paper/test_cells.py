"""Tables as a page shows them: numbers stay whole, words run over several lines."""

from __future__ import annotations

import base64
import io
import re

import pandas as pd
import pytest

from icrlib import paper
from icrlib.paper.cells import LONG, downloads

SENTENCE = "opening photos anew changes little"


def rules(frame: pd.DataFrame, **options) -> dict[str, str]:
    """The style sheet of the table: properties by selector, without the table's own id."""
    text = paper.styled(frame, name="try", **options).data
    sheet = re.search(r"<style.*?>(.*?)</style>", text, re.S)[1]
    found = {}
    for selectors, props in re.findall(r"([^{}]+)\{([^}]*)\}", sheet):
        for selector in selectors.split(","):
            found[selector.replace("#T_icr-try", "").strip()] = " ".join(props.split())
    return found


def test_numbers_stay_on_one_line_and_words_may_be_broken():
    frame = pd.DataFrame([{"claim": SENTENCE, "rsum": "353.8 ± 1.6"}, {"claim": "short", "rsum": "9.1 ± .2"}])
    found = rules(frame)
    assert "white-space: nowrap" in found["td"] and "white-space: nowrap" in found["th"]
    assert "white-space: normal" in found["td.col0"] and "text-align: left" in found["td.col0"]
    assert found["th.level0.col0"] == found["td.col0"]  # its heading stands above it
    assert not any(selector.endswith("col1") for selector in found)


def test_a_long_heading_is_broken_but_its_numbers_keep_to_the_right():
    found = rules(pd.DataFrame({"n": [1], "rsum of the mean of all draws": ["353.8"]}))
    assert "white-space: normal" in found["th.level0.col1"] and "td.col1" not in found


@pytest.mark.parametrize("text, breaks", [("x" * LONG, False), ("x" * (LONG + 1), True)])
def test_where_words_begin(text, breaks):
    assert ("td.col0" in rules(pd.DataFrame({"a": [text]}))) == breaks


def test_links_and_other_tags_do_not_count():
    link = '<a href="#erratum-ecir-4">ECIR Eq. 4</a>'
    assert len(link) > LONG and "td.col0" not in rules(pd.DataFrame({"equation": [link]}))


def test_below_a_group_only_the_last_heading_is_broken():
    """A heading over several columns has the number of its first one, and is no heading of words."""
    columns = pd.MultiIndex.from_tuples([("paper", "claim"), ("paper", "n")])
    found = rules(pd.DataFrame([[SENTENCE, 3]], columns=columns))
    assert "td.col0" in found and "th.level1.col0" in found and "th.level0.col0" not in found


def test_a_table_is_the_same_each_time_and_an_empty_one_is_a_table():
    frame = pd.DataFrame({"claim": [SENTENCE], "n": [3]})
    assert paper.styled(frame, "A caption").data == paper.styled(frame.copy(), "A caption").data
    assert "A caption" in paper.styled(frame, "A caption").data and "<table" in paper.styled(frame[:0]).data
    assert '<th class="blank' not in paper.styled(frame).data  # no index


def test_a_range_is_one_number_where_both_ends_are_shown_alike():
    assert paper.span([3000, 2500, 2750]) == "2,500 to 3,000" and paper.span([7]) == "7"
    assert paper.span([0.31, 0.294], 2) == "0.29 to 0.31" and paper.span(x for x in (0.304, 0.296)) == "0"
    assert paper.span([-1.26, 1.24], 1) == "-1.3 to 1.2"


def test_a_table_comes_back_from_its_link():
    link = downloads({"GOAL, Table 3": paper.layout(paper.table("goal/3"), "plain")}).data
    found = re.findall(r'download="([^"]+)" href="[^"]*base64,([^"]+)">([^<]+)<', link)
    ((file, code, name),) = found
    back = pd.read_csv(io.BytesIO(base64.b64decode(code)), dtype=str)
    assert (file, name, len(back)) == ("goal-table-3.csv", "GOAL, Table 3", 10)
    row = back[(back["setting"] == "VSE++ (ResNet152)") & (back["P"] == "sig-ms")]
    assert row["image to text, R@1 | con"].item() == "35.6 ± .1"

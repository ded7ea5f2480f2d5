"""Tables as a page shows them: numbers stay whole, words run over several lines."""

from __future__ import annotations

import base64
import io
import re

import pandas as pd

from icrlib import paper
from icrlib.paper.cells import LONG, downloads

SENTENCE = "opening photos anew changes little"


def rules(frame: pd.DataFrame, **options) -> dict[str, str]:
    """The style sheet of the table: properties by selector, without the table's own id."""
    text = paper.styled(frame, name="try", **options).data
    sheet = re.search(r"<style.*?>(.*?)</style>", text, re.S)[1]
    result = {}
    for selectors, props in re.findall(r"([^{}]+)\{([^}]*)\}", sheet):
        for selector in selectors.split(","):
            result[selector.replace("#T_icr-try", "").strip()] = " ".join(props.split())
    return result


def test_numbers_stay_on_one_line_and_words_may_be_broken():
    frame = pd.DataFrame([{"claim": SENTENCE, "rsum": "353.8 ± 1.6"}, {"claim": "short", "rsum": "9.1 ± .2"}])
    result = rules(frame)
    assert "white-space: nowrap" in result["td"] and "white-space: nowrap" in result["th"]
    assert "white-space: normal" in result["td.col0"] and "text-align: left" in result["td.col0"]
    assert result["th.level0.col0"] == result["td.col0"]  # its heading stands above it
    assert not any(selector.endswith("col1") for selector in result)


def test_where_words_begin():
    link = '<a href="#erratum-ecir-4">ECIR Eq. 4</a>'  # tags do not count
    assert len(link) > LONG
    for text, breaks in (("x" * LONG, False), ("x" * (LONG + 1), True), (link, False)):
        assert ("td.col0" in rules(pd.DataFrame({"a": [text]}))) == breaks


def test_a_range_is_one_number_where_both_ends_are_shown_alike():
    assert paper.span([3000, 2500, 2750]) == "2,500 to 3,000" and paper.span([7]) == "7"
    assert paper.span([0.31, 0.294], 2) == "0.29 to 0.31" and paper.span(x for x in (0.304, 0.296)) == "0"
    assert paper.span([-1.26, 1.24], 1) == "-1.3 to 1.2"


def test_a_table_comes_back_from_its_link():
    link = downloads({"GOAL, Table 3": paper.layout(paper.table("goal/3"), "plain")}).data
    ((file, code),) = re.findall(r'download="([^"]+)" href="[^"]*base64,([^"]+)">', link)
    back = pd.read_csv(io.BytesIO(base64.b64decode(code)), dtype=str)
    assert (file, len(back)) == ("goal-table-3.csv", 10)
    row = back[(back["setting"] == "VSE++ (ResNet152)") & (back["P"] == "sig-ms")]
    assert row["image to text, R@1 | con"].item() == "35.6 ± .1"

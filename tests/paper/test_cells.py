"""Tables as a page shows them: numbers stay whole, words run over several lines."""

from __future__ import annotations

import base64
import io
import re

import pandas as pd

from icrlib import paper
from icrlib.paper.cells import LONG, downloads


def rules(frame: pd.DataFrame) -> dict[str, str]:
    """The style sheet of the table: properties by selector, without the table's own id."""
    sheet = re.search(r"<style.*?>(.*?)</style>", paper.styled(frame, name="try").data, re.S)[1]
    return {
        selector.replace("#T_icr-try", "").strip(): " ".join(props.split())
        for selectors, props in re.findall(r"([^{}]+)\{([^}]*)\}", sheet)
        for selector in selectors.split(",")
    }


def test_numbers_stay_on_one_line_and_words_may_be_broken():
    link = '<a href="#erratum-ecir-4">ECIR Eq. 4</a>'  # tags do not count
    result = rules(pd.DataFrame({"claim": ["x" * (LONG + 1), "x"], "rsum": "x" * LONG, "link": link}))
    assert "white-space: nowrap" in result["td"] and "white-space: nowrap" in result["th"]
    assert "white-space: normal" in result["td.col0"] and "text-align: left" in result["td.col0"]
    assert result["th.level0.col0"] == result["td.col0"]  # its heading stands above it
    assert not any(selector.endswith(("col1", "col2")) for selector in result)


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

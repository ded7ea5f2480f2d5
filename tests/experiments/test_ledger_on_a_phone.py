"""In a real browser with the book's style sheet: a ledger is read on a phone without moving it sideways."""

from pathlib import Path

import pandas as pd
import pytest

import browser
from icrlib import paper

ROOT = Path(__file__).resolve().parents[2]
HEAD = "<!doctype html><meta name=viewport content=width=device-width><style>body {margin: 0 16px; font: 16px Arial}"
OVERHANG = "() => { const t = document.querySelector('table'); return [t.scrollWidth - t.clientWidth, t.clientWidth]; }"
LEDGER = [
    {
        "claim": "Triplet-SH beats Triplet on scenes",
        "paper": "46.0 ± .6 against 43.5 ± .2",
        "n": 10,
        "ours": "+35.8 rsum [+31.9, +39.7]",
        "verdict": "undecided (n = 3)",
        "p": "< .001",
    }
]
NUMBERS = [{f"R@{k}": "353.8 ± 1.6" for k in range(8)}]


@pytest.mark.process
@pytest.mark.parametrize("rows, fits", [(LEDGER, True), (NUMBERS, False)], ids=["ledger", "many numbers"])
def test_a_ledger_fits_and_numbers_are_not_broken(tmp_path, rows, fits):
    """Eight columns of numbers are wider than a phone; they stay whole and are moved in their own box."""
    page = tmp_path / "page.html"
    style = (ROOT / "book" / "_static" / "book.css").read_text()
    table = paper.styled(pd.DataFrame(rows), name="ledger").data
    page.write_text(f'{HEAD} {style}</style><div class="bd-article"><div class="cell_output">{table}</div></div>')
    with browser.launch() as chrome:
        phone = browser.context(chrome, viewport={"width": 390, "height": 844}).new_page()
        phone.goto(page.as_uri())
        over, width = phone.evaluate(OVERHANG)
        assert (over == 0) == fits and width <= 358
        assert phone.evaluate("() => document.documentElement.scrollWidth") == 390  # the page itself never moves

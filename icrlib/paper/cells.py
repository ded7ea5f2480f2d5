"""One number, one heading, and a frame of them, as the papers print them."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd
from IPython.display import HTML

SIDES = {"i2t": "image to text", "t2i": "text to image"}
DATA = {"coco": "MS-COCO", "f30k": "Flickr30k"}  # before the side, where a table has both
HEADS = {
    "r1": "R@1",
    "r5": "R@5",
    "r10": "R@10",
    "average_recall": "avg.",
    "map_at_5": "mAP@5",
    "r_precision": "R-P",
    "C_q": "C^q",
    "C_B": "C^B",
    "C_0": "C^0",
    "C_neg": "C^qv-",
    "W_neg": "W^qv-",
    "W_pos": "W^qv+",
}
DECIMALS = {"map_at_5": 2, "r_precision": 2, "C_q": 2, "C_B": 2, "C_0": 2, "C_neg": 2, "W_neg": 2, "W_pos": 2}
LONG = 17  # characters: "353.8 ± 1.6" and "undecided (n = 3)" stay whole; what is longer is words
_TAG = re.compile(r"<[^>]*>")


def cell(value: float | None, std: float | None, decimals: int = 1) -> str:
    """One number as the papers print it: "46.0 ± .6", "46.0" without a deviation, "–" without a number."""
    if value is None or np.isnan(value):
        return "–"
    text = f"{value:.{decimals}f}"
    if std is None or np.isnan(std):
        return text
    return f"{text} ± {f'{std:.{decimals}f}'.removeprefix('0')}"


def decimals(metric: str) -> int:
    """Digits behind the point that the papers print of a metric such as "i2t_r1"."""
    return DECIMALS.get(_split(metric)[2], 1)


def heading(metric: str) -> tuple[str, str]:
    """What stands above the numbers: the group of columns, and the column."""
    data, side, rest = _split(metric)
    group = SIDES.get(side, "")
    return f"{DATA[data]}, {group}" if data else group, HEADS.get(rest, rest)


def _split(metric: str) -> tuple[str, str, str]:
    """("coco", "i2t", "r1") of "coco_i2t_r1"; data and side are empty where the name has none."""
    data = next((name for name in DATA if metric.startswith(f"{name}_")), "")
    rest = metric.removeprefix(f"{data}_")
    side = next((name for name in SIDES if rest.startswith(f"{name}_")), "")
    return data, side, rest.removeprefix(f"{side}_")


def styled(frame: pd.DataFrame, caption: str = "", name: str = "table") -> HTML:
    """A frame as the book shows it: no index, small enough for many columns, the same ids each time.

    Numbers stay on one line. A column with text of more than ``LONG`` characters is set to the left and runs over
    several lines where the page is narrow, and so do long headings; so a ledger can be read on a phone.
    """
    cells = "text-align: right; white-space: nowrap; font-size: .72em; padding: .2em .35em"
    last = frame.columns.nlevels - 1
    styles = [
        {"selector": "td, th", "props": cells},
        {"selector": "th.col_heading.level0[colspan]", "props": "text-align: center"},
        {"selector": "caption", "props": "caption-side: bottom; text-align: left"},
    ]
    for k, column in enumerate(frame.columns):
        heading, values = f"th.level{last}.col{k}", frame.iloc[:, k]
        if max(map(_length, values), default=0) > LONG:
            props = "white-space: normal; text-align: left; min-width: 4.5em"
            styles.append({"selector": f"{heading}, td.col{k}", "props": props})
        elif _length(column[-1] if isinstance(column, tuple) else column) > LONG:
            styles.append({"selector": heading, "props": "white-space: normal; min-width: 4.5em"})
    shown = frame.style.hide(axis="index").set_uuid("icr-" + name.replace("/", "-")).set_table_styles(styles)
    shown = shown.set_table_attributes('class="dataframe"')
    shown = shown.set_caption(caption) if caption else shown
    return HTML(shown.to_html())  # a Styler's own text would print its address in memory


def span(values: Iterable[float], digits: int = 0) -> str:
    """The range of some numbers as text: "2,500 to 3,000", or the one number that all of them round to."""
    values = list(values)
    low, high = (f"{value:,.{digits}f}" for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def downloads(tables: Mapping[str, pd.DataFrame]) -> HTML:
    """Links that save tables as CSV files, for what is too long for a page: the text of a link is the table's name.

    The files lie in the page itself, so that they cannot go out of step with the data that made them. Columns of
    several levels are joined by " | ", and an index that only counts is left out.
    """
    links = []
    for name, frame in tables.items():
        flat = frame.copy()
        if flat.columns.nlevels > 1:
            flat.columns = [" | ".join(part for part in map(str, column) if part) for column in flat.columns]
        text = flat.to_csv(index=not isinstance(flat.index, pd.RangeIndex))
        code = base64.b64encode(text.encode()).decode()
        file = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
        links.append(f'<a download="{file}.csv" href="data:text/csv;charset=utf-8;base64,{code}">{name}</a>')
    return HTML(" · ".join(links))


def _length(value: object) -> int:
    """Characters that a reader sees: without tags."""
    return len(_TAG.sub("", str(value)))

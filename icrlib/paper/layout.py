"""Tables in the papers' layout, for published and for own results alike."""

from __future__ import annotations

import numpy as np
import pandas as pd

from icrlib.errors import choose
from icrlib.names import label
from icrlib.paper.cells import cell, decimals, heading, styled
from icrlib.paper.grids import grid

LEADS = ("dataset", "method", "loss", "targets", "pretraining", "data_size")  # what stands left of the numbers


def layout(table: pd.DataFrame, style: str = "html"):
    """A table in the papers' form: "46.0 ± .6", columns grouped by direction, "–" where nothing is known.

    ``style="html"``: to show in a notebook; ``"plain"``: a DataFrame of strings. GOAL's Tables 1 and 3 to 5 come as
    :func:`icrlib.paper.grid`.
    """
    choose(style, ("html", "plain"), "style")
    if {"T", "P"} <= set(table.columns):
        return grid(table, style=style)
    frame = _plain(table)
    return frame if style == "plain" else _page(table, frame)


def _plain(table: pd.DataFrame) -> pd.DataFrame:
    metrics = [name for name in table.columns if f"{name}_std" in table.columns]
    leads = [name for name in LEADS if name in table.columns]
    shown = {("", name.replace("_", " ")): table[name].map(str if name == "dataset" else _text) for name in leads}
    for metric in metrics:
        pairs = zip(table[metric], table[f"{metric}_std"], strict=True)
        shown[heading(metric)] = [cell(value, std, decimals(metric)) for value, std in pairs]
    if "n" in table.columns:
        shown[("", "n")] = table["n"].astype(str).tolist()
    frame = pd.DataFrame({key: list(value) for key, value in shown.items()}, index=table.index)
    frame.columns = pd.MultiIndex.from_tuples(frame.columns)
    return frame


def _page(table: pd.DataFrame, frame: pd.DataFrame):
    """What all rows share goes into the caption; row numbers stand in front where the paper's text cites rows by them
    (``attrs["numbered"]``)."""
    repeated = [name for name in ("dataset", "method") if name in table.columns and table[name].nunique() == 1]
    frame = frame.drop(columns=[("", name) for name in repeated])
    if table.attrs.get("numbered"):
        frame.insert(0, ("", "#"), list(table.index))
    caption = ", ".join([*(label(str(table[name].iloc[0])) for name in repeated), table.attrs.get("caption", "")])
    return styled(frame, caption.strip(", "), str(table.attrs.get("name", "")))


def _text(value) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "✓" if value else "×"
    return "–" if pd.isna(value) else label(value)

"""Results of GOAL's objectives as its Tables 1 and 3 to 5 have them: a row for each P, a column for each T."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

import pandas as pd
from IPython.display import HTML
from pandas.api.types import is_numeric_dtype

from icrlib.errors import choose
from icrlib.paper.cells import cell, decimals, heading, styled
from icrlib.paper.tables import contents

T_NAMES = ("con", "nca", "cir")
P_NAMES = ("con", "lin", "sig", "lin-ms", "sig-ms")
R1 = ("i2t_r1", "t2i_r1")
SIDE_BY_SIDE = "display: flex; flex-wrap: wrap; gap: 1em 1.5em"  # below each other where the page is narrow


def grid(table: pd.DataFrame, metric: str | Sequence[str] | None = None, *, style: str = "html"):
    """Objectives as a grid of cells like "33.9 ± .9", one for each setting and metric; "–" where there is no row.

    ``table``: one of ``paper.table("goal/1")``, ``"goal/3"`` to ``"goal/5"``, or own results with the same columns: T,
    P, perhaps ``setting``; then metrics, ``…_std`` beside them (``n`` is left out). ``metric``: a column or several; by
    default R@1 in both directions. ``style="html"``: small tables that stand side by side, or on a phone below each
    other; ``"plain"``: a DataFrame of strings. ``ValueError`` where two rows are in one place.
    """
    choose(style, ("html", "plain"), "style")
    printed = {name: about["name"] for name, about in contents("goal")["settings"].items()}
    cells = table.assign(_setting=[printed.get(value, value) for value in table.get("setting", [""] * len(table))])
    if len(twice := cells[cells.duplicated(["_setting", "T", "P"])]):
        raise ValueError("two rows for {T} x {P} {_setting}; select one of them".format(**twice.iloc[0]))
    parts, metrics = dict(list(cells.groupby("_setting", sort=False))), _metrics(table, metric)
    blocks = {setting: {name: _block(part, name) for name in metrics} for setting, part in parts.items()}
    if style == "plain":
        wide = {
            setting: pd.concat({_title(name): block for name, block in of.items()}, axis=1, names=["", "T"])
            for setting, of in blocks.items()
        }
        return wide.popitem()[1] if len(wide) == 1 else pd.concat(wide, names=["setting", "P"]).fillna("–")
    lines = dict.fromkeys(parts, "")
    for setting, name in itertools.product(parts, metrics):
        caption = ", ".join(filter(None, (setting, _title(name))))
        caption = table.attrs.get("caption", "") if name == "loss" else caption
        lines[setting] += _small(
            blocks[setting][name], caption, f"{table.attrs.get('name', 'ours')}-{setting}-{name}-P"
        )
    return HTML("".join(f"<div style='{SIDE_BY_SIDE}'>{line}</div>" for line in lines.values()))


def _title(metric: str) -> str:
    return ", ".join(filter(None, heading(metric)))


def _metrics(table: pd.DataFrame, metric: str | Sequence[str] | None) -> list[str]:
    numbers = [name for name in table.columns if is_numeric_dtype(table[name]) and name != "n"]
    known = [name for name in numbers if not name.endswith("_std")]
    if metric is None:
        return [name for name in R1 if name in known] or known or ["loss"]
    wanted = [metric] if isinstance(metric, str) else metric
    return [choose(name, [*known, "loss"], "metric of this table") for name in wanted]


def _block(part: pd.DataFrame, metric: str) -> pd.DataFrame:
    """The grid of one setting and one metric, as strings."""
    found = {}
    for _, row in part.iterrows():
        value = row[metric]
        if not isinstance(value, str):
            value = cell(value, row.get(f"{metric}_std"), decimals(metric))
        found[row["T"], row["P"]] = value
    t_axis = [*T_NAMES, *sorted({t for t, _ in found} - set(T_NAMES))]  # whoever adds a weight gets a line for it
    p_axis = [*P_NAMES, *sorted({p for _, p in found} - set(P_NAMES))]
    rows = [[found.get((t, p), "–") for t in t_axis] for p in p_axis]
    return pd.DataFrame(rows, index=pd.Index(p_axis, name="P"), columns=pd.Index(t_axis, name="T"))


def _small(block: pd.DataFrame, caption: str, name: str) -> str:
    shown = block.reset_index()
    shown.columns = pd.MultiIndex.from_tuples([("", "P"), *(("T", column) for column in block.columns)])
    return styled(shown, caption, re.sub(r"[^A-Za-z0-9-]+", "-", name)).data  # an id in a style sheet

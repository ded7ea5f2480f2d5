"""Results of GOAL's objectives as its Tables 1 and 3 to 5 have them: a row for each P, a column for each T."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pandas as pd
from IPython.display import HTML
from pandas.api.types import is_numeric_dtype

from icrlib.errors import choose
from icrlib.losses.goal import parse
from icrlib.names import label
from icrlib.paper.cells import cell, decimals, heading, styled
from icrlib.paper.tables import setting_name

T_NAMES = ("con", "nca", "cir")
P_NAMES = ("con", "lin", "sig", "lin-ms", "sig-ms")
R1 = ("i2t_r1", "t2i_r1")
SIDE_BY_SIDE = "display: flex; flex-wrap: wrap; gap: 1em 1.5em"  # below each other where the page is narrow


def grid(table: pd.DataFrame, metric: str | Sequence[str] | None = None, *, rows: str = "P", style: str = "html"):
    """Objectives as a grid of cells like "33.9 ± .9", one for each setting and metric; "–" where there is no row.

    ``table``: one of ``paper.table("goal/1")``, ``"goal/3"`` to ``"goal/5"``, or own results with the same columns: T
    and P, or ``objective`` ("cir x sig-ms"), or ``loss`` ("goal:cir x sig-ms", as :func:`summarise` has it); then
    metrics, ``…_std`` beside them, and perhaps ``n``. Rows of several settings, or datasets and methods, stay apart.

    ``metric``: a column or several; by default R@1 in both directions. ``rows="P"`` is the paper's form, ``"T"`` turns
    it round. ``style="html"``: small tables that stand side by side, or on a phone below each other; ``"plain"``: a
    DataFrame of strings.
    """
    choose(rows, ("P", "T"), "rows")
    choose(style, ("html", "plain"), "style")
    cells = _placed(table)
    metrics = _metrics(table, metric)
    settings = dict(list(cells.groupby("_setting", sort=False)))
    blocks = {(setting, name): _block(part, name, rows) for setting, part in settings.items() for name in metrics}
    if style == "plain":
        return _plain(blocks, rows)
    lines = dict.fromkeys(settings, "")
    for (setting, name), block in blocks.items():
        parts = (setting, _title(name), _runs(settings[setting]))
        caption = table.attrs.get("caption", "") if name == "loss" else ", ".join(part for part in parts if part)
        lines[setting] += _small(block, caption, f"{table.attrs.get('name', 'ours')}-{setting}-{name}-{rows}")
    return HTML("".join(f"<div style='{SIDE_BY_SIDE}'>{line}</div>" for line in lines.values()))


def _placed(table: pd.DataFrame) -> pd.DataFrame:
    """The rows with ``_T``, ``_P`` and ``_setting``, each place taken at most once."""
    if {"T", "P"} <= set(table.columns):
        pairs = list(zip(table["T"], table["P"], strict=True))
    else:
        name = next((name for name in ("objective", "loss") if name in table.columns), None)
        if name is None:
            raise ValueError(f"a grid needs columns T and P, or objective, or loss; got {list(table.columns)}")
        pairs = [parse(str(value).partition(" (")[0]) for value in table[name]]  # "(lr 0.003)" is no part of it
    if not pairs:
        raise ValueError("a grid of no rows; icrlib.records.find(...) found none?")
    cells = table.assign(_T=[t for t, _ in pairs], _P=[p for _, p in pairs], _setting=_settings(table))
    twice = cells[cells.duplicated(["_setting", "_T", "_P"])]
    if len(twice):
        setting, t, p = twice.iloc[0][["_setting", "_T", "_P"]]
        raise ValueError(f"two rows for {t} x {p}" + (f" in {setting!r}" if setting else "") + "; select one of them")
    return cells


def _settings(table: pd.DataFrame) -> list[str]:
    if "setting" in table.columns:
        return [setting_name(value) for value in table["setting"]]
    names = [name for name in ("dataset", "method") if name in table.columns]
    return [", ".join(label(str(row[name])) for name in names) for _, row in table.iterrows()]


def _metrics(table: pd.DataFrame, metric: str | Sequence[str] | None) -> list[str]:
    numbers = [name for name in table.columns if is_numeric_dtype(table[name]) and name != "n"]
    known = [name for name in numbers if not name.endswith("_std")]
    if metric is None:
        return [name for name in R1 if name in known] or known or ["loss"]
    wanted = [metric] if isinstance(metric, str) else list(metric)
    return [choose(name, [*known, "loss"], "metric of this table") for name in wanted]


def _block(part: pd.DataFrame, metric: str, rows: str) -> pd.DataFrame:
    """The grid of one setting and one metric, as strings."""
    found = {}
    for _, row in part.iterrows():
        value = row[metric]
        if not isinstance(value, str):
            value = cell(value, row.get(f"{metric}_std"), decimals(metric))
        found[row["_T"], row["_P"]] = value
    t_axis = [*T_NAMES, *sorted({t for t, _ in found} - set(T_NAMES))]  # whoever adds a weight gets a line for it
    p_axis = [*P_NAMES, *sorted({p for _, p in found} - set(P_NAMES))]
    frame = pd.DataFrame(
        [[found.get((t, p), "–") for t in t_axis] for p in p_axis],
        index=pd.Index(p_axis, name="P"),
        columns=pd.Index(t_axis, name="T"),
    )
    return frame if rows == "P" else frame.T


def _plain(blocks: dict, rows: str) -> pd.DataFrame:
    settings = list(dict.fromkeys(setting for setting, _ in blocks))
    parts = {}
    for setting in settings:
        of_it = {_title(metric): block for (name, metric), block in blocks.items() if name == setting}
        parts[setting] = pd.concat(of_it, axis=1, names=["", "T" if rows == "P" else "P"])
    return parts[settings[0]] if len(settings) == 1 else pd.concat(parts, names=["setting", rows]).fillna("–")


def _title(metric: str) -> str:
    return "loss" if metric == "loss" else ", ".join(part for part in heading(metric) if part)


def _small(block: pd.DataFrame, caption: str, name: str) -> str:
    down, across = block.index.name, block.columns.name
    shown = block.reset_index()
    shown.columns = pd.MultiIndex.from_tuples([("", down), *((across, column) for column in block.columns)])
    return styled(shown, caption, re.sub(r"[^A-Za-z0-9-]+", "-", name)).data  # an id in a style sheet


def _runs(part: pd.DataFrame) -> str:
    if "n" not in part.columns:
        return ""
    low, high = int(part["n"].min()), int(part["n"].max())
    return f"n = {low}" if low == high else f"n = {low} to {high}"

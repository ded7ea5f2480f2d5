"""Published tables as data, and tables in the papers' layout, for published and for own results alike."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from IPython.display import HTML

from icrlib.errors import choose

PAPERS = ("ecir",)
METRICS = ("r1", "r5", "r10", "average_recall", "map_at_5")
HEADS = {"r1": "R@1", "r5": "R@5", "r10": "R@10", "average_recall": "avg.", "map_at_5": "mAP@5", "C_q": "C^q",
         "C_B": "C^B", "C_0": "C^0", "C_neg": "C^qv-", "W_neg": "W^qv-", "W_pos": "W^qv+"}  # fmt: skip
SIDES = {"i2t": "image to text", "t2i": "text to image"}
DECIMALS = {"map_at_5": 2, "C_q": 2, "C_B": 2, "C_0": 2, "C_neg": 2, "W_neg": 2, "W_pos": 2}
NAMES = ("dataset", "method", "loss")
TWINS = ("swap", "attribute")


@cache
def _paper(name: str) -> dict:
    return json.loads(Path(__file__).with_name(f"{name}.json").read_text(encoding="utf-8"))


def tables() -> list[str]:
    """Names that :func:`table` knows, such as ``"ecir/1"``."""
    return [f"{paper}/{number}" for paper in PAPERS for number in _paper(paper)["tables"]]


def table(name: str) -> pd.DataFrame:
    """A published table, as printed: ``table("ecir/1")`` is ECIR's Table 1.

    Index: the paper's row numbers. Columns: dataset, method, loss, hyper_parameters, then each metric (names as in
    :mod:`icrlib.metrics`, with ``i2t_`` or ``t2i_`` before them) and ``…_std`` beside it; None where nothing is
    printed. ``attrs`` holds caption, note and source.
    """
    choose(name, tables(), "table")
    paper, number = name.split("/")
    about = _paper(paper)["tables"][number]
    rows = []
    for row in about["rows"]:
        numbers = {}
        for metric, (mean, std) in row["metrics"].items():
            numbers |= {metric: mean, f"{metric}_std": std}
        rows.append({key: row[key] for key in ("row", *NAMES, "hyper_parameters")} | numbers)
    frame = pd.DataFrame(rows).set_index("row")
    frame.attrs = {"name": name, "caption": about["caption"], "note": about["note"], "source": _paper(paper)["source"]}
    return frame


def inconsistencies(paper: str = "ecir") -> pd.DataFrame:
    """Printed numbers that disagree with others in the same paper or its release."""
    return pd.DataFrame(_paper(choose(paper, PAPERS, "paper"))["inconsistencies"])


def summarise(records: Iterable[dict]) -> pd.DataFrame:
    """Records of runs as one row a (dataset, method, loss, warm-up): mean and spread over seeds, and their number n.

    Columns as :func:`table` has them, plus ``swap`` and ``attribute`` twin accuracy where the data has twins. The
    standard deviation is the population's (ddof 0), as in ECIR; it is None for a single run.
    """
    groups: dict[tuple, list[dict]] = {}
    for record in records:
        config = record["config"]
        loss = config["loss"] + (f" (warm-up {config['warmup']})" if config.get("warmup") else "")
        groups.setdefault((config["dataset"], config["method"], loss), []).append(_numbers(record["test"]))
    if not groups:
        raise ValueError("no records to summarise; icrlib.records.find(...) found none")
    rows = []
    for names, runs in groups.items():
        row = dict(zip(NAMES, names, strict=True)) | {"n": len(runs)}
        for metric in runs[0]:
            values = np.array([run[metric] for run in runs], dtype=float)
            row |= {metric: values.mean(), f"{metric}_std": values.std() if len(runs) > 1 else None}
        rows.append(row)
    frame = pd.DataFrame(rows, index=pd.Index(range(1, len(rows) + 1), name="row"))
    frame.attrs = {"name": "ours", "caption": "mean ± population standard deviation over n seeds"}
    return frame


def _numbers(test: dict) -> dict[str, float]:
    # ECIR prints mAP@5 for image to text alone: a caption has one image, so the other way it adds nothing.
    names = [(side, metric) for side in SIDES for metric in METRICS if (side, metric) != ("t2i", "map_at_5")]
    numbers = {f"{side}_{metric}": test[side][metric] for side, metric in names} | {"rsum": test["rsum"]}
    twins = test.get("twins") or {}
    return numbers | {kind: twins[kind] for kind in TWINS if twins.get(kind) is not None}


def layout(table: pd.DataFrame, style: str = "html"):
    """A table in the papers' form: "46.0 ± .6", columns grouped by direction, "–" where nothing is known.

    ``style="html"``: to show in a notebook; ``"plain"``: a DataFrame of strings.
    """
    choose(style, ("html", "plain"), "style")
    from icrlib.plots import label

    metrics = [c for c in table.columns if f"{c}_std" in table.columns]
    metrics.sort(key=lambda name: name not in TWINS)  # first what no paper prints: on a narrow page the rest scrolls
    shown = {("", name): table[name].map(str if name == "dataset" else label) for name in NAMES}
    for metric in metrics:
        side, _, rest = metric.partition("_") if metric[:4] in ("i2t_", "t2i_") else ("", "", metric)
        head = HEADS.get(rest, f"{rest} %" if rest in TWINS else rest)
        group = SIDES.get(side, "twins" if rest in TWINS else "")
        pairs = zip(table[metric], table[f"{metric}_std"], strict=True)
        shown[(group, head)] = [cell(value, std, DECIMALS.get(rest, 1)) for value, std in pairs]
    if "n" in table.columns:
        shown[("", "n")] = table["n"].astype(str).tolist()
    frame = pd.DataFrame({key: list(value) for key, value in shown.items()}, index=table.index)
    frame.columns = pd.MultiIndex.from_tuples(frame.columns)
    if style == "plain":
        return frame
    # The baseline says in the loss column what it is; then one method is left, and goes into the caption.
    baseline = (table["method"] == "bow").to_numpy()
    if baseline.any() and not baseline.all():
        frame.loc[baseline, ("", "loss")] = label("bow")
    others = table[~baseline] if not baseline.all() else table
    repeated = [name for name in ("dataset", "method") if others[name].nunique() == 1]
    frame = frame.drop(columns=[("", name) for name in repeated])
    caption = ", ".join([*(label(str(others[name].iloc[0])) for name in repeated), table.attrs.get("caption", "")])
    return styled(frame, caption.strip(", "), str(table.attrs.get("name", "")))


def styled(frame: pd.DataFrame, caption: str = "", name: str = "table") -> HTML:
    """A frame as the book shows it: no index, small enough for many columns, the same ids each time."""
    cells = "text-align: right; white-space: nowrap; font-size: .72em; padding: .2em .35em"
    styles = [{"selector": "td, th", "props": cells},
              {"selector": "th.col_heading.level0[colspan]", "props": "text-align: center"},
              {"selector": "caption", "props": "caption-side: bottom; text-align: left"}]  # fmt: skip
    shown = frame.style.hide(axis="index").set_uuid("icr-" + name.replace("/", "-")).set_table_styles(styles)
    shown = shown.set_table_attributes('class="dataframe"')
    shown = shown.set_caption(caption) if caption else shown
    return HTML(shown.to_html())  # a Styler's own text would print its address in memory


def cell(value: float | None, std: float | None, decimals: int = 1) -> str:
    """One number as the papers print it: "46.0 ± .6", "46.0" without a deviation, "–" without a number."""
    if value is None or np.isnan(value):
        return "–"
    text = f"{value:.{decimals}f}"
    if std is None or np.isnan(std):
        return text
    return f"{text} ± {f'{std:.{decimals}f}'.removeprefix('0')}"

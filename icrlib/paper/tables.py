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

PAPERS = ("ecir", "goal")
METRICS = ("r1", "r5", "r10", "average_recall", "map_at_5")
HEADS = {"r1": "R@1", "r5": "R@5", "r10": "R@10", "average_recall": "avg.", "map_at_5": "mAP@5", "C_q": "C^q",
         "C_B": "C^B", "C_0": "C^0", "C_neg": "C^qv-", "W_neg": "W^qv-", "W_pos": "W^qv+"}  # fmt: skip
SIDES = {"i2t": "image to text", "t2i": "text to image"}
DATA = {"coco": "MS-COCO", "f30k": "Flickr30k"}  # before the side, where a table has both
DECIMALS = {"map_at_5": 2, "C_q": 2, "C_B": 2, "C_0": 2, "C_neg": 2, "W_neg": 2, "W_pos": 2}
NAMES = ("dataset", "method", "loss")
TWINS = ("swap", "attribute")
LEADS = (*NAMES, "pretraining", "data_size")  # what stands left of the numbers


@cache
def contents(name: str) -> dict:
    """A paper's file as it is; :func:`table` and :func:`inconsistencies` give the parts to use."""
    return json.loads(Path(__file__).with_name(f"{name}.json").read_text(encoding="utf-8"))


def tables() -> list[str]:
    """Names that :func:`table` knows, such as ``"ecir/1"``."""
    return [f"{paper}/{number}" for paper in PAPERS for number in contents(paper)["tables"]]


def table(name: str) -> pd.DataFrame:
    """A published table, as printed: ``table("ecir/1")`` is ECIR's Table 1, ``table("goal/4")`` GOAL's Table 4.

    Index: the paper's row numbers, or names of ours where it has none ("vit_ft/cir x sig-ms"). Columns: dataset,
    method, loss, hyper_parameters (GOAL: setting, T, P, objective), then each metric (names as in
    :mod:`icrlib.metrics`, with ``i2t_`` or ``t2i_`` before them) and ``…_std`` beside it; None where nothing is
    printed. ``attrs`` holds caption, note and source.
    """
    choose(name, tables(), "table")
    paper, number = name.split("/")
    about = contents(paper)["tables"][number]
    rows, metrics = [], {}
    for row in about["rows"]:
        numbers = {}
        for metric, (mean, std) in row["metrics"].items():
            numbers |= {metric: mean, f"{metric}_std": std}
        rows.append({key: value for key, value in row.items() if key != "metrics"} | numbers)
        metrics |= dict.fromkeys(numbers, float)
    frame = pd.DataFrame(rows).set_index("row").astype(metrics)  # a column without any number would be of objects
    source = contents(paper)["source"]
    frame.attrs = {"name": name, "caption": about["caption"], "note": about["note"], "source": source}
    return frame


def inconsistencies(paper: str = "ecir") -> pd.DataFrame:
    """Printed numbers that disagree with others in the same paper or its release."""
    return pd.DataFrame(contents(choose(paper, PAPERS, "paper"))["inconsistencies"])


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

    ``style="html"``: to show in a notebook; ``"plain"``: a DataFrame of strings. GOAL's Tables 1 and 3 to 5 come as
    :func:`icrlib.paper.grid`.
    """
    choose(style, ("html", "plain"), "style")
    from icrlib.plots import label

    if {"T", "P"} <= set(table.columns):
        from icrlib.paper.grids import grid

        return grid(table, style=style)

    metrics = [c for c in table.columns if f"{c}_std" in table.columns]
    metrics.sort(key=lambda name: name not in TWINS)  # first what no paper prints: on a narrow page the rest scrolls
    leads = [name for name in LEADS if name in table.columns]
    shown = {("", name.replace("_", " ")): table[name].map(str if name == "dataset" else _text) for name in leads}
    for metric in metrics:
        pairs = zip(table[metric], table[f"{metric}_std"], strict=True)
        shown[heading(metric)] = [cell(value, std, decimals(metric)) for value, std in pairs]
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
    repeated = [name for name in ("dataset", "method") if name in leads and others[name].nunique() == 1]
    frame = frame.drop(columns=[("", name) for name in repeated])
    caption = ", ".join([*(label(str(others[name].iloc[0])) for name in repeated), table.attrs.get("caption", "")])
    return styled(frame, caption.strip(", "), str(table.attrs.get("name", "")))


def _text(value) -> str:
    from icrlib.plots import label

    if isinstance(value, (bool, np.bool_)):
        return "✓" if value else "×"
    return "–" if pd.isna(value) else label(value)


def _split(metric: str) -> tuple[str, str, str]:
    """("coco", "i2t", "r1") of "coco_i2t_r1"; data and side are empty where the name has none."""
    data = next((name for name in DATA if metric.startswith(f"{name}_")), "")
    rest = metric.removeprefix(f"{data}_")
    side = next((name for name in SIDES if rest.startswith(f"{name}_")), "")
    return data, side, rest.removeprefix(f"{side}_")


def setting_name(setting: str) -> str:
    """A setting of GOAL's tables as printed: "VSE++ (ResNet152)" for "r152"; other names as they are."""
    about = contents("goal")["settings"].get(setting)
    return about["name"] if about else setting


def heading(metric: str) -> tuple[str, str]:
    """What stands above the numbers: the group of columns, and the column."""
    data, side, rest = _split(metric)
    group = SIDES.get(side, "twins" if rest in TWINS else "")
    return f"{DATA[data]}, {group}" if data else group, HEADS.get(rest, f"{rest} %" if rest in TWINS else rest)


def decimals(metric: str) -> int:
    return DECIMALS.get(_split(metric)[2], 1)


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

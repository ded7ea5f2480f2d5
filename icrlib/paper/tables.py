"""Published tables as data, as printed."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pandas as pd

from icrlib.errors import choose

PAPERS = ("ecir", "goal", "ltd")


@cache
def contents(name: str) -> dict:
    """A paper's file as it is; :func:`table` and :func:`inconsistencies` give the parts to use."""
    return json.loads(Path(__file__).with_name(f"{name}.json").read_text(encoding="utf-8"))


def tables() -> list[str]:
    """Names that :func:`table` knows, such as ``"ecir/1"``."""
    return [f"{paper}/{number}" for paper in PAPERS for number in contents(paper)["tables"]]


def table(name: str) -> pd.DataFrame:
    """A published table, as printed: ``table("ecir/1")`` is ECIR's Table 1, ``table("ltd/2")`` LTD's Table 2.

    Index: the paper's row numbers, or names of ours where it has none ("vit_ft/cir x sig-ms"). Columns: dataset,
    method, loss, hyper_parameters (GOAL: setting, T, P, objective; LTD's Table 2: targets, too), then each metric
    (names as in :mod:`icrlib.metrics`, with ``i2t_`` or ``t2i_`` before them) and ``…_std`` beside it; None where
    nothing is printed. ``attrs`` holds caption, note and source, and whether the row numbers are shown beside the rows
    (``numbered``), as LTD's text needs them. Raises ``ValueError`` for an unknown name.
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
    frame.attrs = {
        "name": name,
        "caption": about["caption"],
        "note": about["note"],
        "source": source,
        "numbered": about.get("numbered", False),
    }
    return frame


def inconsistencies(paper: str = "ecir") -> pd.DataFrame:
    """Printed numbers that disagree with others in the same paper or its release."""
    return pd.DataFrame(contents(choose(paper, PAPERS, "paper"))["inconsistencies"])

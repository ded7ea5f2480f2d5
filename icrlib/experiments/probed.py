"""What linear probes found in the models of runs: lines of records/probes.jsonl, by scripts/probe_runs.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from icrlib import parsing
from icrlib.experiments.store import key_of
from icrlib.records.folder import root

LINES = "probes.jsonl"  # beside the records
LINE = {"type": "object", "required": ["data_hash", "facts", "chance"]}


def lines() -> list[dict]:
    """The lines of ``records/probes.jsonl``; empty where there is no such file.

    Each has ``data_hash``, ``facts`` {"caption" or "picture": {fact: percent right}}, ``chance`` in the same form, and
    either ``key``, of the run that made the model, or ``target``, whose vectors of captions were asked. ``again``:
    the model of the run was gone and trained again; its test rsum, which need not be the record's on another machine.
    """
    return parsing.json_lines(root() / LINES, LINE)


def of_runs(runs: Sequence[Mapping], of: str = "caption") -> dict[str, pd.DataFrame]:
    """What was found in the models of ``runs`` (records) and in the targets of the same data, of captions or pictures.

    {"runs": (facts, one column a run's key), "targets": (facts, one column a (target, data hash)), "chance":
    (facts, one column a data hash)}; runs that were not probed are left out.
    """
    wanted = {key_of(run["config"]) for run in runs}
    probes = [line for line in lines() if line.get("key") in wanted]
    data = {line["data_hash"] for line in probes}
    targets = [line for line in lines() if "target" in line and line["data_hash"] in data and of in line["facts"]]
    return {
        "runs": pd.DataFrame({line["key"]: line["facts"][of] for line in probes}),
        "targets": pd.DataFrame({(line["target"], line["data_hash"]): line["facts"][of] for line in targets}),
        "chance": pd.DataFrame({line["data_hash"]: line["chance"][of] for line in probes}),
    }

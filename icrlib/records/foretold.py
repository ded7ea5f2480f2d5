"""What was foretold of runs before they were trained: lines of records/foretold.jsonl, by hand, never changed."""

from __future__ import annotations

from icrlib import parsing
from icrlib.records.folder import root

LINES = "foretold.jsonl"  # beside the records
LINE = {"type": "object", "required": ["name", "runs", "claim", "measure", "reason", "low", "high"]}


def lines() -> dict[str, dict]:
    """By name, the predictions: of which ``runs`` the ``claim`` is made and for which ``reason``, what is to be
    measured, and from ``low`` to ``high`` (None: no end) what counts as a hit."""
    return {line["name"]: line for line in parsing.json_lines(root() / LINES, LINE)}

"""How far a search gets without captions, and beside 400 and 6,000: lines of records/zero_shot.jsonl, by
scripts/zero_shot.py."""

from __future__ import annotations

from icrlib import parsing
from icrlib.records.folder import root

LINES = "zero_shot.jsonl"  # beside the records
LINE = {
    "type": "object",
    "required": ["kind"],
    "properties": {
        "kind": {"type": "string"},
        "photos": {"type": "integer", "minimum": 0},
        "method": {"type": ["string", "null"]},
        **dict.fromkeys(("test", "alone", "added", "gain", "signs", "val_rsum"), {"type": ["object", "number"]}),
    },
}


def ladder() -> dict[tuple[int, str | None], dict]:
    """By (captioned photos, method; None without any): test measures of the zero-shot encoder ``test``, or of a model
    ``alone`` and with the encoder's score ``added``, means over three seeds, and its ``gain`` in rsum."""
    lines = parsing.json_lines(root() / LINES, LINE)
    return {(line["photos"], line["method"]): line for line in lines if {"test", "alone"} & set(line)}

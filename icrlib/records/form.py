"""The form of a record, as far as every reader relies on it, so that a damaged or foreign file is named."""

from __future__ import annotations

SCHEMA = 2
WORD, COUNT, BAG = ({"type": kind} for kind in ("string", "integer", "object"))
_CONFIG = {
    "type": "object",
    "required": ["dataset", "method", "loss"],
    "properties": {
        **dict.fromkeys(("dataset", "method", "loss"), WORD),
        **dict.fromkeys(("seed", "updates"), COUNT),
        **dict.fromkeys(("data_options", "loss_options", "model_options"), BAG),
    },
}
RECORD = {
    "type": "object",
    "required": ["schema", "config"],
    "properties": {
        "schema": {"type": "integer", "maximum": SCHEMA},
        "config": _CONFIG,
        **dict.fromkeys(("chosen", "test"), BAG),
        "history": {"type": "array", "items": BAG},
    },
}

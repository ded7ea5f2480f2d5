"""The form of a record: what stands where, and of which kind. Readers rely on it, so that a damaged one is named.

Only what every reader looks up is listed, and only what every record has must be there.
"""

from __future__ import annotations

SCHEMA = 2
WORD, COUNT, BAG = ({"type": kind} for kind in ("string", "integer", "object"))
NUMBER = {"type": ["number", "null"]}  # a number that was NaN is written as null
MEASURES = {"type": "object", "additionalProperties": NUMBER}


def _object(properties: dict, *required: str) -> dict:
    return {"type": "object", "required": list(required), "properties": properties}


_SCORED = dict.fromkeys(("i2t", "t2i", "twins", "order"), MEASURES) | {"rsum": NUMBER}
_MOMENT = _object(
    {
        "update": COUNT,
        "loss": NUMBER,
        "val": _object(_SCORED, "rsum"),
        "twins": MEASURES,
        "cocos": BAG,
        "diagnose": BAG,
    },
    "update",
    "val",
)
_CONFIG = _object(
    {
        **dict.fromkeys(("dataset", "method", "loss"), WORD),
        **dict.fromkeys(("seed", "updates", "batch_size"), COUNT),
        **dict.fromkeys(("auxiliary_options", "data_options", "loss_options", "model_options", "asked"), BAG),
        "lr": {"type": "number"},
    },
    "dataset",
    "method",
    "loss",
)
RECORD = _object(
    {
        "schema": {"type": "integer", "maximum": SCHEMA},
        **dict.fromkeys(("identity", "data_hash"), WORD),
        "config": _CONFIG,
        "chosen": _object({"update": COUNT, "val_rsum": NUMBER}, "update", "val_rsum"),
        "history": {"type": "array", "items": _MOMENT},
        "log": {"type": "array", "items": {"type": "array", "items": NUMBER}},
        "test": _object(_SCORED | {"reranked": _object(_SCORED, "rsum")}),
        "wall_seconds": {"type": "number"},
    },
    "schema",
    "config",
)

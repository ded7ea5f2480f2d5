"""The form of a record: what stands where, and of which kind. Readers rely on it, so that a damaged one is named.

Only what every reader asks for has to be there.
"""

from __future__ import annotations

SCHEMA = 2
WORD, TEXT, COUNT, NUMBER, SWITCH = (
    {"type": kind} for kind in ("string", ["string", "null"], "integer", ["number", "null"], "boolean")
)  # a number that was NaN is written as null
MEASURES = {"type": "object", "additionalProperties": NUMBER}


def _object(properties: dict, *required: str) -> dict:
    return {"type": "object", "required": list(required), "properties": properties}


_BAG = {"type": "object"}
_SCORED = dict.fromkeys(("i2t", "t2i", "twins", "order"), MEASURES) | {"rsum": NUMBER, "folds_1k": _BAG}
_CONFIG = _object(
    {
        **dict.fromkeys(("dataset", "method", "loss", "data_hash"), WORD),
        **dict.fromkeys(("average", "batches", "device", "multiplier", "objective", "optimiser"), WORD),
        **dict.fromkeys(("positives", "precision", "relevance", "schedule"), WORD),
        **dict.fromkeys(
            ("accumulate", "average_times", "batch_parts", "batch_size", "evaluate_every", "lr_warmup"), COUNT
        ),
        **dict.fromkeys(("per_epoch", "seed", "threads", "updates", "warmup"), COUNT),
        **dict.fromkeys(("average_from", "beta", "delete_words", "drop_words", "erase"), {"type": "number"}),
        **dict.fromkeys(("grad_clip", "lr", "weight_decay"), {"type": "number"}),
        **dict.fromkeys(("auxiliary_options", "data_options", "loss_options", "model_options"), _BAG),
        **dict.fromkeys(("learn_bias", "learn_tau", "smoke"), SWITCH),
        **dict.fromkeys(("auxiliary", "backbone", "batch_norm"), TEXT),
        **dict.fromkeys(("eta", "finetune_lr", "restart_lr"), NUMBER),
        **dict.fromkeys(("data_seed", "finetune_after", "rerank"), {"type": ["integer", "null"]}),
        "drops": {"type": "array", "items": COUNT},
        "asked": _BAG,
    },
    "dataset",
    "method",
    "loss",
)
_MOMENT = _object(
    {"update": COUNT, "loss": NUMBER, "lr": NUMBER, "val": _object(_SCORED, "rsum"), "cocos": _BAG, "diagnose": _BAG}
    | dict.fromkeys(("twins", "order"), MEASURES),
    "update",
    "val",
)
RECORD = _object(
    {
        "schema": {"type": "integer", "maximum": SCHEMA},
        "config": _CONFIG,
        "chosen": _object({"update": COUNT, "val_rsum": NUMBER, "val_reranked_rsum": NUMBER}, "update", "val_rsum"),
        "history": {"type": "array", "items": _MOMENT},
        "log": {"type": "array", "items": {"type": "array", "items": NUMBER}},
        "log_columns": {"type": "array", "items": WORD},
        "test": _object(
            _SCORED | {"reranked": _object(_SCORED | {"top": COUNT, "ceiling": MEASURES}, "rsum", "ceiling")}
        ),
        "versions": {"type": "object", "additionalProperties": TEXT},
        **dict.fromkeys(("identity", "data_hash"), WORD),
        **dict.fromkeys(("parameters", "peak_memory_mb", "threads", "updates_per_epoch"), COUNT),
        **dict.fromkeys(("seconds_per_epoch", "wall_seconds"), {"type": "number"}),
        "auxiliary": _BAG,
    },
    "schema",
    "config",
)

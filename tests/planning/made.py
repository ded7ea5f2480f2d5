"""As much of a configuration and of a record as a plan looks at."""

from __future__ import annotations


def configured(dataset="scenes", method="vse++", loss="ntxent", updates=100, size=8, **more) -> dict:
    options = {"embed_dim": size} | ({} if method == "bow" else {"word_dim": 64})
    return {
        "dataset": dataset,
        "data_options": {},
        "data_hash": "",
        "method": method,
        "loss": loss,
        "updates": updates,
        "model_options": options,
        "batch_size": 128,
        "batches": "pairs",
        "device": "cpu",
    } | more


def noted(config: dict, seconds: float = 10.0, **more) -> dict:
    """The record of a run: what it cost on one thread."""
    cost = {"wall_seconds": seconds, "updates_per_epoch": 5, "parameters": 1000, "peak_memory_mb": 50, "threads": 1}
    return {"schema": 2, "config": config, "device": "cpu", "path": "r.json"} | cost | more

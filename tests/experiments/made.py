"""Records as a run leaves them behind, with numbers of the test's own."""

from __future__ import annotations

import base64
import copy

import numpy as np

from icrlib.experiments import Runs

OPTIONS = {"ntxent": {"tau": 0.1}, "triplet": {"margin": 0.2}, "triplet_sh": {"margin": 0.2}, "smoothap": {"tau": 0.01}}


def record(loss: str, seed: int, rsum: float = 400.0, *, drawn: bool = True, evaluations: int = 2, **config) -> dict:
    """A record of schema 2; ``config`` replaces settings, ``drawn``: on data that are drawn anew for each seed."""
    options = {"seed": seed, "train": 1500} if drawn else {"vocabulary": "train"}
    made = {
        "dataset": "scenes" if drawn else "flickr8k",
        "data_options": options,
        "data_seed": seed,
        "method": "vse++",
        "data_hash": f"draw {seed}" if drawn else "photos",
        "model_options": {"embed_dim": 128},
        "loss": loss,
        "loss_options": dict(OPTIONS.get(loss, {})),
        "auxiliary": None,
        "auxiliary_options": {},
        "seed": seed,
        "updates": 3000,
        "epochs": None,
        "batch_size": 128,
        "batches": "pairs",
        "lr": 0.001,
        "drops": [1500],
        "schedule": "step",
        "grad_clip": 2.0,
        "warmup": 0,
        "evaluate_every": 250,
        "device": "cpu",
        "threads": 1,
        "smoke": False,
        "asked": {},
    }
    side = {"r1": 40.0 + seed, "r5": 50.0, "r10": 60.0, "average_recall": 50.0, "map_at_5": 0.5}
    history = [{"update": 250 * (1 + i), "val": {"rsum": 300.0}} for i in range(evaluations)]
    test = {"i2t": dict(side), "t2i": dict(side), "rsum": float(rsum)}
    path = f"records/{made['dataset']}/{loss}/seed{seed}.json"
    return {"schema": 2, "config": made | config, "history": history, "test": test, "path": path}


def group(loss: str, sums, **config) -> list[dict]:
    """One record a seed, 0 to n − 1."""
    return [record(loss, seed, value, **config) for seed, value in enumerate(sums)]


def side(loss: str, sums, searched=(), **config) -> Runs:
    """The same as named runs; ``searched``: settings that a search is said to have moved."""
    return named(group(loss, sums, **config), searched)


def named(records, searched=()) -> Runs:
    config = records[0]["config"]
    pair = config["method"], config["loss"]
    return Runs([one | {"key": f"{pair} {n}"} for n, one in enumerate(records)], searched={pair: set(searched)})


def but(one: dict, path: str | None = None, **config) -> dict:
    """A copy with other settings, and perhaps another path."""
    result = copy.deepcopy(one)
    result["config"] |= config
    return result | ({"path": path} if path else {})


def on_photos(loss: str, seed: int, i2t, t2i, image_of, **config) -> dict:
    """A record of photos with the ranks of its queries, and the image of each caption."""
    made = record(loss, seed, drawn=False, **config)
    test, sides = made["test"], {"i2t": i2t, "t2i": t2i}
    test["ranks"] = {name: encoded(numbers) for name, numbers in (sides | {"image_of": image_of}).items()}
    for side, ranks in sides.items():
        test[side] |= {f"r{k}": 100 * float((np.asarray(ranks) <= k).mean()) for k in (1, 5, 10)}
    test["rsum"] = sum(test[side][f"r{k}"] for side in sides for k in (1, 5, 10))
    return made


def encoded(numbers) -> str:
    return base64.b64encode(np.asarray(numbers).astype("<u2").tobytes()).decode()

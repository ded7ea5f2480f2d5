"""Does today's code still train as it did? The first updates of tiny trainings over methods, losses and auxiliaries.

Where a training is *meant* to change, ``.venv/bin/python -m tests.test_regression`` writes tests/regression.json anew.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

import icrlib

KEPT = Path(__file__).with_name("regression.json")
# Other vector units move these numbers by about 1e-6, a constant that changed by 5 % by more than this; SmoothAP's
# gradient goes through exponentials of differences over τ = .01.
WITHIN, SMOOTHAP = 1e-3, 5e-3
DATA = {"train": 64, "val": 16, "test": 16, "seed": 7, "progress": False}
COMMON = {"seed": 3, "updates": 3, "evaluate_every": 1, "batch_size": 32, "device": "cpu", "threads": 1, "lr": 0.01}
SMALL = {"embed_dim": 32, "word_dim": 16}
SCHEDULES = {"optimiser": "adamw", "weight_decay": 1.0, "lr_warmup": 2, "schedule": "cosine", "drop_words": 0.2}
RUNS = {
    "bow smoothap": {"embed_dim": 32, "grad_clip": 0.0},
    "sentence ntxent": {"embed_dim": 384},
    "vse++ triplet": SMALL | {"positives": "image"},
    "vse++ triplet_sh": SMALL | {"warmup": 1, "margin": 0.4},
    "vse++ ntxent": SMALL | SCHEDULES | {"accumulate": 2, "pool": "max"},
    "vse++ siglip": SMALL | {"learn_tau": True, "learn_bias": True},
    "vse++ goal:cir x sig-ms": SMALL,
    "vsrn ntxent": SMALL,
    "vse_infty triplet": SMALL,
    "cmn ntxent": SMALL,
    "ltd ntxent": SMALL | {"objective": "lagrange", "eta": 0.2},
    "ltd dcl": SMALL | {"objective": "dual", "target": "tokens"},
}
REGIONS = ("vsrn", "vse_infty", "cmn")


def trained(name: str, **changed) -> dict[str, list[float]]:
    """Loss and norm of the gradient, before it is clipped, of the first updates of one of ``RUNS``."""
    torch.set_num_threads(1)
    method, loss = name.split(" ", 1)
    data = icrlib.load_dataset("scenes", regions=method in REGIONS, **DATA)
    history = icrlib.train(data, method, loss, progress=False, **COMMON | RUNS[name] | changed).history
    return {what: [entry[what] for entry in history] for what in ("loss", "gradient_norm")}


@pytest.mark.parametrize("name", RUNS)
def test_a_training_begins_as_it_did(name):
    kept, found = json.loads(KEPT.read_text())[name], trained(name)
    assert found["loss"] == pytest.approx(kept["loss"], rel=WITHIN)
    assert found["gradient_norm"] == pytest.approx(
        kept["gradient_norm"], rel=SMOOTHAP if "smoothap" in name else WITHIN
    )


if __name__ == "__main__":
    rows = (f"{json.dumps(name)}: {json.dumps(trained(name))}" for name in RUNS)
    KEPT.write_text("{\n" + ",\n".join(rows) + "\n}\n")

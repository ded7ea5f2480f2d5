"""Made-up records of LTD's objectives, whose log a multiplier wrote."""

from __future__ import annotations

import numpy as np

from icrlib import LagrangeMultiplier
from icrlib.auxiliary.weighing import Fixed


def run_of(
    objective, *, seed=0, target="sbert", eta=0.2, rule="published", losses=None, aux="latent", rsum=300.0, rows=60
):
    """A made-up record whose log a multiplier wrote; the contrastive loss falls from 5 by 0.05 a row."""
    rng = np.random.default_rng(seed)
    rec = np.linspace(0.9, 0.1, rows) + 0.01 * rng.normal(size=rows) if losses is None else np.asarray(losses)
    con = 5 - 0.05 * np.arange(rows)
    weighing = LagrangeMultiplier(eta, rule=rule) if objective == "lagrange" else Fixed(0.7)
    log, columns = [], ["update", "loss"]
    for row in range(rows):
        if objective == "con":
            log.append([20 * (row + 1), con[row]])
            continue
        total = con[row] + float(weighing.penalty(LagrangeMultiplier(1.0).value * rec[row]))
        weighing.step(rec[row])
        log.append([20 * (row + 1), total, con[row], rec[row], *(float(v) for v in weighing.notes().values())])
        columns = ["update", "loss", "contrastive", "reconstruction", *weighing.notes()]
    config = {
        "objective": objective,
        "eta": eta,
        "beta": 0.7,
        "multiplier": rule,
        "seed": seed,
        "method": "ltd",
        "auxiliary": None if objective == "con" else aux,
        "auxiliary_options": {"target": target} if aux == "latent" else {"softmax": "time"},
    }
    history = [{"update": 20 * (k + 1), "val": {"rsum": rsum - 5 + k}} for k in range(5)]
    return {
        "config": config,
        "log": log,
        "log_columns": columns,
        "history": history,
        "test": {"rsum": rsum, "twins": {"swap": 60.0 + seed}},
    }

"""Runs for the decision page, made up, and its functions without a kernel: for the tests of the rule and its words."""

from __future__ import annotations

import copy
import itertools
from pathlib import Path

import numpy as np

from icrlib import records
from icrlib.evidence.decision import Decision
from record_files import answer_with, one

BOOK = Path(__file__).parents[2] / "book"
SCRIPT, NOTEBOOK = BOOK / "training" / "which-loss.py", BOOK / "reproduce" / "run.ipynb"
LOSSES = ("triplet", "triplet_sh", "ntxent", "smoothap", "dcl")
MODELS = ("bow", "vse++", "vsrn")
COST = {"bow": 10.0, "vse++": 110.0, "vsrn": 400.0}  # seconds of 3,000 updates
NOT_YET = (
    "sizes",
    "size_tuning",
    "few",
    "few_tuning",
    "vsrn",
    "vsrn_tuning",
    "batches",
    "batch_tuning",
    "false_negatives",
    "photo_small_own",
    "photo_small_edges",
    "photo_vsrn",
    "photo_vsrn_tuning",
    "photo_length",
    "photo_short",
    "photo_ltd",
    "photo_ltd_more",
    "photo_few_sentences",
)


def without_runs(monkeypatch):
    """Studies by name: those that are not trained yet without runs; a study that is not named has the book's own."""
    studies = {name: [] for name in NOT_YET}
    answer_with(monkeypatch, studies, {"vsrn_sizes": "sizes", "vsrn_size_tuning": "size_tuning"})  # all in one list
    monkeypatch.setenv("ICR_SMOKE", "1")
    return studies


def decide():
    """The rule over the runs of :func:`without_runs`."""
    return Decision(records.find)


def run(model, loss, seed, rsum, *, val=400.0, seconds=None, updates=3000, train=1500, lr=0.003, **config):
    """A real record of a draw with another model, loss and result written into it."""
    record = one("ecir", method="vse++", loss="ntxent" if loss == "dcl" else loss, seed=seed % 10)
    c = record["config"]
    c |= {"method": model, "loss": loss, "seed": seed, "lr": lr, "updates": updates, "data_seed": seed} | config
    c["data_options"] = c["data_options"] | {"seed": seed, "train": train, "regions": model == "vsrn"}
    c["data_hash"] = record["data_hash"] = f"{train} {seed} {model == 'vsrn'}"
    c["model_options"] = {"embed_dim": 96} | ({} if model == "bow" else {"word_dim": 64})
    if loss == "dcl":
        c["loss_options"] = c["loss_options"] | {"denominator": "negatives"}
    record["test"]["rsum"], record["chosen"]["val_rsum"] = float(rsum), val
    record["wall_seconds"] = (COST[model] if seconds is None else seconds) * updates / 3000
    return record


def sizes(made, train=400, rsum=None, models=MODELS, losses=LOSSES, seeds=3, seconds=None):
    """Runs at one size, with known means and seconds, and a search of one rate that chose what they have."""
    wobble = np.random.default_rng(train).normal(0, 0.5, (len(MODELS), len(LOSSES), 10))
    for (m, model), (k, loss) in itertools.product(enumerate(models), enumerate(losses)):
        base = (rsum or {}).get((model, loss), 300.0)
        slow = (seconds or {}).get((model, loss))
        about = {"train": train, "seconds": slow}
        made["sizes"] += [
            run(model, loss, seed, base + wobble[m, k, seed] + 5 * seed, val=base, **about) for seed in range(seeds)
        ]
        made["size_tuning"] += [
            run(model, loss, 100, 1.0, lr=lr, val=400 - 1000 * abs(lr - 0.003), **about) for lr in (0.001, 0.003, 0.01)
        ]


def of_sentences(made, study, like, row, rsum, *, val=300.0, tau=0.05, unit=False, seeds=3):
    """Runs with a sentence encoder: copies of real runs ``like`` them, with other words and results in them.

    ``rsum``: one for each seed, or one number for all; None: as in the real runs, with their ranks.
    """
    loss = "alignment" if row == "fixed" else "ntxent"
    for record in copy.deepcopy(like[:seeds]):
        c = record["config"]
        c |= {
            "method": "sentence",
            "loss": loss,
            "optimiser": "adamp",
            "schedule": "cosine_epoch",
            "drops": [],
            "loss_options": {"queries": "mean", "directions": "mean"} | ({} if row == "fixed" else {"tau": tau}),
            "model_options": {"embed_dim": 384} | ({} if row == "fixed" else {"tuned": True, "caption_norm": unit}),
        }
        c.pop("asked", None)
        record["chosen"] = {"update": 300, "val_rsum": val}
        record["log"] = [[*row[:-1], row[-1] + 1] for row in record["log"]]  # not the same run
        if rsum is not None:  # without ranks: a t-test over seeds
            record["test"] = {"rsum": rsum[c["seed"]] if isinstance(rsum, list) else rsum}
        made[study].append(record)

"""What the authors of LTD recorded while they trained on COCO: λ, reconstruction, contrastive loss, recall.

The numbers are in ``ltd_curves.npz`` beside this file; where they come from, and under which licence, is in
``ltd_curves.md``. There are no seeds: each run was made once.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from icrlib.errors import choose

RECORDS = ("release", "tmlr", "old")
QUANTITIES = ("reconstruction", "lambda", "contrastive", "rsum")
EPOCHS, PER_EPOCH, GAP = 60, 4426, 100  # 566,435 captions in batches of 128; every 100th step of an epoch was written


class Curve(NamedTuple):
    """``steps`` (n,) int64, counted from 0, and ``values`` (n,) float64, rounded to six significant digits."""

    steps: np.ndarray
    values: np.ndarray


def curve(record: str, run: str, quantity: str) -> Curve:
    """One recorded curve; ``ValueError`` where the record does not have it.

    ``record``: ``"release"``, of the LTD paper itself, ``"tmlr"``, of its later version in a journal, with another
    teacher and decoder, or ``"old"``, earlier runs of the first. ``run``: see :func:`runs`. ``quantity``:

    - ``"reconstruction"``, L_rec (1 − cosine) of one batch of 128 captions, and ``"contrastive"``, L_con of that batch;
    - ``"lambda"``, the multiplier *after* the update of that step, clamped to [0, 100];
    - ``"rsum"``: the release logs its best validation recall sum so far, at the end of each epoch: a *running maximum*.

    The first three are written every 100 steps of an epoch of 4,426, and so 2,700 times in 60 epochs.
    """
    choose(run, runs(record), f"run of the record {record!r}")
    choose(quantity, QUANTITIES, "quantity")
    values = _held().get(f"{record}/{run}/{quantity}")
    if values is None:
        there = [name for name in QUANTITIES if f"{record}/{run}/{name}" in _held()]
        raise ValueError(f"{record}/{run} has no {quantity!r}; it has {', '.join(there)}")
    if quantity == "rsum":
        steps = PER_EPOCH * np.arange(1, EPOCHS + 1)
    else:
        steps = (PER_EPOCH * np.arange(EPOCHS)[:, None] + np.arange(0, PER_EPOCH, GAP)).ravel()
    return Curve(steps[: len(values)], values.copy())


def runs(record: str) -> list[str]:
    """The runs of a record: ``lag_0.2`` was trained under the constraint L_rec ≤ 0.2; ``dual``, ``baseline``: no λ."""
    choose(record, RECORDS, "record")
    found = dict.fromkeys(key.split("/")[1] for key in _held() if key.startswith(f"{record}/"))
    return sorted(found, key=lambda run: (eta_of(run) is None, eta_of(run) or 0, run))


def constrained(record: str) -> dict[str, float]:
    """{run: η} of the runs that have a constraint, by rising η."""
    return {run: eta for run in runs(record) if (eta := eta_of(run)) is not None}


def eta_of(run: str) -> float | None:
    """0.2 of ``lag_0.2``; None for a run without a constraint."""
    return float(run.removeprefix("lag_")) if run.startswith("lag_") else None


@cache
def _held() -> dict[str, np.ndarray]:
    """All curves. The file has float32, which tells numbers of six digits apart; those six digits are given back."""
    with np.load(Path(__file__).with_name("ltd_curves.npz"), allow_pickle=False) as held:
        return {name: np.array([float(f"{value:.6g}") for value in held[name]]) for name in held.files}

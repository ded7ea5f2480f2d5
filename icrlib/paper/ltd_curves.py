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
EPOCHS, PER_EPOCH, GAP = 60, 4426, 100  # 566,435 captions in batches of 128; every 100th step of an epoch was written


class Curve(NamedTuple):
    """``steps`` (n,) int64, counted from 0, and ``values`` (n,) float64, rounded to six significant digits."""

    steps: np.ndarray
    values: np.ndarray


def curve(record: str, run: str, quantity: str) -> Curve:
    """One recorded curve; ``ValueError`` where the record does not have it.

    ``record``: ``"release"``, of the LTD paper itself, ``"tmlr"``, of its later version in a journal, with another
    teacher and decoder, or ``"old"``, earlier runs of the first. ``run``: see :func:`constrained`; ``dual`` and
    ``baseline`` have no λ. ``quantity``:

    - ``"reconstruction"``, L_rec (1 − cosine) of one batch of 128 captions, and ``"contrastive"``, L_con of that batch;
    - ``"lambda"``, the multiplier *after* the update of that step, clamped to [0, 100];
    - ``"rsum"``: the release logs its best validation recall sum so far, at the end of each epoch: a *running maximum*.

    The first three are written every 100 steps of an epoch of 4,426, and so 2,700 times in 60 epochs.
    """
    names = [name for name in _held() if name.startswith(f"{record}/")]
    values = _held()[choose(f"{record}/{run}/{quantity}", names or RECORDS, "recorded curve")]
    if quantity == "rsum":
        steps = PER_EPOCH * np.arange(1, EPOCHS + 1)
    else:
        steps = (PER_EPOCH * np.arange(EPOCHS)[:, None] + np.arange(0, PER_EPOCH, GAP)).ravel()
    return Curve(steps[: len(values)], values.copy())


def constrained(record: str) -> dict[str, float]:
    """{run: η} of the runs that have a constraint, by rising η: ``lag_0.2`` was trained under L_rec ≤ 0.2."""
    runs = {name.split("/")[1] for name in _held() if name.startswith(f"{record}/lag_")}
    return dict(sorted(((run, float(run.removeprefix("lag_"))) for run in runs), key=lambda pair: pair[1]))


@cache
def _held() -> dict[str, np.ndarray]:
    """All curves. The file has float32, which tells numbers of six digits apart; those six digits are given back."""
    with np.load(Path(__file__).with_name("ltd_curves.npz"), allow_pickle=False) as held:
        return {name: np.array([float(f"{value:.6g}") for value in held[name]]) for name in held.files}

r"""A multiplier's rule, run again over recorded reconstruction losses: which rule made a recorded λ?

The rule is that of :class:`icrlib.LagrangeMultiplier` (LTD Eqs. 8-9 as released, RF §6.5), without tensors, so that
265,535 steps take a fraction of a second. A replay is *open*: λ moves, but the recorded losses do not answer to it. It
shows which rule made a record, and not what another rule would have made of the training.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.signal import lfilter

from icrlib.errors import choose
from icrlib.paper.ltd_curves import constrained, curve

RULES = ("published", "projected")
ZERO = 1e-6  # a λ at or below this counts as zero
INIT, LR, MOMENTUM, DAMPENING, BOUNDS = 1.0, 5e-3, 0.9, 0.9, (0.0, 100.0)  # as released


class Replay(NamedTuple):
    """λ and the raw x behind it *after* each step, (T,) float64 each. Where x is within the bounds they are equal."""

    value: np.ndarray
    raw: np.ndarray


def replay(losses: np.ndarray, eta: float, rule: str = "published") -> Replay:
    r"""Step a multiplier once for each reconstruction loss (T,).

    .. math:: g_t = L_t/\eta - 1, \quad b_0 = g_0, \quad b_t = m\,b_{t-1} + (1-d)\,g_t, \quad x \leftarrow x + lr\,b_t

    ``"published"``: x runs on beyond the bounds, and only λ is clipped. ``"projected"``: x is put back between them
    after each step.
    """
    slopes = losses / eta - 1
    drive = (1 - DAMPENING) * slopes
    drive[0] = slopes[0]  # the first gradient enters undamped
    moves = LR * lfilter([1.0], [1.0, -MOMENTUM], drive)
    if choose(rule, RULES, "rule") == "published":
        raw = np.cumsum(np.concatenate(([INIT], moves)))[1:]
    else:
        low, high = BOUNDS
        raw, x = np.empty_like(moves), INIT
        for step, move in enumerate(moves.tolist()):
            x = min(max(x + move, low), high)
            raw[step] = x
    return Replay(raw.clip(*BOUNDS), raw)


def every_step(record: str, run: str) -> np.ndarray:
    """L_rec at each step from 0 to the last recorded one, by straight lines between the records, (T,).

    Only one batch in a hundred was recorded, so a sum over steps drifts from the true one.
    """
    steps, values = curve(record, run, "reconstruction")
    return np.interp(np.arange(steps[-1] + 1), steps, values)


def recorded(record: str, run: str, rule: str = "published") -> Replay:
    """The replay of a recorded run at the steps at which its λ was recorded, (n,) each."""
    steps = curve(record, run, "lambda").steps
    whole = replay(every_step(record, run), constrained(record)[run], rule)
    return Replay(whole.value[steps], whole.raw[steps])


class Agreement(NamedTuple):
    """Pearson's correlation of replayed and recorded λ, and the share of records with λ = 0 in each."""

    correlation: float
    zero_recorded: float
    zero: float


def agreement(record: str, run: str, rule: str = "published") -> Agreement:
    """How well a rule explains a recorded λ (RF §6b.2)."""
    theirs, ours = curve(record, run, "lambda").values, recorded(record, run, rule).value
    zero_recorded, zero = (float((values <= ZERO).mean()) for values in (theirs, ours))
    return Agreement(float(np.corrcoef(theirs, ours)[0, 1]), zero_recorded, zero)

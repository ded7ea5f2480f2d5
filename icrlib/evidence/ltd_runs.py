"""Runs of LTD's objectives, from their records: which rule and bound, the curves of Figure 2, intervals over draws."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from icrlib.evidence.intervals import over_pairs
from icrlib.evidence.record_settings import common_draws, seed
from icrlib.paper.replay import ZERO


class Setting(NamedTuple):
    """``objective``: "con", "dual" or "lagrange". What an objective does not use is None.

    ``target``: "sbert", "form", "tokens", or "tokens, softmax over time".
    """

    objective: str
    target: str | None
    eta: float | None = None
    rule: str | None = None


class Interval(NamedTuple):
    """A mean over draws and its 95 % t-interval; ``low`` and ``high`` are None for a single draw."""

    mean: float
    low: float | None
    high: float | None
    n: int

    def __str__(self) -> str:
        if self.low is None:
            return f"{self.mean:.1f} (one draw)"
        return f"{self.mean:.1f} [{self.low:.1f}, {self.high:.1f}]"


def setting(record: Mapping) -> Setting:
    """What a record's run minimised."""
    config = record["config"]
    if config["objective"] == "con":
        return Setting("con", None)
    options = config.get("auxiliary_options") or {}
    target = options.get("target", config["auxiliary"])
    if options.get("softmax") == "time":  # the published one is another loss than that over the vocabulary
        target += ", softmax over time"
    if config["objective"] == "dual":
        return Setting("dual", target)
    return Setting("lagrange", target, config["eta"], config["multiplier"])


def grouped(records: Iterable[Mapping]) -> dict[Setting, list[Mapping]]:
    """{setting: its runs by rising seed}; ``ValueError`` for two runs with one setting and seed."""
    groups: dict[Setting, list[Mapping]] = {}
    for record in records:
        groups.setdefault(setting(record), []).append(record)
    for which, group in groups.items():
        group.sort(key=seed)
        seeds = [seed(record) for record in group]
        if len(set(seeds)) < len(seeds):
            raise ValueError(f"several runs with one seed for {which}: seeds {seeds}; select some of them")
    return groups


def both_rules(records: Iterable[Mapping]) -> dict[tuple[str, float], dict[str, list[Mapping]]]:
    """{(target, η): {"published": runs, "projected": runs}}, with the draws that both have, where there are any."""
    groups, found = grouped(records), {}
    for which in groups:
        rules = {
            rule: groups.get(Setting("lagrange", which.target, which.eta, rule), [])
            for rule in ("published", "projected")
        }
        shared = common_draws(rules)
        if which.objective == "lagrange" and shared["published"]:
            found[which.target, which.eta] = shared
    return found


def curves(record: Mapping) -> dict[str, np.ndarray]:
    """A run's log by column, (rows,) each; without an auxiliary the loss is the contrastive one."""
    found = {
        name: np.array(column, dtype=float)
        for name, column in zip(record["log_columns"], zip(*record["log"], strict=True), strict=True)
    }
    return {"contrastive": found["loss"]} | found


def asleep(record: Mapping) -> tuple[float, float]:
    """(share of the logged updates with λ = 0, share with λ = 0 although that batch's reconstruction is above η)."""
    found, which = curves(record), setting(record)
    zero = found["lambda"] <= ZERO
    return float(zero.mean()), float((zero & (found["reconstruction"] > which.eta)).mean())


def interval(values: Sequence[float], others: Sequence[float] | float = 0.0) -> Interval:
    """The mean of ``values``, less ``others`` draw by draw, with its interval."""
    values, others = np.asarray(values, dtype=float), np.asarray(others, dtype=float)
    estimate = over_pairs(values, others, "draws")
    low, high = estimate.interval(0.95) if estimate.se is not None else (None, None)
    return Interval(estimate.mean, low, high, estimate.n)

"""What the last updates of a training were like."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from icrlib.score_checks import NonFiniteScores
from icrlib.training.config import Config

LOGGED = 150  # how many updates of a run leave their loss in the log


class RunningLog:
    """What the updates since the last evaluation were like, read from the device once an evaluation.

    On a CPU, where nobody waits, NaN is seen in its own update; on a GPU at the next evaluation, before anything of
    it is kept.
    """

    def __init__(self, config: Config) -> None:
        self.at_once, self.every = config.device == "cpu", max(1, config.updates // LOGGED)
        self.clip = config.grad_clip or math.inf
        self.update, self.rate = 0, 0.0
        self.updates: list[int] = []
        self.values: list[list[Tensor]] = []
        self.norms: list[Tensor] = []
        self.extras: list[dict[str, Tensor]] = []
        self.may_overflow = False

    def start(self, update: int, rate: float) -> None:
        """A new update begins, at this learning rate."""
        self.update, self.rate = update, rate
        self.values.append([])

    def add(self, value: Tensor) -> None:
        """The loss of one of its batches."""
        self.values[-1].append(value.detach())

    def end(self, norm: Tensor, extra: dict[str, Tensor], may_overflow: bool) -> None:
        """It is done: the gradient's norm before clipping, and what the criterion says of itself."""
        self.may_overflow = may_overflow
        self.updates.append(self.update)
        self.norms.append(norm.detach())
        self.extras.append(extra)
        if self.at_once:
            self._check(sum(v.item() for v in self.values[-1]), norm.item())

    def summary(self, log: list[list]) -> dict:
        """The history's line on these updates; every so many of them go to the ``log``, one by one."""
        values = [sum(part) for part in _numbers(self.values)]
        norms = torch.stack(self.norms).tolist()
        for update, value, norm in zip(self.updates, values, norms, strict=True):
            self.update = update  # named in the message, if this is where numbers end
            self._check(value, norm)
        extras = {name: torch.stack([e[name] for e in self.extras]).tolist() for name in self.extras[-1]}
        for place, (update, value) in enumerate(zip(self.updates, values, strict=True)):
            if (update + 1) % self.every == 0:
                log.append([update + 1, value, *(extra[place] for extra in extras.values())])
        entry = {
            "update": self.update + 1,
            "loss": sum(values) / len(values),
            "lr": self.rate,
            "gradient_norm": norms[-1],
            "clipped": sum(n > self.clip for n in norms) / len(norms),
        }
        entry |= {name: sum(extra) / len(extra) if name != "lambda" else extra[-1] for name, extra in extras.items()}
        self.updates, self.values, self.norms, self.extras = [], [], [], []
        return entry

    def _check(self, value: float, norm: float) -> None:
        # Under loss scaling an overflow is expected now and then: the scaler skips that step and lowers its scale.
        if not (math.isfinite(norm) or self.may_overflow) or not math.isfinite(value):
            raise NonFiniteScores(f"the loss is {value} and its gradient's norm {norm}")


def _numbers(values: list[list[Tensor]]) -> list[list[float]]:
    flat = iter(torch.stack([v for part in values for v in part]).tolist())
    return [[next(flat) for _ in part] for part in values]

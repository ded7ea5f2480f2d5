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
        self.value: Tensor | float = 0.0  # of the present update
        self.names: list[str] = []  # of what the criterion says
        self.rows: list[tuple[Tensor, ...]] = []  # one an update: value, norm, and what the criterion says
        self.may_overflow = False

    def start(self, update: int, rate: float) -> None:
        """A new update begins, at this learning rate."""
        self.update, self.rate, self.value = update, rate, 0.0

    def add(self, value: Tensor) -> None:
        """The loss of one of its batches."""
        self.value = self.value + value.detach().double()

    def end(self, norm: Tensor, extra: dict[str, Tensor], may_overflow: bool) -> None:
        """It is done: the gradient's norm before clipping, and what the criterion says of itself."""
        self.may_overflow = may_overflow
        self.names = list(extra)
        self.rows.append((self.value, norm.detach(), *extra.values()))
        if self.at_once:
            self._check(self.value.item(), norm.item())

    def summary(self, log: list[list]) -> dict:
        """The history's line on these updates; every so many of them go to the ``log``, one by one."""
        columns = [torch.stack(column).tolist() for column in zip(*self.rows, strict=True)]
        values, norms, *extras = columns
        for update, (value, norm, *more) in enumerate(zip(*columns, strict=True), self.update + 1 - len(values)):
            self.update = update  # named in the message, if this is where numbers end
            self._check(value, norm)
            if (update + 1) % self.every == 0:
                log.append([update + 1, value, *more])
        entry = {
            "update": self.update + 1,
            "loss": sum(values) / len(values),
            "lr": self.rate,
            "gradient_norm": norms[-1],
            "clipped": sum(n > self.clip for n in norms) / len(norms),
        }
        for name, extra in zip(self.names, extras, strict=True):
            entry[name] = extra[-1] if name == "lambda" else sum(extra) / len(extra)
        self.rows = []
        return entry

    def _check(self, value: float, norm: float) -> None:
        # Under loss scaling an overflow is expected now and then: the scaler skips that step and lowers its scale.
        if not (math.isfinite(norm) or self.may_overflow) or not math.isfinite(value):
            raise NonFiniteScores(f"the loss is {value} and its gradient's norm {norm}")

"""Stochastic weight averaging as LTD's release does it: once an epoch, over snapshots from its last part (RF §6.7)."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor


def snapshots(per_epoch: int, start: float, times: int) -> set[int]:
    """After which updates of an epoch, counted from 1, a snapshot is taken.

    Those beyond ``int(start · n)`` that are multiples of ``int((1 - start) · n / times)``. ``ValueError`` where they
    would follow each other without an update between.
    """
    first, every = int(start * per_epoch), int((1 - start) * per_epoch / times)
    if every < 2:
        raise ValueError(
            f"average='swa': the last {per_epoch - first} of the {per_epoch} updates of an epoch are too few for "
            f"{times} snapshots with an update between; take fewer (average_times=) or begin earlier (average_from=)"
        )
    return {update for update in range(first + 1, per_epoch + 1) if update % every == 0}


class Average:
    """The mean of an epoch's snapshots. At the epoch's end the weights become that mean, and training goes on from it.

    All that an optimiser moves is averaged, an auxiliary's weights too; moments, batch statistics and a multiplier are
    not, as released. Runs are evaluated and kept at ends of epochs, where nothing is left to be averaged.
    """

    def __init__(self, parameters: Iterable[torch.nn.Parameter], per_epoch: int, start: float, times: int) -> None:
        self.parameters, self.per_epoch = list(parameters), per_epoch
        self.when, self.count = snapshots(per_epoch, start, times), 0
        self.means: list[Tensor] = [torch.zeros_like(p) for p in self.parameters]

    @torch.no_grad()
    def stepped(self, update: int) -> None:
        """After ``update`` (counted from 0): take a snapshot where one is due; at the end of the epoch, move there."""
        place = update % self.per_epoch + 1
        if place in self.when:
            self.count += 1
            torch._foreach_lerp_(self.means, self.parameters, 1 / self.count)
        if place == self.per_epoch and self.count:
            torch._foreach_copy_(self.parameters, self.means)
            self.count = 0

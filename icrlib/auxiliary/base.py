"""The criterion: what one batch contributes to the objective that is minimised."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from icrlib.auxiliary.weighing import Fixed, LagrangeMultiplier
from icrlib.losses.base import Loss
from icrlib.losses.triplet import Triplet

SHARPEST = math.log(100.0)  # CLIP keeps its learned scale at 100 or below (Radford et al. 2021)


@dataclass(frozen=True)
class Step:
    """One batch on its way through the model; all that a loss or an auxiliary may look at.

    ``update`` counts from 0. ``batch``: which ``images`` and ``captions`` of the split, and which belong together.
    ``numbers`` (M, L), ``lengths`` (M,): the captions' words as the model saw them. ``images``, ``captions``: their
    encodings. ``scores`` (B, M), ``positives`` (B, M) bool. ``tau``: the temperature as it is now, where it is learned.
    """

    update: int
    batch: Any
    numbers: Tensor
    lengths: Tensor
    images: Any
    captions: Any
    scores: Tensor
    positives: Tensor
    tau: Tensor | None = None


class Auxiliary(nn.Module):
    """A second objective beside the loss: a decoder, a matching head. One file each.

    Its parameters are trained with the model's. ``name`` is what the history calls its value.
    """

    name = "auxiliary"

    def prepare(self, data: Any, model: nn.Module) -> None:
        """Once, before the optimiser is made: targets of the training captions, layers whose size follows from them."""

    def about(self) -> dict:
        """What a record is to say of the targets: plain JSON values."""
        return {}

    def forward(self, step: Step) -> Tensor:
        """The value of this batch, a scalar."""
        raise TypeError(f"{type(self).__name__} must define forward(step)")


class Criterion(nn.Module):
    """A loss, Triplet in its place for the first ``warmup`` updates, and at most one auxiliary, weighed.

    ``learn``: which of the loss's ``tau`` and ``bias`` are parameters. They are learned as :math:`t = -\\log\\tau` and
    b, from the loss's own values on, within the clipped norm and without weight decay; :math:`e^t` is 100 at most.
    """

    def __init__(
        self,
        loss: Loss,
        *,
        warmup: int = 0,
        auxiliary: Auxiliary | None = None,
        weighing: Fixed | LagrangeMultiplier | None = None,
        learn: tuple[str, ...] = (),
    ) -> None:
        super().__init__()
        self.loss, self.first, self.warmup = loss, Triplet(), warmup
        self.auxiliary, self.weighing = auxiliary, weighing
        self.log_scale = nn.Parameter(torch.tensor(-math.log(loss.tau))) if "tau" in learn else None
        self.bias = nn.Parameter(torch.tensor(float(loss.bias))) if "bias" in learn else None
        self.scalars = [p for p in (self.log_scale, self.bias) if p is not None]
        self._values: list[Tensor] = []  # (2,) of the loss and the auxiliary, one a batch of the present update
        self._update = 0

    def forward(self, step: Step) -> Tensor:
        """The objective of one batch, a scalar."""
        self._update = step.update
        if step.update < self.warmup:
            value = self.first(step.scores, step.positives)
        elif self.log_scale is not None:
            value = self.loss.sharpened(step.scores, step.positives, self.log_scale, self.bias)
        else:
            value = self.loss(step.scores, step.positives)
        if self.auxiliary is None:
            return value
        extra = self.auxiliary(step if self.log_scale is None else replace(step, tau=(-self.log_scale).exp().detach()))
        self._values.append(torch.stack([value.detach(), extra.detach()]))
        return value + self.weighing.penalty(extra)

    def loss_at(self, update: int) -> Loss:
        """The loss of that update: what counts, diagnosis and the constant of a collapse look at, too."""
        if update < self.warmup:
            return self.first
        return self.loss if self.log_scale is None else self.loss.at(self.log_scale, self.bias)

    @torch.no_grad()
    def stepped(self) -> dict[str, Tensor]:
        """After each update; returns what it was, as tensors that nobody waits for, where there is an auxiliary: the
        mean values of the loss alone ("contrastive") and of the auxiliary, and λ.

        The multiplier moves by the mean over the accumulated batches, also where mixed precision skipped the model's
        step, as LTD's release does (RF §6.5). It rests during the warm-up.
        """
        if self.log_scale is not None:
            self.log_scale.clamp_(max=SHARPEST)
        if self.auxiliary is None:
            return {}
        loss, extra = torch.stack(self._values).mean(0)
        self._values = []
        if self._update >= self.warmup:
            self.weighing.step(extra)
        return {"contrastive": loss, self.auxiliary.name: extra, **self.weighing.notes()}

    def notes(self) -> dict[str, float]:
        """What was learned, as it is now: the history shows it."""
        tau = {} if self.log_scale is None else {"tau": (-self.log_scale).exp().item()}
        return tau if self.bias is None else tau | {"bias": self.bias.item()}

    def parameter_groups(self, lr: float) -> list[dict]:
        """What an optimiser takes: the auxiliary's weights, and the loss's scalars, which never decay."""
        weights = [] if self.auxiliary is None else list(self.auxiliary.parameters())
        groups = [{"params": weights, "base": lr}, {"params": self.scalars, "base": lr, "weight_decay": 0.0}]
        return [group for group in groups if group["params"]]

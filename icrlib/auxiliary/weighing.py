r"""How much an auxiliary objective counts beside the loss: a fixed factor, or a Lagrange multiplier that moves."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from icrlib.errors import choose

RULES = ("published", "projected")


class Fixed(nn.Module):
    r"""A fixed weight: the loss plus :math:`\beta` times the auxiliary's value (LTD's "dual": :math:`\beta = 1`)."""

    def __init__(self, beta: float = 1.0) -> None:
        super().__init__()
        self.beta = float(beta)

    def penalty(self, value: Tensor) -> Tensor:
        """What is added to the loss."""
        return self.beta * value

    def step(self, value: Tensor | float) -> None:
        """Nothing moves."""

    def notes(self) -> dict[str, Tensor]:
        """Nothing to tell."""
        return {}


class LagrangeMultiplier(nn.Module):
    r"""A multiplier :math:`\lambda` that rises while a constraint :math:`v \le \eta` is violated (LTD Eqs. 8-9).

    The loss becomes :math:`L + \lambda (v/\eta - 1)`, minimised by the model and maximised by :math:`\lambda`, which
    does gradient ascent with momentum on its own derivative :math:`g = v/\eta - 1`, as LTD's release does (RF §6.5,
    torch's SGD: the first gradient enters undamped):

    .. math:: b_0 = g_0, \quad b_t = m\, b_{t-1} + (1 - d)\, g_t, \quad x \leftarrow x + \text{lr} \cdot b_t,
              \quad \lambda = \text{clip}(x).

    ``eta`` :math:`\eta`; ``init``: the first x; ``momentum`` m and ``dampening`` d; ``bounds`` of :math:`\lambda`.
    ``rule="published"``: only :math:`\lambda` is clipped, where it is used, and x runs on beyond the bounds, so that a
    constraint met for long must be violated for long before :math:`\lambda` leaves 0. ``"projected"``: x itself is put
    back between the bounds after each step, and the momentum is kept. Numbers are float64.

    >>> multiplier = LagrangeMultiplier(eta=0.2)
    >>> multiplier.step(0.4)
    >>> round(float(multiplier.value), 6)
    1.005
    """

    def __init__(
        self,
        eta: float,
        init: float = 1.0,
        lr: float = 5e-3,
        momentum: float = 0.9,
        dampening: float = 0.9,
        bounds: tuple[float, float] = (0.0, 100.0),
        rule: str = "published",
    ) -> None:
        super().__init__()
        if not (math.isfinite(eta) and eta > 0):
            raise ValueError(f"eta must be a positive number, the bound of the constraint; got {eta!r}")
        self.eta, self.lr, self.momentum, self.dampening = float(eta), lr, momentum, dampening
        self.bounds, self.rule = bounds, choose(rule, RULES, "rule of the multiplier")
        self.register_buffer("raw", torch.tensor(float(init), dtype=torch.float64))
        self.register_buffer("velocity", torch.zeros((), dtype=torch.float64))
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))

    @property
    def value(self) -> Tensor:
        """The λ that the next loss uses, () float64."""
        return self.raw.clamp(*self.bounds)

    def penalty(self, value: Tensor) -> Tensor:
        """What is added to the loss: λ·(value/η − 1), with λ held constant."""
        return self.value.to(value.dtype) * (value / self.eta - 1)

    @torch.no_grad()
    def step(self, value: Tensor | float) -> None:
        """Move λ by the auxiliary's ``value`` of this update; without waiting for a GPU."""
        slope = torch.as_tensor(value, dtype=torch.float64, device=self.raw.device).detach() / self.eta - 1
        damped = self.momentum * self.velocity + (1 - self.dampening) * slope
        self.velocity.copy_(torch.where(self.steps == 0, slope, damped))
        self.raw.add_(self.velocity, alpha=self.lr)
        if self.rule == "projected":
            self.raw.clamp_(*self.bounds)
        self.steps.add_(1)

    def notes(self) -> dict[str, Tensor]:
        """λ as it is now, after the last step."""
        return {"lambda": self.value.clone()}

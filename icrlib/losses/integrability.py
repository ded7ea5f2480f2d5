r"""Is a designed gradient the gradient of anything? Two tests that a conservative field must pass.

A field F on scores is the gradient of some loss exactly if no closed loop gains anything, :math:`\oint F \cdot ds = 0`.
Where F is smooth this means that its Jacobian is symmetric. The second test alone is not enough: a step (a hinge, an
argmax) times a weight has a symmetric Jacobian almost everywhere and may still gain along a loop that crosses the step.

A field here is a function from points (K, D) to vectors (K, D), float64. :func:`plane` and :func:`matrix` make
them from any loss; :func:`integrability` runs both tests.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from icrlib.errors import choose
from icrlib.losses.base import Loss, lay_out
from icrlib.losses.goal import GradientObjective

Field = Callable[[Tensor], Tensor]
WHERE = ("plane", "one direction", "both directions")
LIMIT = 1e-6  # both measures of a conservative field stay orders of magnitude below, of any other one above
# Gauss-Lobatto, exact to degree 7. It looks at both ends of a panel: a jump cannot hide between end and first node.
_NODES = torch.tensor([-1, -math.sqrt(3 / 7), 0, math.sqrt(3 / 7), 1], dtype=torch.float64)
_WEIGHTS = torch.tensor([1 / 10, 49 / 90, 32 / 45, 49 / 90, 1 / 10], dtype=torch.float64)


@dataclass(frozen=True)
class Integrability:
    """``asymmetry``: largest entry of J - Jᵀ over the largest of J, at random points off the kinks; on the plane the
    largest curl, without its sign.

    ``loop``: the largest loop integral over random loops, without its sign. ``conservative``: both vanish.
    """

    where: str
    asymmetry: float
    loop: float

    @property
    def conservative(self) -> bool:
        """Whether some loss could have this gradient, as far as these points and loops tell."""
        return self.asymmetry < LIMIT and self.loop < LIMIT


def integrability(
    objective: Loss,
    where: str = "plane",
    *,
    relative: tuple = (None, None),
    loops: int = 24,
    points: int = 64,
    size: int = 4,
    seed: int = 0,
) -> Integrability:
    """Both tests on one of three spaces: ``"plane"``, one positive and one negative score, relative terms held at
    ``relative``; ``"one direction"``, a whole ``size`` × ``size`` score matrix with rows as queries and relative terms
    that follow the scores; ``"both directions"``, the same with the columns' gradient added, as in training.

    Points and loops follow from ``seed``. Loops are large enough to cross hinges and changes of the hardest negative.
    ``ValueError`` for another ``where``.

    >>> integrability(GradientObjective("cir", "lin")).conservative
    True
    """
    choose(where, WHERE, "space")
    generator = torch.Generator().manual_seed(seed)

    def uniform(*shape: int) -> Tensor:
        return torch.rand(*shape, generator=generator, dtype=torch.float64)

    if where == "plane":
        field, dimensions = plane(objective, relative), 2
    else:
        own = torch.eye(size, dtype=torch.bool)
        field, dimensions = matrix(objective, own, both=where == "both directions"), size * size
    wrong = asymmetry(field, uniform(points, dimensions) * 1.2 - 0.2, scaled=where != "plane")
    # A field that failed the first test needs no exact loops; one that passed does, down to rounding.
    tolerance, gains = (1e-9 if wrong < LIMIT else 1e-5), []
    for _ in range(loops):
        # A rectangle in a random plane through a random point, with sides of 0.2 to 0.8.
        sides = torch.linalg.qr(uniform(dimensions, 2) - 0.5).Q.T * (0.2 + 0.6 * uniform(2, 1))
        corner = uniform(dimensions) - sides.sum(0) / 2
        corners = torch.stack([corner, corner + sides[0], corner + sides.sum(0), corner + sides[1]])
        gains.append(abs(loop_integral(field, corners, tolerance)))
    return Integrability(where, wrong, max(gains))


def plane(objective: Loss, relative: tuple = (None, None)) -> Field:
    r"""The field on :math:`(s^+, s^-)`: :math:`(-w^+, w^-)`, relative terms held at ``relative``; D = 2."""
    if isinstance(objective, GradientObjective):

        def designed(points: Tensor) -> Tensor:
            plus, minus = objective.on_plane(points[:, :1], points[:, 1:], relative)
            return torch.cat([-plus, minus], 1)

        return designed
    return matrix(objective, torch.tensor([[True, False]]), both=False)


def matrix(objective: Loss, positives: Tensor, *, both: bool = True) -> Field:
    """The field on whole score matrices, flattened (K, Q·M): rows as queries, and with ``both`` columns too."""

    def one_way(scores: Tensor, mask: Tensor) -> Tensor:
        query, positive = mask.nonzero(as_tuple=True)

        def weights(single: Tensor) -> Tensor:  # as Loss.weights, for many matrices at a time
            pairs = lay_out(single, mask, query, positive)
            total = torch.zeros_like(single).index_add(0, query, objective.term_weights(pairs))
            return total / mask.sum(1, keepdim=True)

        with warnings.catch_warnings():  # scatter_ has no batching rule; vmap loops over it, and says so
            warnings.filterwarnings("ignore", "There is a performance drop")
            return torch.vmap(weights)(scores)

    def field(points: Tensor) -> Tensor:
        scores = points.reshape(-1, *positives.shape)
        total = one_way(scores, positives)
        if both:
            total = total + one_way(scores.mT, positives.T).mT
        return total.reshape(len(points), -1)

    return field


def asymmetry(field: Field, points: Tensor, *, scaled: bool = True, step: float = 1e-5) -> float:
    """Largest entry of J - Jᵀ over ``points`` (K, D), by central differences; ``scaled`` divides by the largest of J.

    A point next to a kink, where two step lengths disagree, is left out.
    """
    largest, scale = 0.0, 0.0
    for point in points:
        jacobian, finer = (_jacobian(field, point, h) for h in (step, step / 4))
        if (jacobian - finer).abs().max() > 1e-4 * max(1.0, float(finer.abs().max())):
            continue
        largest = max(largest, float((jacobian - jacobian.T).abs().max()))
        scale = max(scale, float(jacobian.abs().max()))
    return largest / max(scale, 1e-12) if scaled and scale else largest


def _jacobian(field: Field, point: Tensor, step: float) -> Tensor:
    moves = step * torch.eye(len(point), dtype=torch.float64)
    return ((field(point + moves) - field(point - moves)) / (2 * step)).T


def loop_integral(field: Field, corners: Tensor, tolerance: float = 1e-9) -> float:
    """The integral of ``field`` along the closed polygon through ``corners`` (L, D), in their order."""
    ends = corners.roll(-1, 0)
    return sum(line_integral(field, a, b, tolerance) for a, b in zip(corners, ends, strict=True))


def line_integral(field: Field, start: Tensor, end: Tensor, tolerance: float = 1e-9) -> float:
    """The integral of ``field`` from ``start`` to ``end`` (D,), by Gauss-Lobatto panels that halve where they must.

    A jump is enclosed by ever smaller panels until what it can still contribute is below ``tolerance``.
    """
    total = 0.0
    left, width = torch.linspace(0, 1, 9, dtype=torch.float64)[:-1], 1 / 8
    whole = _panels(field, start, end, left, width)
    while len(left):
        width /= 2
        halves = torch.stack([left, left + width], 1)
        parts = _panels(field, start, end, halves.flatten(), width).reshape(-1, 2)
        done = ((parts.sum(1) - whole).abs() < tolerance / 8) | torch.tensor(width < 1e-13)
        total += float(parts[done].sum())
        left, whole = halves[~done].flatten(), parts[~done].flatten()
    return total


def _panels(field: Field, start: Tensor, end: Tensor, left: Tensor, width: float) -> Tensor:
    """Gauss-Lobatto estimates of the integral over [left, left + width] of the segment, one a panel."""
    where = left[:, None] + width * (_NODES + 1) / 2
    points = start + where.reshape(-1, 1) * (end - start)
    along = (field(points) * (end - start)).sum(1).reshape(where.shape)
    return (along * _WEIGHTS).sum(1) * width / 2

r"""Check a closed form in two other ways: by autograd, and by differences that know no calculus at all.

Every derivation of the book ends with ``agreement(weights, loss, scores)``. Here ``loss(scores)`` maps a matrix (Q, M)
to one number a row (Q,), and ``weights`` (Q, M) claims to be :math:`\partial \ell_q / \partial s_{qj}`.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

PerQuery = Callable[[Tensor], Tensor]


def by_autograd(loss: PerQuery, scores: Tensor) -> Tensor:
    """d ``loss(scores)[q]`` / d ``scores[q, j]`` by PyTorch, (Q, M)."""
    scores = scores.detach().clone().requires_grad_()
    rows = [torch.autograd.grad(value, scores, retain_graph=True)[0][q] for q, value in enumerate(loss(scores))]
    return torch.stack(rows)


def by_differences(loss: PerQuery, scores: Tensor, step: float = 1e-6) -> Tensor:
    """The same by central differences (Q, M): only calls ``loss``. Meaningful off hinges and ties alone."""
    slopes = torch.empty_like(scores)
    with torch.no_grad():
        for j in range(scores.shape[1]):
            move = torch.zeros_like(scores)
            move[:, j] = step
            slopes[:, j] = (loss(scores + move) - loss(scores - move)) / (2 * step)
    return slopes


def agreement(weights: Tensor, loss: PerQuery, scores: Tensor) -> dict[str, float]:
    """Largest differences of ``weights`` from both: "autograd" absolute, "differences" relative to the largest slope.

    ``ValueError`` unless ``scores`` are float64: in single precision neither number says much.
    """
    if scores.dtype != torch.float64:
        raise ValueError(f"agreement needs float64 scores; got {scores.dtype}. Use scores.double().")
    slopes = by_differences(loss, scores)
    return {
        "autograd": float((weights - by_autograd(loss, scores)).abs().max()),
        "differences": float((weights - slopes).abs().max() / slopes.abs().max().clamp_min(1e-12)),
    }

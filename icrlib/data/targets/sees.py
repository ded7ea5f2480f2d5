"""What a teacher sees, before anything learns from it."""

from __future__ import annotations

from torch import Tensor


def floor(vectors: Tensor) -> float:
    """Mean 1 - cos of target vectors (C, d), rows of length 1, to the best constant vector.

    That constant is the direction of their mean m, so the value is 1 - ||m||: what a decoder reaches that ignores the
    caption. An η above it asks for nothing.
    """
    return 1 - float(vectors.double().mean(0).norm())

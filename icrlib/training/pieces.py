"""A batch larger than memory: its encoders run piece by piece, its score matrix is one (GradCache, Gao et al. 2021).

Nothing that an encoder computes on the way is kept. When the gradient of the scores is known, each piece is encoded
again, with the same dice, and passes its part of it on: one more forward pass, for the memory of one piece.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.utils.checkpoint import checkpoint

from icrlib.models.base import Encodings, join


def in_pieces(encode: Callable[..., Encodings], count: int, *given: Any) -> Encodings:
    """What ``encode`` makes of the rows of ``given`` (tensors, or regions with lengths), ``count`` pieces one by one.

    Equal to ``encode(*given)``, gradients included, for whatever encodes each row by itself; the last piece may be
    smaller. ``count=1`` keeps everything, as usual.
    """
    if count == 1:
        return encode(*given)
    size = -(-len(given[0]) // count)
    pieces = zip(*(part.split(size) for part in given), strict=True)
    return join([checkpoint(encode, *piece, use_reentrant=False) for piece in pieces])


def check_pieces(model: nn.Module, count: int, batch_size: int) -> None:
    """``ValueError`` where pieces would not make what the whole batch makes: ``model`` as it is in training."""
    if count > batch_size:
        raise ValueError(f"batch_parts={count} are more pieces than batch_size={batch_size} has rows")
    normed = [name for name, part in model.named_modules() if isinstance(part, _BatchNorm) and part.training]
    if count > 1 and normed:
        way_out = (
            "batch_norm='eval' leaves those of the network for photos as they were stored, or "
            if (hasattr(model, "backbone"))
            else ""
        )
        raise ValueError(
            f"batch_parts={count}: batch normalisation ({', '.join(normed[:3])}{', …' * (len(normed) > 3)}) would take "
            f"the statistics of a piece and not of the batch; {way_out}take batch_parts=1, or a method without it"
        )

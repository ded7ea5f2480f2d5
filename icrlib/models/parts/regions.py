"""Regions as models are given them: all of an image, or padded, with how many each image has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from icrlib.models.parts.pool import beyond
from icrlib.names import METHODS


def regions_of(features: Any, size: int) -> tuple[Tensor, Tensor | None]:
    """Regions (B, N, ``size``), 0 where there is padding, and how many of them each image has, (B,): None for all.

    ``features``: a tensor, or ``values`` and ``lengths``, as :class:`icrlib.data.regions.Regions` and
    :class:`icrlib.models.Sequences` have them.
    """
    if isinstance(features, Tensor):
        check_regions(features, size)
        return features, None
    values, lengths = features.values, features.lengths
    check_regions(values, size)
    return values.masked_fill(beyond(values, lengths), 0), lengths


def counts_of(regions: Tensor, lengths: Tensor | None) -> Tensor:
    """How many regions each image has, also where that is all of them."""
    return torch.full((len(regions),), regions.shape[1], device=regions.device) if lengths is None else lengths


def of_rows(layer: Callable[[Tensor], Tensor], regions: Tensor, lengths: Tensor | None) -> Tensor:
    """What a ``layer`` (T, D) -> (T, d) makes of the regions (B, N, D), as if no padding were among them: there 0."""
    if lengths is None:
        return layer(regions.flatten(0, 1)).view(*regions.shape[:2], -1)
    there = ~beyond(regions, lengths)
    found = layer(regions[there[..., 0]])
    return found.new_zeros(*regions.shape[:2], found.shape[1]).masked_scatter(there, found)


def check_lengths(kind: type, features: Any) -> None:
    """``ValueError`` where images have unequally many regions, and a model of this ``kind`` would count padding."""
    if not hasattr(features, "lengths") or kind.takes == "regions":
        return
    others = ", ".join(name for name in METHODS if METHODS[name].takes == "regions")
    raise ValueError(
        f"{kind.__name__} cannot tell regions from padding, and the images here have unequally many (…_lens.npy); take "
        f"one of {others}, or features with one vector an image, such as the mean of its regions"
    )


def check_regions(features: Tensor, size: int) -> None:
    """Refuse what is not (images, regions, ``size``), and say where regions come from."""
    if features.ndim != 3 or not features.shape[1] or features.shape[2] != size:
        raise ValueError(
            f"image features {tuple(features.shape)}: this model takes (images, regions, {size}); regions come from "
            "load_dataset('scenes', regions=True), or of photos from icr features PHOTOS FOLDER --regions 4"
        )

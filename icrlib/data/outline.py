"""What is known of a data set before it is drawn or read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Outline:
    """``images`` of each split; ``shape`` of one image's features; whether the data holds ``pictures``; the others are
    those of :class:`icrlib.data.splits.Dataset`."""

    images: Mapping[str, int]
    shape: tuple[int, ...]
    pictures: bool = False
    options: Mapping = field(default_factory=dict)
    defaults: Mapping = field(default_factory=dict)
    tuned: Mapping = field(default_factory=dict)
    foils: bool = False


def photos_shape(regions: bool) -> tuple[int, ...]:
    """Of features as published: one vector of a photo, or SCAN's 36 regions."""
    return (36, 2048) if regions else (2048,)

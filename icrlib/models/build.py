"""A model by the name of its method."""

from __future__ import annotations

import inspect

from torch import nn

from icrlib.models.base import RetrievalModel
from icrlib.models.on_pictures import OnPictures
from icrlib.names import METHODS

FROM_DATA = ("feature_dim", "words")  # sizes that follow from the data and are nobody's choice


def options_of(method: str) -> list[str]:
    """The options a method's model takes, beyond the sizes that follow from the data."""
    return [name for name in inspect.signature(METHODS.find(method)).parameters if name not in FROM_DATA]


def build(
    method: str,
    feature_dim: int,
    words: int,
    *,
    network: nn.Module | None = None,
    backbone: str = "",
    batch_norm: str = "train",
    **options,
) -> RetrievalModel:
    """A new model of ``method`` for features of ``feature_dim`` and a vocabulary of ``words`` words.

    With a ``network``, (B, 3, H, W) -> (B, D, h, w), one for pictures (:class:`icrlib.models.OnPictures`);
    ``backbone`` is the name that :func:`icrlib.data.backbones.load` knows it by.
    """
    inner = METHODS.find(method)(feature_dim=feature_dim, words=words, **options)
    return inner if network is None else OnPictures(inner, network, backbone, batch_norm)

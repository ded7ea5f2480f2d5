"""Models: encoders that map a batch of images or captions to unit vectors. Nothing here knows about training."""

from __future__ import annotations

import inspect

from icrlib.errors import choose
from icrlib.models.base import RetrievalModel
from icrlib.models.bow import BagOfWords
from icrlib.models.on_pictures import MODES, OnPictures
from icrlib.models.vse import VSE

__all__ = ["METHODS", "MODES", "BagOfWords", "OnPictures", "RetrievalModel", "VSE", "build", "options_of"]

METHODS = {"vse++": VSE, "bow": BagOfWords}


def options_of(method: str) -> list[str]:
    """The options a method's model takes, beyond the sizes that follow from the data."""
    kind = METHODS[choose(method, METHODS, "method")]
    return [name for name in inspect.signature(kind).parameters if name not in ("feature_dim", "words")]


def build(
    method: str, feature_dim: int, words: int, *, backbone: str | None = None, batch_norm: str = "train", **options
) -> RetrievalModel:
    """A new model of ``method`` for features of ``feature_dim`` and a vocabulary of ``words`` words.

    With ``backbone``, a name of :func:`icrlib.data.backbones.load`, one for pictures (:class:`OnPictures`), with a
    network of its own.
    """
    inner = METHODS[choose(method, METHODS, "method")](feature_dim=feature_dim, words=words, **options)
    if backbone is None:
        return inner
    from icrlib.data import backbones

    choose(batch_norm, MODES, "batch_norm")
    return OnPictures(inner, backbones.load(backbone).network, backbone, batch_norm)

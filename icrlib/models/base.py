"""What every model is: two encoders, and one similarity of what they make."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import pad


@dataclass(frozen=True)
class Sequences:
    """Encodings of varying length: ``values`` (B, L, d), of which row b counts to ``lengths[b]``, (B,) int64."""

    values: Tensor
    lengths: Tensor

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: Any) -> Sequences:
        return Sequences(self.values[rows], self.lengths[rows])

    def split(self, size: int) -> list[Sequences]:
        """Pieces of at most ``size`` rows, as :meth:`torch.Tensor.split`."""
        return [self[first : first + size] for first in range(0, len(self), size)]

    def to(self, *where: Any) -> Sequences:
        return Sequences(self.values.to(*where), self.lengths.to(*where))

    def cpu(self) -> Sequences:
        return self.to("cpu")


Encodings = Tensor | Sequences


def join(parts: Sequence[Encodings]) -> Encodings:
    """Encodings of consecutive batches as one; sequences are padded with 0 to the longest."""
    first = parts[0]
    if isinstance(first, Tensor):
        return torch.cat(list(parts))
    longest = max(part.values.shape[1] for part in parts)
    values = [pad(part.values, (0, 0, 0, longest - part.values.shape[1])) for part in parts]
    return Sequences(torch.cat(values), torch.cat([part.lengths for part in parts]))


def inner_products(images: Tensor, captions: Tensor) -> Tensor:
    """(B, d) and (M, d) to (B, M): for unit vectors the cosine similarities."""
    return images @ captions.T


class RetrievalModel(nn.Module):
    """Images and captions in one space, and how alike they are there.

    A subclass sets ``options`` (its constructor's arguments, plain JSON values) and defines the two encoders. Where
    their results are unit vectors, the similarity is the inner product; a model that compares in another way
    overrides :meth:`similarity`, and everything that reads scores follows: training, evaluation, twins, search.
    ``vocabulary`` turns raw captions into the word numbers that :meth:`encode_captions` takes; training sets it.

    Options that many have. ``embed_dim``: how many numbers an image and a caption have in the common space.
    ``word_dim``: how many a word has on its way in.
    """

    vocabulary = None
    label: ClassVar[str] = ""  # how the text writes the method
    colour: ClassVar[str] = ""  # in figures, beside the losses' own; "": as its loss
    marker: ClassVar[str] = ""
    reads_words: ClassVar[bool] = True  # False: a caption is one thing, of which no word can be left out
    # Of an image "vector", one, or "regions", also unequally many (icrlib.data.regions.Regions); "": what it is given
    takes: ClassVar[str] = ""
    baseline: ClassVar[bool] = False  # the row that others are held against
    # Settings as published, by data set, loss, or both ("coco triplet_sh"); "*" for any other.
    published: ClassVar[dict[str, dict]] = {}
    neutral: ClassVar[dict[str, Any]] = {}  # options that change nothing at these values, and then are no option
    scores_at_once: ClassVar[int] = 1 << 24  # how many scores are computed at a time outside of training
    pairs_at_once: ClassVar[int] = 8  # and for single pairs, where the similarity knows whole blocks only
    # A matching head, where there is one: match(images, captions), encodings in pairs, gives logits (P, 2), no and yes
    match: Callable[[Encodings, Encodings], Tensor] | None = None

    def encode_images(self, features: Tensor) -> Encodings:
        """Image features (B, D), or regions (B, R, D), to unit vectors (B, d) or :class:`Sequences`.

        A model that ``takes`` regions is also given how many of them each image has
        (:func:`~icrlib.models.parts.regions.regions_of`).
        """
        raise TypeError(f"{type(self).__name__} must define encode_images")

    def encode_captions(self, words: Tensor, lengths: Tensor) -> Encodings:
        """Word numbers (B, L) int64, padded with 0, and lengths (B,) to unit vectors (B, d) or :class:`Sequences`."""
        raise TypeError(f"{type(self).__name__} must define encode_captions")

    def similarity(self, images: Encodings, captions: Encodings) -> Tensor:
        """Scores (B, M) of B encoded images and M encoded captions."""
        return inner_products(images, captions)

    def similarity_of_pairs(self, images: Encodings, captions: Encodings) -> Tensor:
        """Scores (B,) of image b and caption b: the diagonal of :meth:`similarity`, without computing all of it."""
        if type(self).similarity is RetrievalModel.similarity:
            return (images * captions).sum(1)
        size = self.pairs_at_once
        blocks = zip(images.split(size), captions.split(size), strict=True)
        return torch.cat([self.similarity(some, others).diagonal() for some, others in blocks])

    def forward(self, features: Tensor, words: Tensor, lengths: Tensor) -> Tensor:
        """Score matrix (images, captions)."""
        return self.similarity(self.encode_images(features), self.encode_captions(words, lengths))

    @classmethod
    def vocabulary_of(cls, data: Any, **options: Any) -> Any:
        """What turns captions into numbers, for a model with these options: the words of the data."""
        return data.vocabulary

    def prepare(self, data: Any) -> None:
        """Before training: take over what the data brings, the vocabulary above all."""
        self.vocabulary = self.vocabulary_of(data, **getattr(self, "options", {}))

    @classmethod
    def titled(cls, **options: Any) -> str:
        """How the text writes the method with these options."""
        return cls.label

    def parameter_groups(self, lr: float, finetune_lr: float) -> list[dict]:
        """What an optimiser takes, each group with its own learning rate ``"base"`` before any drop."""
        return [{"params": list(self.parameters()), "base": lr}]

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device


def arguments(given: dict[str, Any]) -> dict[str, Any]:
    """A constructor's arguments, from its ``locals()`` before it has others: what a model keeps as ``options``."""
    left = [("self", given["self"]), *given["self"].neutral.items()]
    return {name: value for name, value in given.items() if name != "__class__" and (name, value) not in left}


def xavier_linear(inputs: int, outputs: int) -> nn.Linear:
    """A linear layer as VSE++ starts it: weights U(-r, r) with r = sqrt(6 / (inputs + outputs)), bias 0."""
    layer = nn.Linear(inputs, outputs)
    nn.init.xavier_uniform_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer


def check_features(features: Tensor, size: int) -> None:
    """Refuse image features of the wrong rank or size, with the numbers."""
    if features.ndim != 2 or features.shape[-1] != size:
        raise ValueError(f"image features {tuple(features.shape)}: this model takes (images, {size})")

"""What every model is: two encoders onto one unit sphere."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class RetrievalModel(nn.Module):
    """Images and captions as unit vectors of one space, so that their inner product is the cosine similarity.

    A subclass sets ``options`` (its constructor's arguments, plain JSON values) and defines the two encoders.
    ``vocabulary`` turns raw captions into the word numbers that :meth:`encode_captions` takes; training sets it.
    """

    vocabulary = None

    def encode_images(self, features: Tensor) -> Tensor:
        """Image features (B, D), or regions (B, R, D), to unit vectors (B, d)."""
        raise TypeError(f"{type(self).__name__} must define encode_images")

    def encode_captions(self, words: Tensor, lengths: Tensor) -> Tensor:
        """Word numbers (B, L) int64, padded with 0, and lengths (B,) to unit vectors (B, d)."""
        raise TypeError(f"{type(self).__name__} must define encode_captions")

    def forward(self, features: Tensor, words: Tensor, lengths: Tensor) -> Tensor:
        """Score matrix (images, captions) of cosine similarities."""
        return self.encode_images(features) @ self.encode_captions(words, lengths).T

    def parameter_groups(self, lr: float, finetune_lr: float) -> list[dict]:
        """What an optimiser takes, each group with its own learning rate ``"base"`` before any drop."""
        return [{"params": list(self.parameters()), "base": lr}]

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device


def xavier_linear(inputs: int, outputs: int) -> nn.Linear:
    """A linear layer as VSE++ starts it: weights U(-r, r) with r = sqrt(6 / (inputs + outputs)), bias 0."""
    layer = nn.Linear(inputs, outputs)
    nn.init.xavier_uniform_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer


def check_features(features: Tensor, dims: int, size: int) -> None:
    """Refuse image features of the wrong rank or size, with the numbers."""
    if features.ndim != dims or features.shape[-1] != size:
        want = f"(images, {size})" if dims == 2 else f"(images, regions, {size})"
        raise ValueError(f"image features {tuple(features.shape)}: this model takes {want}")

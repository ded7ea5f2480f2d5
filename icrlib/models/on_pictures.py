"""A model that sees pictures: a network makes the features that the model without it is given."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from icrlib.errors import choose
from icrlib.models.base import Encodings, RetrievalModel

MODES = ("train", "eval")


class OnPictures(RetrievalModel):
    """``inner`` behind a ``backbone``, (B, 3, H, W) -> (B, D, h, w), whose cells are averaged.

    The backbone's weights are fixed until :meth:`finetune`. ``batch_norm="train"`` is what the releases do: in training
    its batch normalisation uses the statistics of the batch, and its stored ones, which evaluation uses, move along. So
    it is not frozen. ``"eval"`` leaves it as it was stored. ``name``: what :func:`icrlib.data.backbones.load` knows.
    """

    def __init__(self, inner: RetrievalModel, backbone: nn.Module, name: str, batch_norm: str) -> None:
        super().__init__()
        self.options = inner.options | {"backbone": name, "batch_norm": batch_norm}
        self.inner, self.backbone = inner, backbone.requires_grad_(False)
        self.batch_norm = choose(batch_norm, MODES, "batch_norm")
        self.match, self.encode_captions = inner.match, inner.encode_captions
        self.similarity, self.similarity_of_pairs = inner.similarity, inner.similarity_of_pairs

    def train(self, mode: bool = True) -> OnPictures:
        """Training mode; in the backbone for its batch normalisation at most, for it has no dropout as published."""
        super().train(mode)
        self.backbone.eval()
        if mode and self.batch_norm == "train":
            for layer in self.backbone.modules():
                if isinstance(layer, _BatchNorm):
                    layer.train()
        return self

    def prepare(self, data: Any) -> None:
        self.inner.prepare(data)
        self.vocabulary = self.inner.vocabulary

    def finetune(self) -> None:
        """From now on the backbone's weights learn, too."""
        self.backbone.requires_grad_(True)

    def encode_images(self, features: Tensor) -> Encodings:
        """Pictures (B, 3, H, W) to unit vectors (B, d)."""
        if features.ndim != 4 or features.shape[1] != 3:
            raise ValueError(f"pictures {tuple(features.shape)}: this model takes (images, 3, height, width)")
        alone = self.training or torch.is_grad_enabled() or features.is_cuda
        # A CPU is several times faster on a few pictures at a time; a batch in training is one whole for batch norm.
        parts = features.split(len(features) if alone else 4)
        return self.inner.encode_images(torch.cat([self.backbone(part).mean((2, 3)) for part in parts]))

    def parameter_groups(self, lr: float, finetune_lr: float) -> list[dict]:
        return [
            {"params": list(self.inner.parameters()), "base": lr},
            {"params": list(self.backbone.parameters()), "base": finetune_lr},
        ]

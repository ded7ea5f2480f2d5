"""VSE++: a linear projection of image features, and a GRU over the words."""

from __future__ import annotations

from typing import ClassVar

import torch.nn.functional as F
from torch import Tensor, nn

from icrlib.errors import choose
from icrlib.models.base import RetrievalModel, arguments, check_features, xavier_linear
from icrlib.models.parts.gru import last_states, word_states
from icrlib.models.parts.pool import pool_of

STATES = ("last", "max", "mean")  # which states of the GRU a caption's vector is made of


class VSE(RetrievalModel):
    """VSE++ (Faghri et al. 2018) on features, as the ECIR release runs it.

    Image: features → L2 norm → linear → L2 norm. The first norm is easily overlooked: without it the
    bias would weigh less for images with large features. Caption: embedding, U(-0.1, 0.1) for every row, ``<pad>``
    too → one-layer GRU → its state after ``<end>`` → L2 norm. No dropout.
    Published sizes: ``feature_dim`` 2048, ``word_dim`` 300, ``embed_dim`` 1024.

    ``pool="max"`` or ``"mean"`` takes the maximum or the mean of the states after all words for the last of them.
    """

    label = "VSE++"
    takes = "vector"
    neutral: ClassVar[dict] = {"pool": "last"}
    # ECIR's job files (Table 1, rows 1.1 to 1.4 and 2.1 to 2.4): 30 epochs over captions, a tenth of the rate after 15.
    published = {
        "*": {"embed_dim": 1024, "word_dim": 300, "lr": 2e-4, "epochs": 30, "lr_update": 15, "batch_size": 128}
    }

    def __init__(
        self, feature_dim: int, words: int, embed_dim: int = 1024, word_dim: int = 300, pool: str = "last"
    ) -> None:
        super().__init__()
        self.options = arguments(locals())
        choose(pool, STATES, "pool")
        self.project = xavier_linear(feature_dim, embed_dim)
        self.embed = nn.Embedding(words, word_dim)
        nn.init.uniform_(self.embed.weight, -0.1, 0.1)
        self.gru = nn.GRU(word_dim, embed_dim, batch_first=True)
        self.pool = None if pool == "last" else pool_of(pool)

    @classmethod
    def titled(cls, pool: str = "last", **options: object) -> str:
        return cls.label + {"last": "", "max": ", maximum of states", "mean": ", mean of states"}[pool]

    def encode_images(self, features: Tensor) -> Tensor:
        check_features(features, self.options["feature_dim"])
        return F.normalize(self.project(F.normalize(features, dim=1)), dim=1)

    def encode_captions(self, words: Tensor, lengths: Tensor) -> Tensor:
        if self.pool is None:
            return F.normalize(last_states(self.gru, self.embed, words, lengths), dim=1)
        return F.normalize(self.pool(word_states(self.gru, self.embed, words, lengths), lengths), dim=1)

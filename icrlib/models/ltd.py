"""LTD's encoders: two-layer heads behind image features and behind a bidirectional GRU over the words."""

from __future__ import annotations

from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from icrlib.errors import choose
from icrlib.models.base import RetrievalModel, arguments, check_features
from icrlib.models.parts.gru import last_states

BACKWARD = ("end", "start")


class LTD(RetrievalModel):
    """The encoders of Bleeker et al. (2022, "Keep the caption information"; RF §6.1-§6.2); the baseline's, too.

    Image: features → linear → ReLU → linear → L2 norm. Caption: embedding → one GRU forwards and one backwards, of
    half the size each → linear → ReLU → linear → L2 norm. Layers of the heads have no bias. No dropout.
    Published sizes: ``feature_dim`` 2048, ``word_dim`` 300, ``embed_dim`` 1024.

    - ``backward``: where the backward GRU is read. "end", as released: at the last word, of which it has seen nothing
      but ``<end>``. So its half is the same for every caption, and the encoder is a forward GRU of half the size and a
      learned constant. "start": after the whole caption, which is what "bidirectional" promises.
    - ``head_norm``: a batch normalisation behind each head, which the release has with the triplet loss only.

    The embedding is drawn from N(0, 1), torch's default, and learns at once; the release starts from GloVe's vectors.
    """

    label = "LTD"
    takes = "vector"
    # RF §6.6, §6.11. What follows from a number of epochs is in the rows of the paper's tables: paper.experiment.
    published: ClassVar[dict[str, dict]] = {
        "*": {
            "embed_dim": 1024,
            "word_dim": 300,
            "auxiliary": "latent",
            "objective": "lagrange",
            "eta": 0.2,
            "optimiser": "adamp",
            "schedule": "cosine_epoch",
            "lr": 2e-4,
            "epochs": 30,
            "batch_size": 128,
            "drop_words": 0.1,
            "delete_words": 0.1,
            "erase": 0.2,
        },
        "ntxent": {"tau": 0.05},
        "triplet_sh": {"head_norm": True},
    }

    def __init__(
        self,
        feature_dim: int,
        words: int,
        embed_dim: int = 1024,
        word_dim: int = 300,
        backward: str = "end",
        head_norm: bool = False,
    ) -> None:
        super().__init__()
        self.options = arguments(locals())
        if embed_dim % 2:
            raise ValueError(f"embed_dim must be even, half of it for each direction of the GRU; got {embed_dim}")
        self.backward_read = choose(backward, BACKWARD, "backward")
        self.image_head = head(feature_dim, embed_dim, head_norm)
        self.embed = nn.Embedding(words, word_dim)
        self.forwards = nn.GRU(word_dim, embed_dim // 2, batch_first=True)
        self.backwards = nn.GRU(word_dim, embed_dim // 2, batch_first=True)
        self.caption_head = head(embed_dim, embed_dim, head_norm)

    def encode_images(self, features: Tensor) -> Tensor:
        check_features(features, self.options["feature_dim"])
        return F.normalize(self.image_head(features), dim=1)

    def encode_captions(self, words: Tensor, lengths: Tensor) -> Tensor:
        states = torch.cat([last_states(self.forwards, self.embed, words, lengths), self.back(words, lengths)], 1)
        return F.normalize(self.caption_head(states), dim=1)

    def back(self, words: Tensor, lengths: Tensor) -> Tensor:
        """State (B, d/2) of the backward GRU, where it is read."""
        rows = torch.arange(len(words), device=words.device)[:, None]
        if self.backward_read == "end":
            return last_states(self.backwards, self.embed, words[rows, lengths[:, None] - 1], torch.ones_like(lengths))
        place = (lengths[:, None] - 1 - torch.arange(words.shape[1], device=words.device)).clamp_min(0)
        return last_states(self.backwards, self.embed, words[rows, place], lengths)


def head(inputs: int, outputs: int, norm: bool) -> nn.Sequential:
    """Two layers without bias, Xavier's weights, ReLU between: inputs → inputs → outputs; a batch norm where asked."""
    layers = [nn.Linear(inputs, inputs, bias=False), nn.Linear(inputs, outputs, bias=False)]
    for layer in layers:
        nn.init.xavier_uniform_(layer.weight)
    return nn.Sequential(layers[0], nn.ReLU(), layers[1], *([nn.BatchNorm1d(outputs)] if norm else []))

"""A method, a loss and an auxiliary from outside the library, as a reader would write them, in no registry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity, normalize

from icrlib.auxiliary import Auxiliary, Step
from icrlib.losses import Loss, Pairs
from icrlib.models import RetrievalModel, Sequences


class WordByWord(RetrievalModel):
    """Captions as their words, one vector each; the similarity is the mean over words of the best-matching channel
    pair, which no inner product of two vectors gives."""

    label = "word by word"
    published: ClassVar[dict] = {"*": {"lr": 5e-3, "epochs": 2, "size": 6}}
    scores_at_once = 64
    pairs_at_once = 3

    def __init__(self, feature_dim: int, words: int, size: int = 8) -> None:
        super().__init__()
        self.options = {"feature_dim": feature_dim, "words": words, "size": size}
        self.see, self.say = nn.Linear(feature_dim, 2 * size), nn.Embedding(words, size)

    def encode_images(self, features: Tensor) -> Tensor:
        return normalize(self.see(features).unflatten(1, (2, -1)), dim=2)

    def encode_captions(self, words: Tensor, lengths: Tensor) -> Sequences:
        return Sequences(normalize(self.say(words[:, : int(lengths.max())]), dim=2), lengths)

    def similarity(self, images: Tensor, captions: Sequences) -> Tensor:
        every = torch.einsum("bcd,mld->bmlc", images, captions.values).amax(3)
        there = torch.arange(every.shape[2], device=every.device) < captions.lengths[:, None]
        return (every * there).sum(2) / captions.lengths


@dataclass(frozen=True)
class Squared(Loss):
    """The squared hinge of all negatives."""

    label: ClassVar[str] = "squared hinge"
    margin: float = 0.3

    def terms(self, pairs: Pairs) -> Tensor:
        return pairs.at_negatives(torch.relu(pairs.rows + (self.margin - pairs.own)) ** 2, 0).sum(1)

    def term_weights(self, pairs: Pairs) -> Tensor:
        row = pairs.at_negatives(2 * torch.relu(pairs.rows + (self.margin - pairs.own)), 0)
        return row.scatter(1, pairs.positive[:, None], -row.sum(1, keepdim=True))


class Bags(Auxiliary):
    """Decode a fixed random vector of each caption's words, as LTD decodes a sentence encoder's: one minus cosine."""

    name = "reconstruction"

    def __init__(self, size: int = 5, margin: float = 0.1) -> None:
        super().__init__()
        self.size, self.margin = size, margin

    def prepare(self, data, model) -> None:
        table = torch.randn(len(data.vocabulary), self.size, generator=torch.Generator().manual_seed(0))
        numbers, _ = data.vocabulary.encode(data.train.captions)
        self.register_buffer("targets", table[numbers].mean(1))
        self.decode = nn.Linear(model.options["embed_dim"], self.size)

    def forward(self, step: Step) -> Tensor:
        return (1 - cosine_similarity(self.decode(step.captions), self.targets[step.batch.captions])).mean()

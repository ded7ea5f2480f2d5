"""The baseline that cannot know word order: a linear tower over a bag of words."""

from __future__ import annotations

from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn

from icrlib.models.base import RetrievalModel, arguments, check_features, xavier_linear


class BagOfWords(RetrievalModel):
    """Image as in VSE++; caption: the mean of its word vectors → L2 norm.

    Two captions with the same words in another order get the same vector. Its word vectors live in the shared space
    directly.

    ``ngrams=2`` averages a vector for each pair of neighbouring words with those of the words, ``ngrams=3`` also for
    triples (FS S11): those that the training captions have as often as the vocabulary asks of a word. It still reads
    nothing but what stands side by side. So what a model scores above the bag on *swap* twins, it has learnt from word
    order; and only what it scores above the bag with pairs, from more than "which words are neighbours".
    """

    label = "bag of words"
    takes = "vector"
    colour, marker = "#6b6b6b", "x"
    baseline = True
    neutral = {"ngrams": 1}
    # A baseline of ours: it gets the budget of the method beside it, VSE++.
    published = {"*": {"embed_dim": 1024, "lr": 2e-4, "epochs": 30, "lr_update": 15, "batch_size": 128}}

    def __init__(self, feature_dim: int, words: int, embed_dim: int = 1024, ngrams: int = 1) -> None:
        super().__init__()
        self.options = arguments(locals())
        self.project = xavier_linear(feature_dim, embed_dim)
        self.bag = nn.EmbeddingBag(words, embed_dim, mode="mean", padding_idx=0)
        nn.init.uniform_(self.bag.weight, -0.1, 0.1)
        # the bag skips <pad> (number 0)

    @classmethod
    def vocabulary_of(cls, data: Any, ngrams: int = 1, **options: Any) -> Any:
        """The words of the data; with ``ngrams``, runs of them that the training captions have as often."""
        if ngrams == 1:
            return data.vocabulary
        return data.vocabulary.with_runs(data.train.captions, ngrams, data.options.get("min_count", 4))

    @classmethod
    def titled(cls, ngrams: int = 1, **options: Any) -> str:
        names = {1: "", 2: ", pairs", 3: ", pairs and triples"}
        return cls.label + names.get(ngrams, f", runs of up to {ngrams}")

    def encode_images(self, features: Tensor) -> Tensor:
        check_features(features, self.options["feature_dim"])
        return F.normalize(self.project(F.normalize(features, dim=1)), dim=1)

    def encode_captions(self, words: Tensor, lengths: Tensor) -> Tensor:
        return F.normalize(self.bag(words[:, : int(lengths.max())]), dim=1)

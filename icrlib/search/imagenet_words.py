"""A zero-shot encoder: pictures are found by words although nobody has ever described one of them (ConSE).

Norouzi et al. 2014 (arXiv 1312.5650): a classifier says which of its classes a picture shows; the picture's vector is
the mean of the vectors of the classes' names, weighed by their probabilities. Here the classifier is EfficientNet-Lite2
with ImageNet's 1,000 classes, and the vectors are a sentence encoder's (MiniLM), which reads queries, too. What the
picture says and no class names (who does what, where, how many) is lost.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from icrlib.data import backbones
from icrlib.data.pictures import open_picture
from icrlib.data.targets.store import vectors
from icrlib.data.targets.teachers import teacher
from icrlib.files import sha256_of
from icrlib.models.base import RetrievalModel, inner_products

NAMES = Path(__file__).with_name("imagenet_names.json")  # with its source and licence
NETWORK, TEACHER = "efficientnet_lite2", "sbert"


def class_names() -> list[list[str]]:
    """The names of each of the 1,000 classes, in the order of the network's outputs: all words of a synset of WordNet.

    They beat the single names of torchvision's metadata on Flickr8k's validation photos (records/zero_shot.jsonl).
    """
    return list(json.loads(NAMES.read_text(encoding="utf-8"))["names"].values())


def sentences(names: Sequence[Sequence[str]]) -> list[str]:
    """What stands for a class: all its names in one sentence."""
    return [f"a photo of {', '.join(some)}" for some in names]


def convex(probabilities: Tensor, classes: Tensor, top: int | None = None) -> Tensor:
    """Pictures (n, d), of length 1: the ``classes`` (C, d) weighed by ``probabilities`` (n, C), less their mean.

    Without that all pictures are alike in what "a photo of" says. ``top``: of so many highest classes only.
    """
    if top is not None:
        kept = probabilities.topk(top, 1)
        probabilities = torch.zeros_like(probabilities).scatter(1, kept.indices, kept.values)
    weights = probabilities / probabilities.sum(1, keepdim=True)
    return normalize(weights @ classes - classes.mean(0), dim=1)


class ImageNetWords:
    """The encoder of an album that has no model: an :class:`icrlib.search.encoders.Encoder`.

    ``ImportError`` or :class:`icrlib.data.targets.encoder.NoSentenceEncoder` with the ways on where a package is
    missing.
    """

    registered = name = "imagenet-words"
    at_once = RetrievalModel.scores_at_once

    def __init__(self) -> None:
        self.teacher, self.similarity = teacher(TEACHER), inner_products
        self.key = f"{self.name} {NETWORK} {sha256_of(NAMES, self.teacher.identity)[:16]}"

    @cached_property
    def network(self) -> backbones.Backbone:
        return backbones.load(NETWORK)

    @cached_property
    def classes(self) -> Tensor:
        """(1000, d): the classes in the space of the queries."""
        return vectors(sentences(class_names()), self.teacher, progress=False)

    def ready(self) -> None:
        """Load what pictures need, so that what is missing is told before the first of them."""
        _ = self.network, self.classes

    def texts(self, texts: Sequence[str]) -> Tensor:
        return vectors(list(texts), self.teacher, progress=False, cache=len(texts) > 1)  # a query is nobody's business

    @torch.no_grad()
    def pictures(self, files: Sequence[str | Path]) -> np.ndarray:
        """Pictures, a batch of them at a time through the network, to vectors (n, d), float32."""
        given = torch.stack([self.network.prepare(open_picture(file)) for file in files])
        return self.of_features(self.network(given)).numpy()

    @torch.no_grad()
    def of_features(self, pooled: Tensor, top: int | None = None) -> Tensor:
        """The same of pooled features (n, 1280) of this network."""
        return convex(self.network.classes(pooled).softmax(1), self.classes, top)

    def finish(self, found: np.ndarray) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(found, np.float32))

    def unknown(self, query: str) -> list[str]:
        return []  # a sentence encoder reads pieces of words

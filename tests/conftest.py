"""Shared by all tests: one thread, no network, and a dataset small enough to train on in a second."""

from __future__ import annotations

import pytest
import torch

from icrlib.data.splits import Dataset, Split
from icrlib.data.text import Vocabulary

WORDS = ["red", "green", "blue", "small", "large", "ring", "box", "star", "left", "right", "above", "below"]


@pytest.fixture(autouse=True)
def _one_thread():
    torch.set_num_threads(1)


def make_split(name: str, images: int, seed: int, dim: int = 12, fewest: int = 2, most: int = 4) -> Split:
    """Random features, and captions that name their largest entries: learnable, with 2 to 4 captions an image."""
    generator = torch.Generator().manual_seed(seed)
    features = torch.rand(images, dim, generator=generator)
    captions, image_of = [], []
    for row in range(images):
        count = fewest + int(torch.randint(most - fewest + 1, (1,), generator=generator))
        top = features[row].topk(4).indices.tolist()
        for k in range(count):
            captions.append(" ".join(WORDS[t % len(WORDS)] for t in top[k % 3 :] + top[: k % 3]))
            image_of.append(row)
    return Split(name, features, captions, torch.tensor(image_of), [f"{name}-{i}" for i in range(images)])


@pytest.fixture(scope="session")
def tiny() -> Dataset:
    """60 training, 20 validation and 20 test images; an evaluation every 10 of 40 updates."""
    train, val, test = make_split("train", 60, 0), make_split("val", 20, 1), make_split("test", 20, 2)
    defaults = {"embed_dim": 8, "word_dim": 6, "lr": 1e-2, "updates": 40, "batch_size": 16}
    return Dataset("scenes", train, val, test, Vocabulary.build(train.captions, 1), "f" * 64, defaults, {"tiny": True})

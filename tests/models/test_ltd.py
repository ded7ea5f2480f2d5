"""LTD's encoders against torch's own bidirectional GRU, caption by caption; its quirks, and what is refused."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from icrlib import models
from icrlib.models.ltd import LTD

LENGTHS = torch.tensor([6, 3, 4, 2])


def make(**options):
    torch.manual_seed(0)
    return LTD(feature_dim=5, words=30, embed_dim=8, word_dim=6, **options).double()


@pytest.fixture
def words():
    drawn = torch.randint(4, 30, (4, 6), generator=torch.Generator().manual_seed(3))
    place = torch.arange(6)
    drawn = drawn.masked_fill(place == 0, 1).masked_fill(place == LENGTHS[:, None] - 1, 2)
    return drawn.masked_fill(place >= LENGTHS[:, None], 0)


def both_ways(model: LTD) -> nn.GRU:
    """torch's bidirectional GRU with the model's weights."""
    gru = nn.GRU(6, 4, batch_first=True, bidirectional=True).double()
    with torch.no_grad():
        for name, value in model.forwards.named_parameters():
            getattr(gru, name).copy_(value)
        for name, value in model.backwards.named_parameters():
            getattr(gru, f"{name}_reverse").copy_(value)
    return gru


def unit(row):
    length = math.sqrt(sum(x * x for x in row))
    return [x / length for x in row]


def times(matrix, row):
    return [sum(w * x for w, x in zip(line, row, strict=True)) for line in matrix]


def through(head, row):
    """Two layers without bias by hand."""
    first, second = head[0].weight.tolist(), head[2].weight.tolist()
    return times(second, [max(0.0, x) for x in times(first, row)])


@pytest.mark.parametrize("backward", ["end", "start"])
def test_captions_one_by_one(words, backward):
    model = make(backward=backward)
    gru, found = both_ways(model), model.encode_captions(words, LENGTHS)
    for row, length, got in zip(words, LENGTHS.tolist(), found.tolist(), strict=True):
        states = gru(model.embed(row[:length])[None])[0][0]
        back = states[length - 1 if backward == "end" else 0, 4:]
        state = torch.cat([states[length - 1, :4], back]).tolist()
        assert got == pytest.approx(unit(through(model.caption_head, state)), abs=1e-12)


def test_padding_and_company_change_nothing(words):
    model = make(backward="start")
    whole = model.encode_captions(words, LENGTHS)
    for k in range(4):
        alone = model.encode_captions(words[k : k + 1, : LENGTHS[k]], LENGTHS[k : k + 1])
        torch.testing.assert_close(alone[0], whole[k], rtol=0, atol=1e-12)


def test_as_released_the_backward_half_is_the_same_for_every_caption(words):
    """At the last word the backward GRU has read ``<end>`` alone (RF §6.2); at the start it tells captions apart."""
    released, meant = make().back(words, LENGTHS), make(backward="start").back(words, LENGTHS)
    assert (released - released[0]).abs().max() == 0
    assert (meant - meant[0]).abs().max() > 1e-2


def test_images(words):
    model = make()
    features = torch.randn(3, 5, dtype=torch.double)
    for row, got in zip(features.tolist(), model.encode_images(features).tolist(), strict=True):
        assert got == pytest.approx(unit(through(model.image_head, row)), abs=1e-12)


def test_published_sizes():
    with torch.device("meta"):
        model = models.build("ltd", feature_dim=2048, words=11737)
    sizes = {name: sum(p.numel() for p in part.parameters()) for name, part in model.named_children()}
    gru = 3 * 512 * (300 + 512 + 2)
    assert sizes == {
        "image_head": 2048 * 2048 + 2048 * 1024,
        "embed": 11737 * 300,
        "forwards": gru,
        "backwards": gru,
        "caption_head": 2 * 1024 * 1024,
    }


def test_how_the_weights_start():
    torch.manual_seed(0)
    model = LTD(feature_dim=60, words=500, embed_dim=100, word_dim=40)
    for layer, edge in ((model.image_head[0], math.sqrt(6 / 120)), (model.image_head[2], math.sqrt(6 / 160))):
        assert 0.98 * edge < layer.weight.abs().max() <= edge and layer.bias is None
    assert model.embed.weight.std().item() == pytest.approx(1, abs=0.02)


def test_a_norm_behind_the_heads_is_an_option():
    model = make(head_norm=True)
    features = torch.randn(6, 5, dtype=torch.double)
    plain = model.image_head[:3](features)
    normal = (plain - plain.mean(0)) / (plain.var(0, unbiased=False) + 1e-5).sqrt()
    torch.testing.assert_close(model.encode_images(features), nn.functional.normalize(normal, dim=1))
    assert not any(isinstance(part, nn.BatchNorm1d) for part in make().modules())


def test_given_word_vectors_rest_until_they_may_learn(words):
    model, vectors = make(), torch.randn(30, 6).double()
    model.prepare(SimpleNamespace(vocabulary="words", word_vectors=vectors))
    assert model.vocabulary == "words" and torch.equal(model.embed.weight, vectors)
    model.encode_captions(words, LENGTHS).sum().backward()
    assert model.embed.weight.grad is None
    model.finetune()
    model.encode_captions(words, LENGTHS).sum().backward()
    assert model.embed.weight.grad is not None


def test_without_word_vectors_the_embedding_learns_at_once(words):
    model = make()
    model.prepare(SimpleNamespace(vocabulary="words", word_vectors=None))
    assert model.embed.weight.requires_grad


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"embed_dim": 7}, "embed_dim must be even"),
        ({"head_norm": 1}, "head_norm must be True or False"),
        ({"backward": "middle"}, "backward"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        LTD(feature_dim=5, words=30, **options)


def test_word_vectors_of_another_size():
    with pytest.raises(ValueError, match="word_dim=9"):
        make().prepare(SimpleNamespace(vocabulary="words", word_vectors=torch.randn(30, 9)))

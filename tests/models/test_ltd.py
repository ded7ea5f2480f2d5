"""LTD's encoders against torch's own bidirectional GRU, caption by caption; its quirks, and what is refused."""

from __future__ import annotations

import pytest
import torch
from torch import nn

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


def through(head, rows):
    """Two layers without bias, and the norm."""
    return nn.functional.normalize(torch.relu(rows @ head[0].weight.T) @ head[2].weight.T, dim=1)


@pytest.mark.parametrize("backward", ["end", "start"])
def test_captions_one_by_one(words, backward):
    model, rows = make(backward=backward), []
    gru = both_ways(model)
    for row, length in zip(words, LENGTHS.tolist(), strict=True):
        states = gru(model.embed(row[:length])[None])[0][0]
        rows.append(torch.cat([states[length - 1, :4], states[length - 1 if backward == "end" else 0, 4:]]))
    expected = through(model.caption_head, torch.stack(rows))
    torch.testing.assert_close(model.encode_captions(words, LENGTHS), expected, rtol=0, atol=1e-12)


def test_as_released_the_backward_half_is_the_same_for_every_caption(words):
    """At the last word the backward GRU has read ``<end>`` alone (RF §6.2); at the start it tells captions apart."""
    released, meant = make().back(words, LENGTHS), make(backward="start").back(words, LENGTHS)
    assert (released - released[0]).abs().max() == 0
    assert (meant - meant[0]).abs().max() > 1e-2


def test_images():
    model, features = make(), torch.randn(3, 5, dtype=torch.double)
    expected = through(model.image_head, features)
    torch.testing.assert_close(model.encode_images(features), expected, rtol=0, atol=1e-12)


def test_a_norm_behind_the_heads_is_an_option():
    model = make(head_norm=True)
    features = torch.randn(6, 5, dtype=torch.double)
    plain = model.image_head[:3](features)
    normal = (plain - plain.mean(0)) / (plain.var(0, unbiased=False) + 1e-5).sqrt()
    torch.testing.assert_close(model.encode_images(features), nn.functional.normalize(normal, dim=1))
    assert not any(isinstance(part, nn.BatchNorm1d) for part in make().modules())


@pytest.mark.parametrize(("option", "value"), [("embed_dim", 7), ("backward", "middle")])
def test_bad_options(option, value):
    with pytest.raises(ValueError, match=option):
        LTD(feature_dim=5, words=30, **{option: value})

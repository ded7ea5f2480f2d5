"""VSE++: published sizes, both norms, and a caption vector that does not depend on padding."""

from __future__ import annotations

import re

import pytest
import torch

from icrlib import models
from icrlib.models import VSE, RetrievalModel


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


def test_images_by_hand(model):
    """Features are normed before the projection: with a bias, their length would matter."""
    shifted, rows = VSE(**model.options).double(), []
    torch.nn.init.normal_(shifted.project.bias)
    features = torch.rand(4, 10, dtype=torch.float64) * 7
    for row in features:
        out = shifted.project.weight @ (row / row.pow(2).sum().sqrt()) + shifted.project.bias
        rows.append(out / out.pow(2).sum().sqrt())
    torch.testing.assert_close(shifted.encode_images(features), torch.stack(rows))


def test_what_is_refused(model):
    for shape in ((4, 9), (4, 36, 10)):
        with pytest.raises(ValueError, match=re.escape(f"{shape}: this model takes (images, 10)")):
            model.encode_images(torch.rand(shape))
    with pytest.raises(ValueError, match=r"Did you mean 'vse\+\+'\?"):
        models.build("vse", 4, 4)
    assert models.options_of("vse++") == ["embed_dim", "word_dim", "pool"]
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
    words, lengths = captions
    wider = torch.cat([words, torch.full((6, 5), 17)], 1)  # not even zeros: nothing after <end> is read
    torch.testing.assert_close(pooled.encode_captions(wider, lengths), expected)
    assert VSE(**pooled.options).options == pooled.options and ("pool" in pooled.options) == (pool != "last")

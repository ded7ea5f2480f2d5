"""The bag of words: order cannot matter, padding does not count."""

from __future__ import annotations

import pytest
import torch

from icrlib import models
from icrlib.data.text import Vocabulary


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    return models.build("bow", feature_dim=10, words=30, embed_dim=8).double()


def test_word_order_does_not_matter(model):
    vocabulary = Vocabulary.build(["a red ring left of a blue square"], 1)
    captions = [
        f"a {one} left of a {two}"
        for one, two in (("red ring", "blue square"), ("blue square", "red ring"), ("blue ring", "red ring"))
    ]
    first, swapped, other = model.encode_captions(*vocabulary.encode(captions))
    torch.testing.assert_close(first, swapped, atol=1e-12, rtol=0)
    assert (first - other).abs().max() > 1e-3


def test_captions_by_hand(model):
    words = torch.tensor([[1, 5, 6, 5, 2, 0, 0], [1, 9, 2, 0, 0, 0, 0]])
    for row, vector in zip(words, model.encode_captions(words, torch.tensor([5, 3])), strict=True):
        mean = model.bag.weight[row[row > 0]].mean(0)
        torch.testing.assert_close(vector, mean / mean.norm())


def test_padding_does_not_count(model):
    short, lengths = torch.tensor([[1, 5, 6, 2]]), torch.tensor([4])
    long = torch.cat([short, torch.zeros(1, 6, dtype=torch.long)], 1)
    torch.testing.assert_close(model.encode_captions(long, lengths), model.encode_captions(short, lengths))
    both = torch.cat([long, torch.arange(1, 11)[None]])
    batch = model.encode_captions(both, torch.tensor([4, 10]))[0]
    torch.testing.assert_close(batch, model.encode_captions(short, lengths)[0])


def test_images_as_in_vse(model):
    vse = models.VSE(feature_dim=10, words=5, embed_dim=8).double()
    vse.project.load_state_dict(model.project.state_dict())
    features = torch.rand(3, 10, dtype=torch.float64)
    assert torch.equal(model.encode_images(features), vse.encode_images(features))
    torch.testing.assert_close(model.encode_images(features).norm(dim=1), torch.ones(3, dtype=torch.float64))
    with pytest.raises(ValueError, match=r"this model takes \(images, 10\)"):
        model.encode_images(torch.rand(3, 4))

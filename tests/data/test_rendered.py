"""Scenes as pictures: the same pictures and captions, features alike up to half precision, a network that learns."""

from __future__ import annotations

import pytest
import torch

import icrlib


@pytest.fixture(scope="module")
def both():
    sizes = {"train": 40, "val": 12, "test": 16}
    return [icrlib.load_dataset(name, seed=4, **sizes) for name in ("scenes", "rendered")]


def test_the_network_makes_the_features_of_scenes(both):
    plain, pictures = both
    for one, other in zip((plain.train, plain.test), (pictures.train, pictures.test), strict=True):
        assert one.captions == other.captions and (one.images == other.images).all()
        made = torch.cat([other.features.backbone(part) for part in other.features.split(16)])
        assert torch.allclose(made, one.features.float(), atol=2e-3, rtol=2e-3)
    assert plain.fingerprint != pictures.fingerprint and pictures.vocabulary.words == plain.vocabulary.words
    assert pictures.test.twin_questions[0].shape == plain.test.twin_questions[0].shape


def test_what_another_loader_takes_is_refused():
    with pytest.raises(ValueError, match="unknown option of the dataset 'rendered' 'regions'"):
        icrlib.load_dataset("rendered", regions=True)

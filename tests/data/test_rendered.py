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


def test_the_network_rests_and_then_learns(both):
    _, pictures = both
    network = pictures.train.features.backbone.network
    start = {name: value.clone() for name, value in network.state_dict().items()}
    common = {"updates": 6, "evaluate_every": 3, "batch_size": 8, "batch_norm": "eval", "progress": False}
    rests = icrlib.train(pictures, "ltd", **common).model.backbone.state_dict()
    assert all(torch.equal(v, rests[k]) for k, v in start.items())
    learns = icrlib.train(pictures, "ltd", finetune_after=3, finetune_lr=1e-3, **common)
    history = learns.record["history"]
    assert learns.record["config"]["finetune_after"] == 3 and len(history) == 2
    chosen = learns.record["chosen"]["update"]
    now = learns.model.backbone.state_dict()
    assert (chosen == 3) == all(torch.equal(v, now[k]) for k, v in start.items())
    assert all(torch.equal(v, start[k]) for k, v in network.state_dict().items())  # what learnt was a copy


def test_what_another_loader_takes_is_refused():
    with pytest.raises(ValueError, match="unknown option of the dataset 'rendered' 'regions'"):
        icrlib.load_dataset("rendered", regions=True)

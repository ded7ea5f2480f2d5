"""Counted operations against torch's own counter, on models that are really run."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

import icrlib
from icrlib import models
from icrlib.data import targets
from icrlib.models.counts import total
from icrlib.names import AUXILIARIES, METHODS
from icrlib.planning import asked, operations


def by_torch(method: str, *, images: int, captions: int, words: int, feature_dim: int, regions: int = 0, **options):
    """Products of an update as a GPU does it, without norms and loss."""
    with torch.device("meta"):
        model = models.build(method, feature_dim, 50, **options)
        features = torch.empty(images, *([regions] if regions else []), feature_dim)
        numbers = torch.zeros(captions, words, dtype=torch.long)
    with FlopCounterMode(display=False) as counter:
        if method == "ltd":
            v = model.image_head(features)
            seen = numbers if options.get("backward") == "start" else numbers[:, :1]
            states = [model.forwards(model.embed(numbers))[0][:, -1], model.backwards(model.embed(seen))[0][:, -1]]
            t = model.caption_head(torch.cat(states, 1))
        elif method == "vse_infty":
            v = (model.project(features) + model.mlp(features.flatten(0, 1)).view(images, regions, -1)).amax(1)
            t = sum(model.gru(model.embed(numbers))[0].chunk(2, 2)).amax(1)
        else:
            v = model.project(features)
            v = model.reader(model.graph(v))[1][0] if method == "vsrn" else v
            t = model.bag(numbers) if method == "bow" else model.gru(model.embed(numbers))[0][:, -1]
        (v @ t.T).sum().backward()
    return counter.get_total_flops()


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("bow", {}),
        ("vse++", {"word_dim": 11}),
        ("vsrn", {"word_dim": 11, "regions": 7, "blocks": 3}),
        ("ltd", {"word_dim": 11}),
        ("ltd", {"word_dim": 11, "backward": "start"}),
        ("vse_infty", {"word_dim": 11, "regions": 7, "pool": "max"}),
        ("vse_infty", {"word_dim": 11, "regions": 7, "pool": "mean", "hidden": 9}),
    ],
)
def test_products_are_those_that_torch_counts(method, options):
    sizes = {"images": 6, "captions": 10, "words": 5, "feature_dim": 24, "embed_dim": 16} | options
    assert total(METHODS[method].operations(**sizes)) == by_torch(method, **sizes)


@pytest.mark.parametrize(
    ("name", "options"),
    [("latent", {"target": "form", "hidden": 5}), ("tokens", {"decoder_words": 9, "softmax": "time"})],
)
def test_decoders_products_are_those_that_torch_counts(name, options):
    """As they are, but on vectors of captions that learn."""
    captions, words, d, vocabulary = 40, 7, 16, 50
    decoder = AUXILIARIES[name](**options)
    decoder.wanted = lambda data: torch.randn(captions, targets.size_of("form"))
    model = SimpleNamespace(options={"embed_dim": d}, reads_words=True)
    decoder.prepare(SimpleNamespace(vocabulary=range(vocabulary), train=None), model)
    step = SimpleNamespace(
        batch=SimpleNamespace(captions=torch.arange(captions)),
        captions=torch.randn(captions, d, requires_grad=True),
        numbers=torch.zeros(captions, words, dtype=torch.long),
        lengths=torch.full((captions,), words),
    )
    with FlopCounterMode(display=False) as counter:
        decoder(step).backward()
    result = AUXILIARIES[name].operations(captions, words, embed_dim=d, vocabulary=vocabulary, **options)
    assert result == counter.get_total_flops()


class Linear(models.RetrievalModel):
    """A method of somebody's own that says nothing of its operations."""

    def __init__(self, feature_dim: int, words: int, size: int = 8) -> None:
        super().__init__()
        self.see, self.say = torch.nn.Linear(feature_dim, size), torch.nn.EmbeddingBag(words, size)

    def encode_images(self, features):
        return self.see(features)

    def encode_captions(self, words, lengths):
        return self.say(words[:, : int(lengths.max())])


def test_a_method_of_ones_own_is_run_without_numbers():
    config = {"dataset": "scenes", "method": f"{__name__}:Linear", "model_options": {"size": 5}, "batch_size": 32}
    sizes = {"features": (20,), "words": 6.4, "padded": 9.0, "each": 5.0, "val": 50, "vocabulary": 9}
    assert operations.of_update(config, sizes) == 2 * 2 * 32 * 20 * 5 + 3 * 2 * 32 * 32 * 5
    assert operations.kept_bytes(config, sizes) > 0


def test_a_training_is_its_updates_and_its_evaluations():
    config = {"dataset": "coco", "method": "vse++", "updates": 10, "evaluate_every": 4, "accumulate": 2}
    config |= {"model_options": {"embed_dim": 16, "word_dim": 8}, "batch_size": 32, "batches": "images"}
    sizes = {"features": (20,), "words": 6.0, "each": 5.0, "val": 50, "vocabulary": 9}
    shape = {"embed_dim": 16, "feature_dim": 20, "word_dim": 8}
    update = total(METHODS["vse++"].operations(32, 160, 6, **shape))
    look = total(METHODS["vse++"].operations(50, 250, 6, **shape)) / 3
    assert operations.of_update(config, sizes) == 2 * update
    assert operations.of_training(config, sizes) == pytest.approx(10 * 2 * update + 3 * look)  # at 4, 8 and 10
    photos = config | {"backbone": "resnet50"}
    more = operations.of_training(photos, sizes) - operations.of_training(config, sizes)
    assert more == pytest.approx((10 * 2 * 32 + 3 * 50) * operations.NETWORKS["resnet50"])


@pytest.mark.parametrize(
    "more",
    [
        {"method": "own.module:Part"},
        {"auxiliary": "tests.own_parts:Lengths"},
        {"method": "vsrn"},
        {"backbone": "own:network"},
        {"backbone": "resnet50", "finetune_after": 3},
    ],
)
def test_what_cannot_be_counted_is_none(more):
    config = {"dataset": "scenes", "data_options": {"regions": False}, "method": "vse++", "updates": 10}
    config |= {"model_options": {"embed_dim": 16}} | more
    sizes = operations.assumed(config)
    assert operations.of_update(config, sizes) is None and operations.of_training(config, sizes) is None


def test_on_a_gpu_captions_are_filled_up_to_the_longest_of_a_batch():
    """Twin: the words of batches that a sampler might draw; what is assumed of scenes is what is measured there."""
    data = icrlib.load_dataset("scenes")
    lengths = data.vocabulary.encode(data.train.captions)[1].numpy()
    rng = np.random.default_rng(7)
    longest = np.mean([lengths[rng.choice(len(lengths), 128, replace=False)].max() for _ in range(40)])
    sizes = operations.measured(data)
    assert sizes["padded"] == pytest.approx(longest, rel=0.03) and sizes["padded"] > 1.5 * sizes["words"]
    config = asked.configuration("scenes", "vse++")[0]
    assumed = operations.assumed(config)
    assert assumed.pop("features") == sizes["features"]
    assert assumed == {name: pytest.approx(sizes[name], rel=0.02) for name in assumed}
    there = operations.of_update(config | {"device": "cuda"}, sizes)
    assert there == operations.of_update(config, sizes | {"words": sizes["padded"]})
    assert there > operations.of_update(config | {"device": "cpu"}, sizes)


@pytest.mark.parametrize("name", operations.NETWORKS)
def test_networks_for_photos(name):
    from icrlib.data.backbones import _torchvision

    with torch.device("meta"):
        network, photo = _torchvision(name, weights=None).network.eval(), torch.empty(1, 3, 224, 224)
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            network(photo)
    assert counter.get_total_flops() == operations.NETWORKS[name]

"""Counted operations against torch's own counter, on models that are really run."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

import icrlib
from icrlib import models
from icrlib.planning import asked, operations

SIZES = {"images": 6, "captions": 10, "words": 5}
BOTH = ("vse++", "bow", "vsrn")


def by_torch(
    method: str, d: int, *, images: int, captions: int, words: int, feature_dim: int = 24, regions: int = 7, **options
) -> tuple[int, int]:
    """(operations, bytes kept for the backward pass) of an update as a GPU does it, without norms and loss."""
    kept = {}

    def keep(tensor):
        kept[tensor.untyped_storage()._cdata] = tensor.untyped_storage()
        return tensor

    with torch.device("meta"):
        model = models.build(method, feature_dim, 50, embed_dim=d, **options)
        features = torch.empty(images, *([regions] if method == "vsrn" else []), feature_dim)
        numbers = torch.zeros(captions, words, dtype=torch.long)
    own = {p.untyped_storage()._cdata for p in model.parameters()}
    hooks = torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor)
    with FlopCounterMode(display=False) as counter, hooks:
        v = model.project(features)
        v = model.reader(model.graph(v))[1][0] if method == "vsrn" else v
        t = model.bag(numbers) if method == "bow" else model.gru(model.embed(numbers))[0][:, -1]
        (v @ t.T).sum().backward()
    return counter.get_total_flops(), sum(one.nbytes() for name, one in kept.items() if name not in own)


@pytest.mark.parametrize("method", BOTH)
@pytest.mark.parametrize("d", [16, 48])
def test_products_are_those_that_torch_counts(method, d):
    options = {} if method == "bow" else {"word_dim": 11}
    options |= {"blocks": 3} if method == "vsrn" else {}
    shape = {"feature_dim": 24} | ({"regions": 7} if method == "vsrn" else {})
    ours = operations.total(operations.METHODS[method](d=d, **SIZES, **shape, **options))
    assert ours == by_torch(method, d, **SIZES, **shape, **options)[0]


@pytest.mark.parametrize(("method", "d"), [("vse++", 1024), ("vsrn", 2048), ("bow", 1024), ("vsrn", 128)])
@pytest.mark.parametrize("batches", ["pairs", "images"])
def test_what_is_kept_is_about_what_autograd_keeps(method, d, batches):
    config = {
        "dataset": "coco",
        "method": method,
        "batches": batches,
        "model_options": {"embed_dim": d} | ({} if method == "bow" else {"word_dim": 300}),
    }
    sizes = operations.assumed(config) | {"words": 27}
    captions = 640 if batches == "images" else 128
    right = by_torch(method, d, images=128, captions=captions, words=27, feature_dim=2048, regions=36)[1]
    assert operations.kept_bytes(config, sizes) == pytest.approx(right, rel=0.2)


def test_a_training_is_its_updates_and_its_evaluations():
    config = {
        "dataset": "coco",
        "method": "vse++",
        "updates": 10,
        "evaluate_every": 4,
        "accumulate": 2,
        "model_options": {"embed_dim": 16, "word_dim": 8},
        "batch_size": 32,
        "batches": "images",
    }
    sizes = {"features": (20,), "words": 6.0, "each": 5.0, "val": 50, "vocabulary": 9}
    update = operations.total(operations.vse(32, 160, 16, 6, feature_dim=20, word_dim=8))
    look = operations.total(operations.vse(50, 250, 16, 6, feature_dim=20, word_dim=8)) / 3
    assert operations.of_update(config, sizes) == 2 * update
    assert operations.of_training(config, sizes) == pytest.approx(10 * 2 * update + 3 * look)  # at 4, 8 and 10
    photos = config | {"backbone": "resnet50"}
    more = operations.of_training(photos, sizes) - operations.of_training(config, sizes)
    assert more == pytest.approx((10 * 2 * 32 + 3 * 50) * operations.NETWORKS["resnet50"])


@pytest.mark.parametrize(
    "more",
    [
        {"method": "own.module:Part"},
        {"auxiliary": "own:Part"},
        {"method": "vsrn"},
        {"backbone": "own:network"},
        {"backbone": "resnet50", "finetune_after": 3},
    ],
)
def test_what_cannot_be_counted_is_none(more):
    config = {
        "dataset": "scenes",
        "data_options": {"regions": False},
        "method": "vse++",
        "updates": 10,
        "model_options": {"embed_dim": 16},
    } | more
    sizes = operations.assumed(config)
    assert operations.of_update(config, sizes) is None and operations.of_training(config, sizes) is None


@pytest.mark.parametrize("name", operations.NETWORKS)
def test_networks_for_photos(name):
    from icrlib.data.backbones import _torchvision

    with torch.device("meta"):
        network, photo = _torchvision(name, weights=None).network.eval(), torch.empty(1, 3, 224, 224)
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            network(photo)
    assert counter.get_total_flops() == operations.NETWORKS[name]


@pytest.mark.parametrize("regions", [False, True])
def test_what_is_assumed_of_scenes_is_so(regions):
    data = icrlib.load_dataset("scenes", regions=regions)
    config = {"dataset": "scenes", "data_options": data.options, "method": "vse++"}
    assumed, found = operations.assumed(config), operations.measured(data)
    for name in ("words", "padded"):
        assert assumed.pop(name) == pytest.approx(found.pop(name), rel=0.02)
    assert assumed == found


def test_on_a_gpu_captions_are_filled_up_to_the_longest_of_a_batch():
    """Twin: the words of batches that a sampler might draw; and only what reads words takes longer for it."""
    data = icrlib.load_dataset("scenes", train=400)
    lengths = data.vocabulary.encode(data.train.captions)[1].numpy()
    rng = np.random.default_rng(7)
    longest = np.mean([lengths[rng.choice(len(lengths), 128, replace=False)].max() for _ in range(40)])
    sizes = operations.measured(data)
    assert sizes["padded"] == pytest.approx(longest, rel=0.03) and sizes["padded"] > 1.5 * sizes["words"]
    for method in ("vse++", "bow", "vsrn"):
        config = asked.configuration("scenes", method)[0]
        known = sizes | {"features": operations.SHAPES["scenes", method == "vsrn"]}
        here, there = (operations.of_update(config | {"device": device}, known) for device in ("cpu", "cuda"))
        padded = operations.of_update(config, known | {"words": known["padded"]})
        assert there == padded and (there > here) == (method != "bow")
        kept = [operations.kept_bytes(config | {"device": device}, known) for device in ("cpu", "cuda")]
        assert (kept[1] > kept[0]) == (method != "bow")


@pytest.mark.parametrize(
    ("method", "shape", "said"),
    [
        ("vsrn", (2048,), "vsrn takes regions, and the features here are (2048,)"),
        ("bow", (36, 2048), "bow takes one vector an image, and the features here are (36, 2048)"),
        ("vse++", (2048,), ""),
        ("vsrn", (36, 2048), ""),
        ("own.module:Part", (3, 4), ""),
    ],
)
def test_features_of_the_other_kind(method, shape, said):
    assert operations.misfit(method, shape).startswith(said) and bool(operations.misfit(method, shape)) == bool(said)

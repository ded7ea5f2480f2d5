"""Counted operations against torch's own counter, on models that are really run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

import icrlib
from icrlib import models
from icrlib.data import targets
from icrlib.data.load import OUTLINES
from icrlib.models import ltd
from icrlib.models.counts import total
from icrlib.names import AUXILIARIES, METHODS
from icrlib.planning import asked, operations
from icrlib.training.pieces import in_pieces

SIZES = {"images": 6, "captions": 10, "words": 5}
COUNTED = ("vse++", "bow", "vsrn", "ltd", "vse_infty")
ON_REGIONS = ("vsrn", "vse_infty")


def by_torch(
    method: str, d: int, *, images: int, captions: int, words: int, feature_dim: int = 24, regions: int = 7, **options
) -> tuple[int, int]:
    """(operations, numbers kept for the backward pass) of an update as a GPU does it, without norms and loss."""
    with torch.device("meta"):
        model = models.build(method, feature_dim, 50, embed_dim=d, **options)
        features = torch.empty(images, *([regions] if method in ON_REGIONS else []), feature_dim)
        numbers = torch.zeros(captions, words, dtype=torch.long)
    with watched(model) as found:
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
    return found["operations"], found["kept"]


@contextmanager
def watched(model) -> Iterator[dict]:
    """What torch counts inside, and the bytes of all that it keeps but the model's own."""
    kept, found = {}, {}

    def keep(tensor):
        kept[tensor.untyped_storage()._cdata] = tensor.untyped_storage()
        return tensor

    own = {p.untyped_storage()._cdata for p in model.parameters()}
    with (
        FlopCounterMode(display=False) as counter,
        torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor),
    ):
        yield found
    found |= {
        "operations": counter.get_total_flops(),
        "kept": sum(one.nbytes() for name, one in kept.items() if name not in own),
    }


@pytest.mark.parametrize("method", COUNTED)
@pytest.mark.parametrize("d", [16, 48])
def test_products_are_those_that_torch_counts(method, d):
    options = {} if method == "bow" else {"word_dim": 11}
    shape = {"feature_dim": 24} | ({"regions": 7} if method in ON_REGIONS else {})
    several = {"vsrn": [{"blocks": 3}], "ltd": [{}, {"backward": "start"}]}
    several["vse_infty"] = [{"pool": "max"}, {"pool": "mean", "hidden": 9}]
    for more in several.get(method, [{}]):
        ours = METHODS[method].operations(embed_dim=d, **SIZES, **shape, **options, **more)
        assert total(ours) == by_torch(method, d, **SIZES, **shape, **options, **more)[0]


WHOLE = [("vse++", 1024), ("vsrn", 2048), ("bow", 1024), ("vsrn", 128), ("ltd", 1024), ("vse_infty", 1024)]


@pytest.mark.parametrize(("method", "d"), WHOLE)
@pytest.mark.parametrize("batches", ["pairs", "images"])
def test_what_is_kept_is_about_what_autograd_keeps(method, d, batches):
    config = {
        "dataset": "coco",
        "method": method,
        "batches": batches,
        "model_options": {"embed_dim": d} | ({} if method == "bow" else {"word_dim": 300}),
    }
    config["model_options"] |= {"pool": "max"} if method == "vse_infty" else {}
    sizes = operations.assumed(config) | {"words": 27}
    captions = 640 if batches == "images" else 128
    right = by_torch(method, d, images=128, captions=captions, words=27, feature_dim=2048, regions=36)[1]
    assert operations.kept_bytes(config, sizes) == pytest.approx(right, rel=0.2)


def test_a_batch_in_pieces_is_encoded_twice_and_keeps_a_piece():
    """As torch counts it, whose own GRU the pieces are given here."""
    config = {"method": "vse++", "model_options": {"embed_dim": 64, "word_dim": 32}, "device": "cuda"}
    sizes = {"features": (48,), "words": 9, "padded": 9, "each": 1, "vocabulary": 50, "val": 10}
    model = models.build("vse++", 48, 50, embed_dim=64, word_dim=32)
    counted, ours = [], []
    for count in (1, 4):
        with FlopCounterMode(display=False) as counter:
            t = in_pieces(lambda words: model.gru(model.embed(words))[0][:, -1], count, torch.zeros(128, 9).long())
            (in_pieces(model.project, count, torch.rand(128, 48)) @ t.T).sum().backward()
        counted.append(counter.get_total_flops())
        ours.append(config | {"batch_parts": count})
    more = operations.of_update(ours[1], sizes) / operations.of_update(ours[0], sizes)
    assert more == pytest.approx(4 / 3) and counted[1] / counted[0] == pytest.approx(more, rel=0.05)
    assert operations.kept_bytes(ours[1], sizes) < operations.kept_bytes(ours[0], sizes) / 3
    photos = config | {"backbone": "resnet50"}
    network = operations.of_update(photos, sizes) - operations.of_update(config, sizes)
    again = operations.of_update(photos | {"batch_parts": 4}, sizes) - operations.of_update(ours[1], sizes)
    assert again == pytest.approx(2 * network)


@pytest.mark.parametrize("tuned", [False, True])
def test_the_sentence_encoder_s_products_are_those_that_torch_counts(tuned):
    with torch.device("meta"):
        heads = [ltd.head(24, 16, False), ltd.head(16, 16, False) if tuned else torch.nn.Identity()]
        images, captions = torch.empty(6, 24), torch.empty(10, 16)
    with FlopCounterMode(display=False) as counter:
        (heads[0](images) @ heads[1](captions).T).sum().backward()
    ours = METHODS["sentence"].operations(6, 10, 1, feature_dim=24, embed_dim=16, tuned=tuned)
    assert total(ours) == counter.get_total_flops()


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("latent", {"target": "form"}),
        ("latent", {"target": "form", "hidden": 5}),
        ("tokens", {"decoder_words": 9}),
        ("tokens", {"decoder_words": 9, "softmax": "time"}),
    ],
)
def test_decoders_products_are_those_that_torch_counts(name, options):
    """As they are, but on vectors of captions that learn; what they keep, within a fifth."""
    captions, words, d, vocabulary = 40, 7, 16, 50
    data = SimpleNamespace(vocabulary=range(vocabulary), train=None)
    model = SimpleNamespace(options={"embed_dim": d}, reads_words=True)
    decoder = AUXILIARIES[name](**options)
    size = targets.size_of("form")
    decoder.wanted = lambda data: torch.randn(captions, size)
    decoder.prepare(data, model)
    step = SimpleNamespace(
        batch=SimpleNamespace(captions=torch.arange(captions)),
        captions=torch.randn(captions, d, requires_grad=True),
        numbers=torch.zeros(captions, words, dtype=torch.long),
        lengths=torch.full((captions,), words),
    )
    with watched(decoder) as found:
        decoder(step).backward()
    more = {"embed_dim": d, "vocabulary": vocabulary} | options
    assert AUXILIARIES[name].operations(captions, words, **more) == found["operations"]
    assert 4 * AUXILIARIES[name].kept(captions, words, **more) == pytest.approx(found["kept"], rel=0.2)


def test_ltd_is_counted_with_its_decoder_and_without():
    """The decoder is part of an update, and not of an evaluation."""
    config, sizes = asked.configuration("scenes", "ltd", "ntxent", given={"target": "form", "updates": 100})
    plain = asked.configuration("scenes", "ltd", "ntxent", given={"objective": "con", "updates": 100})[0]
    decoder = operations.of_update(config, sizes) - operations.of_update(plain, sizes)
    shape = {"embed_dim": config["model_options"]["embed_dim"], "vocabulary": sizes["vocabulary"], "target": "form"}
    assert decoder == AUXILIARIES["latent"].operations(128, sizes["padded"], **shape) > 0
    more = operations.of_training(config, sizes) - operations.of_training(plain, sizes)
    assert more == pytest.approx(100 * decoder) and operations.kept_bytes(config, sizes) > 0


class Linear(models.RetrievalModel):
    """A method of somebody's own that says nothing of its operations."""

    def __init__(self, feature_dim: int, words: int, size: int = 8) -> None:
        super().__init__()
        self.see, self.say = torch.nn.Linear(feature_dim, size), torch.nn.EmbeddingBag(words, size)

    def encode_images(self, features):
        return self.see(features)

    def encode_captions(self, words, lengths):
        return self.say(words[:, : int(lengths.max())])


class Masked(Linear):
    """It computes with lengths, where its captions are."""

    def encode_captions(self, words, lengths):
        inside = torch.arange(words.shape[1], device=words.device) < lengths[:, None]
        return self.say(words) * inside[:, :1]


class Asks(Linear):
    """It looks at a number, which tensors on the meta device have not."""

    def encode_captions(self, words, lengths):
        return self.say(words[:, : int(words.max()) + 1])


def test_a_method_of_ones_own_is_run_without_numbers():
    config = {"dataset": "scenes", "method": f"{__name__}:Linear", "model_options": {"size": 5}, "batch_size": 32}
    sizes = {"features": (20,), "words": 6.4, "padded": 9.0, "each": 5.0, "val": 50, "vocabulary": 9}
    found = operations.of_update(config, sizes)
    assert found == 2 * 2 * 32 * 20 * 5 + 3 * 2 * 32 * 32 * 5 and operations.kept_bytes(config, sizes) > 0
    assert operations.of_update(config | {"method": f"{__name__}:Masked"}, sizes) == found
    assert operations.of_update(config | {"method": f"{__name__}:Asks"}, sizes) is None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Asks, "operations", staticmethod(lambda images, captions, words, **sizes: {"all": 7 * images}))
        assert operations.of_update(config | {"method": f"{__name__}:Asks"}, sizes) == 7 * 32


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
    update = total(METHODS["vse++"].operations(32, 160, 6, embed_dim=16, feature_dim=20, word_dim=8))
    look = total(METHODS["vse++"].operations(50, 250, 6, embed_dim=16, feature_dim=20, word_dim=8)) / 3
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
        {"auxiliary": "tests.own_parts:Lengths"},
        {"auxiliary": "latent", "auxiliary_options": {"target": "own-1a2b3c4d"}},
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
        known = sizes | {"features": OUTLINES["scenes"]({}, regions=method == "vsrn").shape}
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

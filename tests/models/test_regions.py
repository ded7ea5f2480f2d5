"""Images with unequally many regions: padding changes nothing, in any model that takes them, and others refuse."""

from __future__ import annotations

import pytest
import torch

import icrlib
from icrlib import evaluation
from icrlib.data.regions import Regions
from icrlib.models import RetrievalModel, Sequences
from icrlib.models.build import build
from icrlib.names import METHODS
from icrlib.search import Index
from tests.data import regions as folders
from tests.own_parts import WordByWord

LENGTHS = torch.tensor([3, 5, 1, 5, 2, 4])
SIZES = {"feature_dim": 9, "words": 20, "embed_dim": 8, "word_dim": 6}
MODELS = {
    "vsrn": {},
    "vsrn norms": {"linear_norm": "regions", "graph_norm": "features"},
    "vsrn as on COCO": {"linear_norm": "regions", "final_norm": False},
    "vse_infty": {},
    "vse_infty max": {"pool": "max"},
    "vse_infty mean": {"pool": "mean", "padding": "released"},
    "cmn": {"places": "boxes"},
    "cmn mean": {"places": "boxes", "find": "mean", "relation": "places"},
    "matching": {},
}
SMALL = {"updates": 4, "batch_size": 8, "embed_dim": 8, "word_dim": 6, "evaluate_every": 2, "progress": False}


def made(name: str) -> RetrievalModel:
    torch.manual_seed(0)
    model = build(name.split()[0], **SIZES, **MODELS[name])
    for layer in model.modules():  # a new graph block is the identity, and stored statistics say nothing
        if isinstance(layer, torch.nn.BatchNorm1d):
            torch.nn.init.uniform_(layer.weight, 0.5, 1.5)
            layer.running_mean.uniform_(-0.5, 0.5)
            layer.running_var.uniform_(0.5, 2)
        elif isinstance(layer, torch.nn.Linear) and layer.bias is not None:  # they begin at zero, which pads with zero
            torch.nn.init.uniform_(layer.bias, -0.5, 0.5)
    return model


def pictures(junk: float = 7.0) -> torch.Tensor:
    values = torch.rand(len(LENGTHS), int(LENGTHS.max()), 9, generator=torch.Generator().manual_seed(1))
    values[..., 4:6] *= 0.5  # boxes: x0, y0, x1, y1, area
    values[..., 6:8] = 0.5 + 0.5 * values[..., 6:8]
    return values.masked_fill((torch.arange(values.shape[1]) >= LENGTHS[:, None])[..., None], junk)


def captions() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randint(4, 20, (4, 7), generator=torch.Generator().manual_seed(2)), torch.tensor([7, 2, 5, 3])


def test_every_model_of_regions_is_here():
    names = {name.split()[0] for name in MODELS}
    assert names == {name for name in METHODS if METHODS[name].takes == "regions"}


@pytest.mark.parametrize("kind", [Regions, Sequences])
@pytest.mark.parametrize("name", MODELS)
def test_padded_is_as_alone(name, kind):
    """Scores of an image in a padded batch are those of its own regions by themselves, also for a batch cut short."""
    model = made(name).eval()
    given, texts = kind(pictures(), LENGTHS), model.encode_captions(*captions())
    alone = torch.cat(
        [model.similarity(model.encode_images(r[None, :n]), texts) for r, n in zip(pictures(), LENGTHS, strict=True)]
    )
    parts = torch.cat([model.similarity(model.encode_images(part), texts) for part in given.split(2)])
    for result in (model.similarity(model.encode_images(given), texts), parts):
        torch.testing.assert_close(result, alone, rtol=0, atol=1e-5)
    ends = torch.tensor([0, 1, 2, 3, 0, 1])
    pairs = model.similarity_of_pairs(
        model.encode_images(given), model.encode_captions(*(part[ends] for part in captions()))
    )
    torch.testing.assert_close(pairs, alone[torch.arange(6), ends], rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_the_ways_that_a_gpu_takes(name, monkeypatch):
    """The library's own GRU over padded batches, read at the last true place: same scores and gradients."""
    result = []
    for emulated in (False, True):
        with monkeypatch.context() as patch:
            if emulated:
                patch.setattr(torch.Tensor, "is_cuda", property(lambda self: True))
            model = made(name).train().double()
            scores = model(Regions(pictures().double(), LENGTHS), *captions())
        (scores**2).sum().backward()
        result.append([scores.detach(), *(p.grad for p in model.parameters() if p.grad is not None)])
    for one, other in zip(*result, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_what_stands_in_the_padding_is_never_seen(name):
    """In training, where batch normalisations take statistics of the batch: same scores, and no gradient into it."""
    result, stored = [], []
    for junk in (7.0, -1e6, 0.0):
        model, values = made(name).train(), pictures(junk).requires_grad_()
        scores = model(Regions(values, LENGTHS), *captions())
        (scores**2).sum().backward()
        inside = torch.arange(values.shape[1]) < LENGTHS[:, None]
        assert values.grad[inside].any(1).float().mean() > 0.5 and not values.grad[~inside].any()
        result.append([scores, *(p.grad for p in model.parameters() if p.grad is not None)])
        stored.append(dict(model.named_buffers()))
    for other in result[1:]:
        assert all(torch.equal(one, two) for one, two in zip(result[0], other, strict=True))
    assert all(torch.equal(stored[0][key], stored[1][key]) for key in stored[0])


@pytest.mark.parametrize("name", MODELS)
def test_batch_normalisations_count_true_regions(name):
    """Each sees as many rows as there are regions, or images; as released, the zeros up to the longest, too."""
    model, rows = made(name).train(), []
    for layer in model.modules():
        if isinstance(layer, torch.nn.BatchNorm1d):
            layer.register_forward_hook(lambda layer, given, out: rows.append(len(given[0])))
    model.encode_images(Regions(pictures(), LENGTHS)[torch.tensor([0, 2, 4])])
    assert set(rows) <= ({9} if "released" in MODELS[name].values() else {3 + 1 + 2, 3})


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return icrlib.load_dataset("flickr8k", features=folders.make(tmp_path_factory.mktemp("boxes")), min_count=1)


@pytest.mark.parametrize("method", [name for name in MODELS if " " not in name])
def test_trained_saved_and_loaded(scenes, method, tmp_path):
    """Evaluated in parts of any size, it is the run's test; and the loaded model gives the same scores."""
    run = icrlib.train(scenes, method, updates=3, batch_size=16, embed_dim=8, word_dim=6, progress=False)
    again = icrlib.evaluate(run.model, scenes.test, batch_size=7)["rsum"]
    assert again == pytest.approx(run.record["test"]["rsum"], abs=1e-3)
    assert set(run.record["test"]["twins"]) >= {"swap", "attribute"}
    loaded = icrlib.load_model(run.save(tmp_path / "model"))
    assert torch.equal(evaluation.scores(loaded, scenes.test), evaluation.scores(run.model, scenes.test))


def test_a_model_that_knows_no_lengths_refuses(data, tmp_path):
    """Before anything is trained or encoded, with the ways out; and a grid of cells has no lengths."""
    for method in ("vse++", WordByWord):
        with pytest.raises(ValueError, match="_lens.npy.*vsrn, vse_infty, cmn"):
            icrlib.train(data, method, updates=1, progress=False)
    run = icrlib.train("scenes", "vse++", updates=1, smoke=True, progress=False)
    with pytest.raises(ValueError, match="_lens.npy"):
        icrlib.evaluate(run.model, data.test)
    with pytest.raises(ValueError, match="_lens.npy"):
        Index.of(run.model, folders.make(tmp_path / "f"))
    with pytest.raises(ValueError, match="places='boxes'"):
        build("cmn", places="cells", **SIZES).encode_images(Regions(pictures(), LENGTHS))

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
from icrlib.training import checkpoints
from tests.data import regions as folders
from tests.own_parts import WordByWord
from tests.training.test_resume import same_run

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
    "xvlm": {},
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
    return model


def pictures(junk: float = 7.0) -> torch.Tensor:
    values = torch.rand(len(LENGTHS), int(LENGTHS.max()), 9, generator=torch.Generator().manual_seed(1))
    values[..., 4:6] *= 0.5  # boxes: x0, y0, x1, y1, area
    values[..., 6:8] = 0.5 + 0.5 * values[..., 6:8]
    return values.masked_fill((torch.arange(values.shape[1]) >= LENGTHS[:, None])[..., None], junk)


def captions() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randint(4, 20, (4, 7), generator=torch.Generator().manual_seed(2)), torch.tensor([7, 2, 5, 3])


def counted(model) -> list[int]:
    """A list to which each batch normalisation adds the rows that it sees."""
    rows = []
    for layer in model.modules():
        if isinstance(layer, torch.nn.BatchNorm1d):
            layer.register_forward_hook(lambda layer, given, out: rows.append(len(given[0])))
    return rows


def test_every_model_of_regions_is_here():
    assert {name.split()[0] for name in MODELS} == {name for name in METHODS if METHODS[name].takes == "regions"}
    assert {name for name in METHODS if METHODS[name].takes_lengths} == {name.split()[0] for name in MODELS}


@pytest.mark.parametrize("kind", [Regions, Sequences])
@pytest.mark.parametrize("name", MODELS)
def test_padded_is_as_alone(name, kind):
    """Scores of an image in a padded batch are those of its own regions by themselves, also for a batch cut short."""
    model = made(name).eval()
    given, told = kind(pictures(), LENGTHS), model.encode_captions(*captions())
    alone = [model.similarity(model.encode_images(r[None, :n]), told) for r, n in zip(pictures(), LENGTHS, strict=True)]
    for found in (
        model.similarity(model.encode_images(given), told),
        torch.cat([model.similarity(model.encode_images(part), told) for part in given.split(2)]),
    ):
        torch.testing.assert_close(found, torch.cat(alone), rtol=0, atol=1e-5)
    ends = model.encode_captions(*(part[[0, 1, 2, 3, 0, 1]] for part in captions()))
    pairs = model.similarity_of_pairs(model.encode_images(given), ends)
    torch.testing.assert_close(pairs, torch.cat(alone)[torch.arange(6), [0, 1, 2, 3, 0, 1]], rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_the_ways_that_a_gpu_takes(name, monkeypatch):
    """The library's own GRU over padded batches, read at the last true place: same scores and gradients."""
    found = []
    for emulated in (False, True):
        with monkeypatch.context() as patch:
            if emulated:
                patch.setattr(torch.Tensor, "is_cuda", property(lambda self: True))
            model = made(name).train().double()
            scores = model(Regions(pictures().double(), LENGTHS), *captions())
        (scores**2).sum().backward()
        found.append([scores.detach(), *(p.grad for p in model.parameters() if p.grad is not None)])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_what_stands_in_the_padding_is_never_seen(name):
    """In training, where batch normalisations take statistics of the batch: same scores, and no gradient into it."""
    found, stored = [], []
    for junk in (7.0, -1e6, 0.0):
        model, values = made(name).train(), pictures(junk).requires_grad_()
        scores = model(Regions(values, LENGTHS), *captions())
        (scores**2).sum().backward()
        inside = torch.arange(values.shape[1]) < LENGTHS[:, None]
        assert values.grad[inside].any(1).float().mean() > 0.5 and not values.grad[~inside].any()
        found.append([scores, *(p.grad for p in model.parameters() if p.grad is not None)])
        stored.append(dict(model.named_buffers()))
    for other in found[1:]:
        assert all(torch.equal(one, two) for one, two in zip(found[0], other, strict=True))
    assert all(torch.equal(stored[0][key], stored[1][key]) for key in stored[0])


@pytest.mark.parametrize("name", MODELS)
def test_full_lengths_are_no_lengths(name):
    """In training as in evaluation, to rounding."""
    values = pictures(0.3)
    for training in (True, False):
        scores = []
        for given in (values, Regions(values, torch.full((6,), 5))):
            scores.append(made(name).train(training)(given, *captions()))
        torch.testing.assert_close(*scores, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", [name for name in MODELS if name != "vse_infty mean"])
def test_batch_normalisations_count_true_regions(name):
    """Each sees as many rows as there are regions, or images; padding to twice as many changes no statistics."""
    wide = torch.nn.functional.pad(pictures(), (0, 0, 0, 5), value=3.0)
    stored = []
    for values in (pictures(), wide):
        model = made(name).train()
        rows = counted(model)
        model.encode_images(Regions(values, LENGTHS))
        assert set(rows) <= {int(LENGTHS.sum()), len(LENGTHS)}
        stored.append({key: value for key, value in model.named_buffers()})
    for key in stored[0]:
        torch.testing.assert_close(stored[0][key], stored[1][key], rtol=1e-5, atol=1e-6)


def test_vse_infty_as_released_counts_zeros_up_to_the_longest():
    model = made("vse_infty mean").train()
    rows = counted(model)
    model.encode_images(Regions(pictures(), LENGTHS)[torch.tensor([0, 2, 4])])
    assert rows == [3 * 3], "three images, of which the longest has three regions"


def test_left_out_regions_are_true_ones():
    """Size augmentation throws for true regions alone, and leaves at least one of each image."""
    torch.manual_seed(0)
    model = build("vse_infty", **SIZES, drop_regions=0.9).train()
    values = pictures(float("nan"))
    for _ in range(50):
        kept, lengths = model.some(values, LENGTHS)
        assert (lengths >= 1).all() and (lengths <= LENGTHS).all() and not kept.isnan().any()


def test_a_grid_has_no_lengths():
    torch.manual_seed(0)
    with pytest.raises(ValueError, match="no grids of cells; take places='boxes'"):
        build("cmn", places="cells", **SIZES).encode_images(Regions(pictures(), LENGTHS))


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return load(folders.make(tmp_path_factory.mktemp("boxes")))


def load(folder):
    return icrlib.load_dataset("flickr8k", features=folder, min_count=1)


OPTIONS = {"vsrn": {}, "vse_infty": {}, "cmn": {"places": "boxes"}}


@pytest.mark.parametrize("method", OPTIONS)
def test_from_a_folder_to_a_search(data, method, tmp_path):
    """Trained, evaluated in parts of any size, saved, loaded, searched; junk in the padding changes nothing."""
    options = SMALL | OPTIONS[method]
    run = icrlib.train(data, method, out=tmp_path / "run", probe=tmp_path / "probe.json", **options)
    assert icrlib.evaluate(run.model, data.test, batch_size=2)["rsum"] == pytest.approx(run.record["test"]["rsum"])
    junk = load(folders.make(tmp_path / "junk", junk=9.0))
    same = icrlib.train(junk, method, **options)
    assert same.record["test"]["rsum"] == run.record["test"]["rsum"]
    assert same.record["config"]["data_hash"] != run.record["config"]["data_hash"]

    loaded = icrlib.load_model(run.save(tmp_path / "model"))
    scores = evaluation.scores(loaded, data.test)
    assert torch.equal(scores, evaluation.scores(run.model, data.test))
    index = Index.of(loaded, tmp_path / "junk", "test")
    best = scores[:, 3].topk(2).indices.tolist()
    assert [hit.file for hit in index.by_text(data.test.captions[3], top=2)] == [f"test-{row}" for row in best]


def test_resumed(data, tmp_path, monkeypatch):
    whole = icrlib.train(data, "vse_infty", drop_regions=0.3, out=tmp_path / "whole", **SMALL)
    real, times = checkpoints.write, []

    def stops(*given):
        real(*given)
        times.append(1)
        if len(times) == 1:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(checkpoints, "write", stops)
        with pytest.raises(KeyboardInterrupt):
            icrlib.train(data, "vse_infty", drop_regions=0.3, out=tmp_path / "cut", **SMALL)
    same_run(whole, icrlib.train(data, "vse_infty", drop_regions=0.3, out=tmp_path / "cut", **SMALL))


@pytest.mark.parametrize("method", ["vse++", "bow", "ltd", WordByWord])
def test_a_model_that_knows_no_lengths_refuses_by_name(data, method, tmp_path):
    """Before anything is trained or encoded, with the ways out."""
    name = METHODS[method].__name__ if isinstance(method, str) else method.__name__
    message = f"{name} cannot tell regions from padding.*_lens.npy.*vsrn, vse_infty, cmn.*mean of its regions"
    with pytest.raises(ValueError, match=message):
        icrlib.train(data, method, updates=1, progress=False)
    if method == "vse++":
        run = icrlib.train("scenes", "vse++", updates=1, smoke=True, progress=False)
        with pytest.raises(ValueError, match=message):
            icrlib.evaluate(run.model, data.test)
        with pytest.raises(ValueError, match=message):
            Index.of(run.model, folders.make(tmp_path / "f"))

"""VSRN: the image branch number by number, its quirks one by one, and what is refused."""

from __future__ import annotations

import math
from itertools import product

import pytest
import torch
import torch.nn.functional as F

from icrlib import models
from icrlib.models.vsrn import AXES, VSRN, normed, read
from tests.models import slow_vsrn as slow
from tests.models.test_vse import gru_by_hand

SHAPE = (4, 3, 5)  # images, regions, numbers of each


def make(**options):
    """A small model in double precision whose weights follow from their places."""
    torch.manual_seed(0)
    model = VSRN(feature_dim=5, words=30, embed_dim=4, word_dim=6, **options).double()
    slow.fill(model)
    return model


def given(shape=SHAPE, start=0.0):
    return torch.tensor(slow.numbers(shape, start), dtype=torch.float64)


def by_loops(model, shape=SHAPE):
    state = {name: value.tolist() for name, value in model.state_dict().items()}
    return torch.tensor(slow.encode(slow.numbers(shape), state, model.options, model.training), dtype=torch.float64)


def count(module):
    return sum(p.numel() for p in module.parameters())


def test_published_sizes():
    """The counts of the ECIR release at 2,048 numbers a region, and no decoder of captions."""
    with torch.device("meta"):
        model = models.build("vsrn", feature_dim=2048, words=8481)
    parts = {
        "project": 4_196_352,
        "graph": 67_158_016,
        "reader": 25_178_112,
        "final": 4_096,
        "gru": 14_438_400,
        "embed": 300 * 8481,
    }
    assert {name: count(part) for name, part in model.named_children()} == parts
    assert count(model) == sum(parts.values()) and len(model.graph) == 4 and count(model.graph[0]) == 16_789_504
    assert all(p.requires_grad for p in model.parameters())


def test_how_the_weights_start():
    torch.manual_seed(0)
    model = VSRN(feature_dim=60, words=500, embed_dim=100, word_dim=40)
    edge = math.sqrt(6 / 160)
    assert 0.98 * edge < model.project.weight.abs().max() <= edge and not model.project.bias.any()
    assert 0.098 < model.embed.weight.abs().max() <= 0.1 and model.embed.weight[0].abs().max() > 0.05
    for block in model.graph:
        assert not block.norm.weight.any() and not block.norm.bias.any()
        for layer in (block.relate, block.mix):
            assert 0.098 < layer.weight.abs().max() <= 0.1 and layer.bias.abs().max() <= 0.1  # 1 / sqrt(100)
    assert all(0.098 < p.abs().max() <= 0.1 for gru in (model.reader, model.gru) for p in gru.parameters())
    assert (model.final.weight == 1).all() and not model.final.bias.any()
    alike = VSRN(feature_dim=5, words=9, embed_dim=4, word_dim=4)  # two GRUs, whatever their sizes
    assert not {id(p) for p in alike.reader.parameters()} & {id(p) for p in alike.gru.parameters()}


@pytest.mark.parametrize(
    ("training", "final", "linear", "graph"), list(product((True, False), (True, False), AXES, AXES))
)
def test_against_loops(training, final, linear, graph):
    model = make(final_norm=final, linear_norm=linear, graph_norm=graph, blocks=2).train(training)
    expected = by_loops(model)
    torch.testing.assert_close(model.encode_images(given()), expected, rtol=1e-10, atol=1e-12)


def test_a_new_models_graph_is_the_identity():
    """Whatever the number of blocks, the regions reach the reader as the linear layer makes them."""
    torch.manual_seed(0)
    model = VSRN(feature_dim=5, words=9, embed_dim=4, word_dim=6, final_norm=False).double()
    plain = normed(model.project(given()), 1)
    expected = torch.stack([F.normalize(gru_by_hand(model.reader, regions), dim=0) for regions in plain])
    torch.testing.assert_close(model.encode_images(given()), expected)
    assert torch.equal(model.graph(given((2, 3, 4))), given((2, 3, 4)))


@pytest.mark.parametrize("data", ["flickr30k", "coco"])
def test_gradients_by_differences(data):
    """The whole image branch in training mode, both forms, with respect to regions and every weight it uses."""
    level = VSRN.published["*"] | VSRN.published[data]
    model = make(blocks=1, **{k: level[k] for k in ("linear_norm", "graph_norm", "final_norm")}).train()
    names = [name for name, _ in model.named_parameters() if name.split(".")[0] not in ("embed", "gru")]
    weights = [model.get_parameter(name).detach().clone().requires_grad_() for name in names]

    class Images(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, regions):
            return self.model.encode_images(regions)

    def run(regions, *changed):
        named = {f"model.{name}": value for name, value in zip(names, changed, strict=True)}
        return torch.func.functional_call(Images(), named, (regions,))

    assert torch.autograd.gradcheck(run, (given((3, 2, 5)).requires_grad_(), *weights), atol=1e-6)


def test_every_parameter_gets_a_gradient():
    model, words = make().train(), torch.tensor([[1, 5, 6, 2], [1, 7, 2, 0], [1, 8, 9, 2], [1, 4, 2, 0]])
    (model(given(), words, torch.tensor([4, 3, 4, 3])) ** 3).sum().backward()
    assert all(p.grad is not None and p.grad.any() for p in model.parameters())


def test_the_reader_knows_an_order_and_the_graph_does_not():
    model, order = make().eval(), torch.tensor([2, 0, 1])
    regions = model.project(given())
    torch.testing.assert_close(model.graph(regions[:, order]), model.graph(regions)[:, order], rtol=1e-10, atol=1e-10)
    changed = model.encode_images(given()[:, order]) - model.encode_images(given())
    assert changed.abs().max() > 1e-3


def test_reading_equals_a_gru():
    """The states and all gradients of torch's own, and the equations by hand."""
    torch.manual_seed(0)
    gru, regions = torch.nn.GRU(4, 6, batch_first=True).double(), given((5, 3, 4)).requires_grad_()
    direction = torch.randn(5, 6, dtype=torch.float64)
    torch.testing.assert_close(read(gru, regions), torch.stack([gru_by_hand(gru, one) for one in regions]))
    wanted = [regions, *gru.parameters()]
    found = torch.autograd.grad((read(gru, regions) * direction).sum(), wanted)
    expected = torch.autograd.grad((gru(regions)[1][0] * direction).sum(), wanted)
    for mine, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(mine, theirs)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_finds_the_same():
    model = make().float().eval()
    expected = model.encode_images(given().float())
    torch.testing.assert_close(model.cuda().encode_images(given().float().cuda()).cpu(), expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("axis", [1, 2])
def test_norms_are_torchs_own_and_survive_zeros(axis):
    values = given((2, 3, 4)) - 0.5
    values[0, :, 1], values[1, 2] = 0, 0
    values.requires_grad_()
    direction = given((2, 3, 4), start=1.0)
    both = normed(values, axis), F.normalize(values, dim=axis)
    torch.testing.assert_close(*both)
    gone = (values == 0).all(axis, keepdim=True)
    slopes = [torch.autograd.grad((made * direction).sum(), values)[0] for made in both]
    torch.testing.assert_close(*(slope.masked_fill(gone, 0) for slope in slopes))
    assert slopes[0].isfinite().all()
    model = make(linear_norm="regions")
    assert model.eval().encode_images(torch.zeros(2, 3, 5, dtype=torch.float64)).isfinite().all()


def test_captions_are_those_of_vse():
    model, vse = make(), models.VSE(feature_dim=5, words=30, embed_dim=4, word_dim=6).double()
    for part in ("embed", "gru"):
        getattr(vse, part).load_state_dict(getattr(model, part).state_dict())
    words, lengths = torch.tensor([[1, 5, 6, 7, 2], [1, 9, 2, 0, 0]]), torch.tensor([5, 3])
    assert torch.equal(model.encode_captions(words, lengths), vse.encode_captions(words, lengths))
    scores = model.eval()(given(), words, lengths)
    assert scores.shape == (4, 2) and scores.abs().max() <= 1 + 1e-12


def test_half_precision():
    model = make().float().eval()
    with torch.autocast("cpu", torch.bfloat16):
        found = model.encode_images(given().float())
    torch.testing.assert_close(found.float(), model.encode_images(given().float()), rtol=0.1, atol=0.1)


def test_a_model_is_made_again_from_its_options():
    for options in ({}, {"linear_norm": "regions", "final_norm": False, "blocks": 1}):
        model = make(**options).eval()
        again = VSRN(**model.options).double().eval()
        again.load_state_dict(model.state_dict())
        assert torch.equal(again.encode_images(given()), model.encode_images(given()))


def test_pooled_features_are_refused_with_the_way_out():
    with pytest.raises(ValueError, match=r"image features \(4, 5\): this model takes \(images, regions, 5\)") as err:
        make().encode_images(torch.rand(4, 5))
    assert "load_dataset('scenes', regions=True)" in str(err.value) and "--regions 4" in str(err.value)


@pytest.mark.parametrize("shape", [(4, 3, 6), (4, 0, 5), (4, 3, 2, 5)])
def test_other_shapes_are_refused(shape):
    with pytest.raises(ValueError, match=r"this model takes \(images, regions, 5\)$"):
        make().encode_images(torch.rand(shape))


def test_options_are_checked():
    assert models.options_of("vsrn") == ["embed_dim", "word_dim", "blocks", "linear_norm", "graph_norm", "final_norm"]
    for name in ("linear_norm", "graph_norm"):
        with pytest.raises(ValueError, match=rf"unknown {name} 'region'; allowed: .*Did you mean 'regions'\?"):
            models.build("vsrn", 5, 9, **{name: "region"})
    with pytest.raises(ValueError, match="final_norm must be True or False; got 'no'"):
        models.build("vsrn", 5, 9, final_norm="no")

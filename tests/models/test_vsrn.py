"""VSRN: the image branch number by number, its quirks one by one, and what is refused."""

from __future__ import annotations

from itertools import product

import pytest
import torch
import torch.nn.functional as F

from icrlib import models
from icrlib.models.vsrn import AXES, VSRN, GraphBlock, normed
from tests.models import slow_vsrn as slow

SHAPE = (4, 3, 5)  # images, regions, numbers of each


def make(**options):
    """A small model in double precision whose weights follow from their places."""
    torch.manual_seed(0)
    model = VSRN(feature_dim=5, words=30, embed_dim=4, word_dim=6, **options).double()
    slow.fill(model)
    return model


def given(shape=SHAPE, start=0.0):
    return slow.numbers(shape, start)


@pytest.mark.parametrize(
    ("training", "final", "linear", "graph"), list(product((True, False), (True, False), AXES, AXES))
)
def test_against_loops(training, final, linear, graph):
    model = make(final_norm=final, linear_norm=linear, graph_norm=graph, blocks=2).train(training)
    expected = slow.encode(given(), dict(model.state_dict()), model.options, training)
    torch.testing.assert_close(model.encode_images(given()), expected, rtol=1e-10, atol=1e-12)


def test_a_new_block_is_the_identity_and_opens_by_its_norm():
    """To the last bit. Scale and shift get the first gradient; when they have moved, all others get one, too."""
    block, regions = GraphBlock(5).double(), given()
    for training in (True, False):
        assert torch.equal(block.train(training)(regions), regions)
    block.train()
    rate = torch.optim.SGD(block.parameters(), lr=0.1)
    (block(regions) ** 3).sum().backward()
    assert {name for name, p in block.named_parameters() if p.grad.any()} == {"norm.weight", "norm.bias"}
    rate.step()
    rate.zero_grad()
    (block(regions) ** 3).sum().backward()
    assert all(p.grad.any() for name, p in block.named_parameters() if name != "mix.bias")
    # What the batch normalisation subtracts again cannot matter: the bias of what it is given.
    assert block.mix.bias.grad.abs().max() < 1e-9


@pytest.mark.parametrize("data", ["flickr30k", "coco"])
def test_gradients_by_differences(data):
    """The whole image branch in training mode, both forms, with respect to regions and every weight it uses."""
    level = VSRN.published["*"] | VSRN.published[data]
    model = make(blocks=1, **{k: level[k] for k in ("linear_norm", "graph_norm", "final_norm")}).train()
    model.forward = model.encode_images  # what a functional call calls
    names = [name for name, _ in model.named_parameters() if name.split(".")[0] not in ("embed", "gru")]
    weights = [model.get_parameter(name).detach().clone().requires_grad_() for name in names]

    def run(regions, *changed):
        return torch.func.functional_call(model, dict(zip(names, changed, strict=True)), (regions,))

    assert torch.autograd.gradcheck(run, (given((3, 2, 5)).requires_grad_(), *weights), atol=1e-6)


def test_the_reader_knows_an_order_and_the_graph_does_not():
    model, order = make().eval(), torch.tensor([2, 0, 1])
    regions = model.project(given())
    torch.testing.assert_close(model.graph(regions[:, order]), model.graph(regions)[:, order], rtol=1e-10, atol=1e-10)
    changed = model.encode_images(given()[:, order]) - model.encode_images(given())
    assert changed.abs().max() > 1e-3


@pytest.mark.parametrize("axis", [1, 2])
def test_norms_are_torchs_own_and_survive_zeros(axis):
    values = given((2, 3, 4)) - 0.5
    values[0, :, 1], values[1, 2] = 0, 0
    values.requires_grad_()
    both = normed(values, axis), F.normalize(values, dim=axis)
    torch.testing.assert_close(*both)
    gone, direction = (values == 0).all(axis, keepdim=True), given((2, 3, 4), start=1.0)
    slopes = [torch.autograd.grad((made * direction).sum(), values)[0] for made in both]
    torch.testing.assert_close(*(slope.masked_fill(gone, 0) for slope in slopes))
    assert slopes[0].isfinite().all()


def test_what_is_refused():
    for shape in ((4, 5), (4, 3, 6), (4, 0, 5), (4, 3, 2, 5)):
        with pytest.raises(ValueError, match=r"this model takes \(images, regions, 5\).*--regions 4"):
            make().encode_images(torch.rand(shape))
    for name, value in (("linear_norm", "region"), ("graph_norm", "region")):
        with pytest.raises(ValueError, match=f"{name}.*'{value}'"):
            models.build("vsrn", 5, 9, **{name: value})

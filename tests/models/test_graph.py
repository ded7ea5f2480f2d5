"""The graph block of VSRN: its formula number by number, the identity at first, no order among regions."""

from __future__ import annotations

import pytest
import torch

from icrlib.models.parts.graph import GraphBlock
from tests.models import slow_vsrn as slow


@pytest.fixture
def block():
    torch.manual_seed(0)
    made = GraphBlock(5).double()
    slow.fill(made)
    return made


def regions(images=3, count=4, size=5):
    return torch.tensor(slow.numbers((images, count, size)), dtype=torch.float64)


def lists(module):
    return {name: value.tolist() for name, value in module.state_dict().items()}


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("shape", [(3, 4, 5), (2, 1, 5), (1, 7, 5)])
def test_against_loops(block, training, shape):
    block.train(training)
    expected = slow.block(slow.numbers(shape), lists(block), "", training)
    torch.testing.assert_close(block(regions(*shape)), torch.tensor(expected, dtype=torch.float64), rtol=1e-12, atol=0)


def test_a_new_block_is_the_identity_and_opens_by_its_norm():
    """To the last bit. Scale and shift get the first gradient; when they have moved, all others get one, too."""
    block, given = GraphBlock(5).double(), regions()
    for training in (True, False):
        assert torch.equal(block.train(training)(given), given)
    block.train()
    rate = torch.optim.SGD(block.parameters(), lr=0.1)
    (block(given) ** 3).sum().backward()
    assert {name for name, p in block.named_parameters() if p.grad.any()} == {"norm.weight", "norm.bias"}
    rate.step()
    rate.zero_grad()
    (block(given) ** 3).sum().backward()
    assert all(p.grad.any() for name, p in block.named_parameters() if name != "mix.bias")
    # What the batch normalisation subtracts again cannot matter: the bias of what it is given.
    assert block.mix.bias.grad.abs().max() < 1e-9

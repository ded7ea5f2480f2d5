"""Pooling: GPO's golden numbers, and what holds of every pooling."""

from __future__ import annotations

import pytest
import torch

from icrlib.models.parts import pool

LENGTHS = torch.tensor([5, 3])
THETA = (
    [0.0113310768, 0.0397300644, 0.1279086146, 0.2293312980, 0.5916989442],
    [0.0174130496, 0.0871278488, 0.8954591016],
)
POOLED = [
    [-0.7176066491, -0.7355206977, -0.6133485637, -0.4806957608],
    [-0.7838145040, 0.2563051013, -0.3858634436, -0.9196224106],
]


@pytest.fixture
def golden() -> pool.GPO:
    """The weights that FS S1.1 fills in, which its released file was run with."""
    made = pool.GPO().double()
    for t, weight in enumerate(made.parameters()):
        i = torch.arange(weight.numel(), dtype=torch.float64)
        weight.data = (0.3 * torch.sin((0.7 + 0.01 * t) * i + 0.3 * t)).view_as(weight)
    return made


def values(*shape: int) -> torch.Tensor:
    return torch.sin(1.3 * torch.arange(torch.Size(shape).numel(), dtype=torch.float64) + 0.2).view(shape)


def test_gpo_s_golden_numbers(golden):
    """To 1e-8: the released file computes its frequencies in single precision, and its numbers are 3e-9 away."""
    weights = golden.weights(LENGTHS)
    for row, expected in zip(weights, THETA, strict=True):
        torch.testing.assert_close(row[: len(expected)], torch.tensor(expected, dtype=torch.float64), atol=1e-8, rtol=0)
    assert not weights[1, 3:].any()
    torch.testing.assert_close(golden(values(2, 5, 4), LENGTHS), torch.tensor(POOLED).double(), atol=1e-7, rtol=0)
    assert sum(p.numel() for p in golden.parameters()) == 12_704


def test_gpo_against_one_element_list_at_a_time(golden):
    """A slow twin: each length by itself, sorted feature by feature."""
    torch.manual_seed(0)
    given, lengths = torch.randn(6, 9, 3, dtype=torch.float64), torch.tensor([9, 1, 4, 4, 2, 7])
    for row, count, result in zip(given, lengths.tolist(), golden(given, lengths), strict=True):
        states = golden.gru(pool.encoded(count, row)[None])[0][0]
        scores = golden.linear((states[:, :32] + states[:, 32:]) / 2)[:, 0] / 0.1
        expected = [
            sum(w * x for w, x in zip(scores.softmax(0), sorted(row[:count, j], reverse=True), strict=True))
            for j in range(3)
        ]
        torch.testing.assert_close(result, torch.stack(expected))


@pytest.mark.parametrize("name", pool.POOLS)
def test_what_holds_of_every_pooling(name, golden):
    pooled = golden if name == "gpo" else pool.pool_of(name)
    torch.manual_seed(1)
    given = torch.randn(2, 5, 4, dtype=torch.float64)
    result = pooled(given, LENGTHS)
    turned = torch.stack([given[0, torch.randperm(5)], torch.cat([given[1, [2, 0, 1]], given[1, 3:]])])
    torch.testing.assert_close(pooled(turned, LENGTHS), result, msg="the order of the elements counts")
    wider = torch.cat([given, torch.full((2, 3, 4), 7.0, dtype=torch.float64)], 1)
    torch.testing.assert_close(pooled(wider, LENGTHS), result, msg="padding counts")
    torch.testing.assert_close(pooled(given[:, :1], torch.ones(2, dtype=torch.long)), given[:, 0])
    assert (result <= given.amax(1).maximum(given[:, :3].amax(1)) + 1e-12).all()
    assert torch.autograd.gradcheck(lambda x: pooled(x, LENGTHS), given.requires_grad_())


def test_mean_and_maximum_are_what_they_are_called(golden):
    """And without scores GPO is the mean."""
    given = values(2, 5, 4)
    rows = [given[0], given[1, :3]]
    mean = torch.stack([row.mean(0) for row in rows])
    torch.testing.assert_close(pool.Max()(given, LENGTHS), torch.stack([row.amax(0) for row in rows]))
    torch.testing.assert_close(pool.Mean()(given, LENGTHS), mean)
    torch.nn.init.zeros_(golden.linear.weight)
    torch.testing.assert_close(golden(given, LENGTHS), mean)

"""SigLIP: its authors' algorithm, what a collapse costs, and its two numbers, fixed unless asked for."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn.functional import logsigmoid, normalize

from icrlib.losses import SigLIP
from icrlib.training.config import resolve
from icrlib.training.loop import prepare


def published(scores, t_prime, bias):
    """Algorithm 1 of the paper, as its pseudo-code has it: one sum over all pairs, divided by the batch."""
    logits = scores * t_prime.exp() + bias
    labels = 2 * torch.eye(len(scores), dtype=scores.dtype) - 1
    return -logsigmoid(labels * logits).sum() / len(scores)


def test_golden_numbers_by_hand():
    """Two pairs, scale 2 and bias -1: logits 1, -1 / 0, 0, so softplus of -1 (pulled), -1 (pushed), 0, 0."""
    scores = torch.tensor([[1.0, 0.0], [0.5, 0.5]], dtype=torch.float64)
    loss, own = SigLIP(scale=2.0, bias=-1.0), torch.eye(2, dtype=torch.bool)
    low, even = math.log1p(math.exp(-1)), math.log(2)
    assert loss.per_query(scores, own).tolist() == pytest.approx([2 * low, 2 * even])
    third = 1 / (1 + math.e)
    expected = torch.tensor([[-2 * third, 2 * third], [1.0, -1.0]], dtype=torch.float64)
    torch.testing.assert_close(loss.weights(scores, own), expected)
    assert float(loss(scores, own)) == pytest.approx(low + even)


@pytest.mark.parametrize(("scale", "bias"), [(10.0, -10.0), (3.0, -1.0), (20.0, 2.0)])
def test_it_is_the_published_algorithm(scale, bias):
    """Value, and the derivatives by the vectors, by t' and by b, all from the authors' form through autograd."""
    generator = torch.Generator().manual_seed(0)
    raw = [torch.randn(7, 5, generator=generator, dtype=torch.float64) for _ in range(2)]
    result = []
    for way in ("ours", "theirs"):
        x, y = (v.clone().requires_grad_() for v in raw)
        t_prime, b = (torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in (math.log(scale), bias))
        scores, own = normalize(x, dim=1) @ normalize(y, dim=1).T, torch.eye(7, dtype=torch.bool)
        value = published(scores, t_prime, b) if way == "theirs" else SigLIP().sharpened(scores, own, t_prime, b)
        value.backward()
        result.append([value.detach(), x.grad, y.grad, t_prime.grad, b.grad])
        torch.testing.assert_close(SigLIP(scale, bias)(scores.detach(), own), value.detach())
    for ours, theirs in zip(*result, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-12)


def test_fixed_unless_asked_for_and_refusals(tiny):
    assert {"tau", "bias"} == set(SigLIP.learnable)
    with pytest.raises(ValueError, match="learn_bias= goes with learn_tau=True"):
        resolve(tiny, "vse++", "siglip", given={"learn_bias": True})
    config = resolve(tiny, "vse++", "siglip", given={"scale": 5.0})
    assert (config.loss_options["scale"], config.loss_options["bias"]) == (5.0, -10.0)
    assert not prepare(tiny, config)[1].scalars

"""SigLIP: its authors' algorithm, what a collapse costs, and its two numbers, fixed unless asked for."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn.functional import logsigmoid, normalize

from icrlib.losses import SigLIP
from icrlib.training.config import resolve
from icrlib.training.loop import prepare

from .slow import GM, OWN3, OWN8, OWN24, OWN_GM, S3


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
    found = []
    for way in ("ours", "theirs"):
        x, y = (v.clone().requires_grad_() for v in raw)
        t_prime, b = (torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in (math.log(scale), bias))
        scores, own = normalize(x, dim=1) @ normalize(y, dim=1).T, torch.eye(7, dtype=torch.bool)
        value = published(scores, t_prime, b) if way == "theirs" else SigLIP().sharpened(scores, own, t_prime, b)
        value.backward()
        found.append([value.detach(), x.grad, y.grad, t_prime.grad, b.grad])
        torch.testing.assert_close(SigLIP(scale, bias)(scores.detach(), own), value.detach())
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-12)


def test_pairs_do_not_look_at_each_other():
    """Moving one score changes its own weight alone; a constant added to all of them changes the loss."""
    loss, moved = SigLIP(), S3.clone()
    moved[0, 1] += 0.3
    changed = loss.weights(moved, OWN3) != loss.weights(S3, OWN3)
    assert changed.nonzero().tolist() == [[0, 1]]
    assert loss(S3 + 0.1, OWN3) != loss(S3, OWN3)
    threshold = torch.full((2, 2), 1.0, dtype=torch.float64)  # -b/t: both answers are equally likely there
    weights = loss.weights(threshold, torch.eye(2, dtype=torch.bool))
    torch.testing.assert_close(weights, torch.tensor([[-5.0, 5], [5, -5]], dtype=torch.float64))


@pytest.mark.parametrize("mask", [OWN8, OWN_GM, OWN24], ids=["8 x 8", "8 x 40", "2 x 4"])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize(("scale", "bias"), [(10.0, -10.0), (10.0, -1.0), (1.0, -3.0)])
def test_a_collapse_sits_where_equal_scores_cost_least(mask, reduction, scale, bias):
    loss = SigLIP(scale, bias, queries=reduction)
    levels = torch.linspace(-1, 1, 201, dtype=torch.float64)
    costs = torch.stack([loss(torch.full(mask.shape, float(c), dtype=torch.float64), mask) for c in levels])
    assert loss.collapsed(mask) <= float(costs.min()) + 1e-12
    assert loss.collapsed(mask) == pytest.approx(float(costs.min()), rel=1e-3)


def test_half_precision_scores_are_computed_in_single():
    t, b = torch.tensor(1.0), torch.tensor(-1.0)
    halved = SigLIP().sharpened(GM.bfloat16(), OWN_GM, t, b)
    assert halved.dtype == torch.float32
    torch.testing.assert_close(halved, SigLIP().sharpened(GM.bfloat16().float(), OWN_GM, t, b), rtol=0, atol=0)


def test_fixed_unless_asked_for_and_refusals(tiny):
    assert {"tau", "bias"} == set(SigLIP.learnable)
    with pytest.raises(ValueError, match="learn_bias= goes with learn_tau=True"):
        resolve(tiny, "vse++", "siglip", given={"learn_bias": True})
    config = resolve(tiny, "vse++", "siglip", given={"scale": 5.0})
    assert (config.loss_options["scale"], config.loss_options["bias"]) == (5.0, -10.0)
    assert not prepare(tiny, config)[1].scalars

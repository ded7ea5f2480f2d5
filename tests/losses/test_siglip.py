"""SigLIP: its authors' algorithm, its two numbers learned, and a training with both that is killed and goes on."""

from __future__ import annotations

import json
import math
import signal
from types import SimpleNamespace

import pytest
import torch
from torch.nn.functional import logsigmoid, normalize

import icrlib
from icrlib.auxiliary import Criterion
from icrlib.losses import SigLIP, by_name
from icrlib.training.config import resolve
from icrlib.training.loop import prepare
from tests.killing import exit_code

from . import slow
from .slow import GM, OWN3, OWN8, OWN24, OWN_GM, S3, S8, S24


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


def test_both_directions_of_a_square_are_one_number():
    for scores in (S3, S8):
        own = torch.eye(len(scores), dtype=torch.bool)
        both = [SigLIP().per_query(s, own).mean() for s in (scores, scores.T)]
        torch.testing.assert_close(*both)


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


def criterion_and_step(scores, mask, learn=("tau", "bias"), **options):
    learned = Criterion(by_name("siglip", **options), learn=learn).double()
    return learned, SimpleNamespace(update=0, scores=scores, positives=mask)


@pytest.mark.parametrize(("scores", "mask"), [(S3, OWN3), (S24, OWN24), (GM, OWN_GM)], ids=["3 x 3", "2 x 4", "8 x 40"])
@pytest.mark.parametrize("learn", [("tau",), ("tau", "bias")])
def test_scale_and_bias_are_learned(scores, mask, learn):
    """From the loss's own values on; derivatives against differences of the loss rebuilt with other numbers."""
    learned, step = criterion_and_step(scores.clone().requires_grad_(), mask, learn, scale=4.0, bias=-3.0)
    value = learned(step)
    value.backward()
    assert float(value.detach()) == pytest.approx(float(SigLIP(4.0, -3.0)(scores, mask)), rel=1e-6)
    torch.testing.assert_close(step.scores.grad, SigLIP(4.0, -3.0).score_gradient(scores, mask), rtol=1e-5, atol=1e-7)

    def at(t, b):
        return float(SigLIP(math.exp(t), b)(scores, mask))

    t, h = math.log(4.0), 1e-6
    slope = (at(t + h, -3.0) - at(t - h, -3.0)) / (2 * h)
    assert float(learned.log_scale.grad) == pytest.approx(slope, rel=1e-5)
    if "bias" in learn:
        slope = (at(t, -3.0 + h) - at(t, -3.0 - h)) / (2 * h)
        assert float(learned.bias.grad) == pytest.approx(slope, rel=1e-5)
    else:
        assert learned.bias is None


def test_what_looks_at_a_learned_loss():
    learned, _ = criterion_and_step(S3, OWN3)
    learned.log_scale.data.fill_(math.log(7.0))
    learned.bias.data.fill_(-2.5)
    now = learned.loss_at(3)
    assert isinstance(now, SigLIP) and now.scale == pytest.approx(7) and now.bias == -2.5
    assert learned.notes() == {"tau": pytest.approx(1 / 7), "bias": -2.5}
    alone, _ = criterion_and_step(S3, OWN3, ("tau",), bias=-4.0)
    assert alone.loss_at(0).bias == -4.0 and alone.notes() == {"tau": pytest.approx(0.1)}


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


LEARNED = dict(
    loss="siglip", learn_tau=True, learn_bias=True, scale=8.0, bias=-6.0, weight_decay=0.5, optimiser="adamw"
)
WORKER = """
import sys, json
from tests.conftest import make_split
from tests.killing import die_in_step
from icrlib.data import Dataset, Vocabulary
import icrlib
train, val, test = make_split("train", 60, 0), make_split("val", 20, 1), make_split("test", 20, 2)
data = Dataset("scenes", train, val, test, Vocabulary.build(train.captions, 1), "f" * 64,
               {"embed_dim": 8, "word_dim": 6, "lr": 1e-2, "updates": 40, "batch_size": 16}, {"tiny": True})
die_in_step(27)
icrlib.train(data, out=sys.argv[1], progress=False, **json.loads(sys.argv[2]))
"""


@pytest.mark.process
def test_a_training_with_both_learned_survives_a_kill(tiny, tmp_path):
    """Both move, without decay and inside the clipped norm; a killed run ends as the whole one, bit for bit."""
    whole = icrlib.train(tiny, out=tmp_path / "whole", progress=False, **LEARNED)
    for path in ([math.log(1 / e["tau"]) for e in whole.history], [e["bias"] for e in whole.history]):
        assert len({round(value, 7) for value in path}) == len(path), "each moves"
    assert abs(path[-1] + 6) < 0.3, "20 steps of 0.01 and 20 of 0.001; decay would take 0.6 from the bias"
    assert exit_code(WORKER, str(tmp_path / "killed"), json.dumps(LEARNED)) == -signal.SIGKILL
    assert (tmp_path / "killed" / "checkpoint.pt").exists()
    again = icrlib.train(tiny, out=tmp_path / "killed", progress=False, **LEARNED)
    for name, value in whole.model.state_dict().items():
        assert torch.equal(value, again.model.state_dict()[name]), name
    assert [(e["tau"], e["bias"]) for e in whole.history] == [(e["tau"], e["bias"]) for e in again.history]
    assert whole.record["test"] == again.record["test"]


def test_both_are_in_the_clipped_norm_and_never_decay(tiny, monkeypatch):
    seen, clip = [], torch.nn.utils.clip_grad_norm_
    monkeypatch.setattr(torch.nn.utils, "clip_grad_norm_", lambda w, n: seen.append(list(w)) or clip(w, n))
    icrlib.train(tiny, updates=2, progress=False, **LEARNED)
    assert sum(w.ndim == 0 for w in seen[0]) == 2
    _, criterion = prepare(
        tiny, resolve(tiny, "vse++", "siglip", given={name: value for name, value in LEARNED.items() if name != "loss"})
    )
    (group,) = criterion.parameter_groups(0.1)
    assert group["weight_decay"] == 0 and group["params"] == [criterion.log_scale, criterion.bias]


def test_the_gradient_is_autograd_s_without_a_closed_form():
    scores = GM.clone().requires_grad_()
    loss = SigLIP(scale=5.0, bias=-2.0)
    loss(scores, OWN_GM).backward()
    torch.testing.assert_close(scores.grad, slow.gradient(loss, GM, OWN_GM))

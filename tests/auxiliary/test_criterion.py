"""The criterion: learned scales against differences, constants kept, and what it tells the history."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

import icrlib
from icrlib.auxiliary import Criterion, LagrangeMultiplier
from icrlib.auxiliary.latent import LatentTarget
from icrlib.auxiliary.tokens import TokenDecoder
from icrlib.losses import IFM, NTXent, SigLIP, SmoothAP, Triplet, TripletSH
from icrlib.training.config import resolve
from icrlib.training.loop import prepare
from tests.losses.slow import GM, OWN3, OWN24, OWN_GM, S3, S24


def step(scores, update=0, positives=None):
    positives = torch.eye(len(scores), dtype=torch.bool) if positives is None else positives
    return SimpleNamespace(update=update, scores=scores, positives=positives)


@pytest.fixture
def scores():
    return 0.4 * torch.rand(6, 6, generator=torch.Generator().manual_seed(1), dtype=torch.double) + 0.3 * torch.eye(6)


def rebuilt(loss, t, bias):
    """The loss with the scale e^t and the bias that are meant: no product of scores, no chain rule."""
    scale = {"scale": math.exp(t)} if hasattr(loss, "scale") else {"tau": math.exp(-t)}
    return replace(loss, **scale, **({} if bias is None else {"bias": bias}))


@pytest.mark.parametrize("moved", [0.0, 0.4])
@pytest.mark.parametrize("problem", [None, (S3, OWN3), (S24, OWN24), (GM, OWN_GM)], ids=["6", "3", "2 x 4", "8 x 40"])
@pytest.mark.parametrize(
    ("loss", "learn"),
    [
        (NTXent(0.3), ("tau",)),
        (SmoothAP(0.05), ("tau",)),
        (IFM(0.07, 0.15), ("tau",)),  # its margin must be scaled, too
        (SigLIP(4.0, -3.0), ("tau",)),
        (SigLIP(4.0, -3.0), ("tau", "bias")),
    ],
    ids=repr,
)
def test_learned_scalars_against_a_loss_that_is_rebuilt(loss, learn, problem, moved, scores):
    """At the loss's own values, and where they moved: value, derivatives by scores and scalars, what looks at it."""
    scores, mask = problem or (scores, torch.eye(6, dtype=torch.bool))
    learned = Criterion(loss, learn=learn).double()
    t, h = -math.log(loss.tau) + moved, 1e-6
    bias = loss.bias - moved if "bias" in learn else None
    learned.log_scale.data.fill_(t)
    if bias is not None:
        learned.bias.data.fill_(bias)
    given = scores.clone().requires_grad_()
    value = learned(step(given, positives=mask))
    value.backward()

    def at(t, bias):
        return float(rebuilt(loss, t, bias)(scores, mask))

    assert float(value.detach()) == pytest.approx(at(t, bias), rel=1e-9)
    torch.testing.assert_close(given.grad, rebuilt(loss, t, bias).score_gradient(scores, mask), rtol=1e-7, atol=1e-10)
    slope = (at(t + h, bias) - at(t - h, bias)) / (2 * h)
    assert float(learned.log_scale.grad) == pytest.approx(slope, rel=1e-5, abs=1e-7)
    notes = {"tau": pytest.approx(math.exp(-t))}
    if bias is not None:
        slope = (at(t, bias + h) - at(t, bias - h)) / (2 * h)
        assert float(learned.bias.grad) == pytest.approx(slope, rel=1e-5, abs=1e-7)
        notes["bias"] = pytest.approx(bias)
    assert learned.notes() == notes and type(learned.loss_at(0)) is type(loss)
    assert float(learned.loss_at(0)(scores, mask)) == pytest.approx(at(t, bias), rel=1e-9)


@pytest.mark.parametrize(
    ("loss", "given"),
    [("ntxent", {"learn_tau": True}), ("siglip", {"learn_tau": True, "learn_bias": True, "scale": 8.0, "bias": -6.0})],
)
def test_learned_scalars_in_the_loop(tiny, monkeypatch, loss, given):
    """They move, without weight decay, are in the history, and inside the clipped norm."""
    seen = []
    clip = torch.nn.utils.clip_grad_norm_
    monkeypatch.setattr(torch.nn.utils, "clip_grad_norm_", lambda w, n: seen.append(list(w)) or clip(w, n))
    options = {"updates": 60, "weight_decay": 0.5, "optimiser": "adamw", "progress": False}
    run = icrlib.train(tiny, loss=loss, **given, **options)
    learned = 1 + ("learn_bias" in given)
    for name in ("tau", "bias")[:learned]:
        path = [entry[name] for entry in run.history]
        assert len({round(value, 6) for value in path}) == len(path), "each moves"
    assert all(0.01 <= entry["tau"] <= 0.2 for entry in run.history)
    assert sum(w.ndim == 0 for w in seen[0]) == learned  # clipped with the rest
    _, criterion = prepare(tiny, resolve(tiny, "vse++", loss, given=given))
    (group,) = criterion.parameter_groups(0.1)
    assert group["weight_decay"] == 0 and group["params"] == [criterion.log_scale, criterion.bias][:learned]


def test_the_scale_stays_below_a_hundred():
    criterion = Criterion(NTXent(0.01), learn=("tau",))
    criterion.log_scale.data += 3
    criterion.stepped()
    assert float(criterion.log_scale.detach().exp()) == pytest.approx(100, rel=1e-5)


def test_the_warm_up_loss_and_what_looks_at_it():
    criterion = Criterion(TripletSH(0.3), warmup=5)
    scores = torch.rand(4, 4, generator=torch.Generator().manual_seed(0))
    assert criterion(step(scores, 4)) == Triplet(0.2)(scores, torch.eye(4, dtype=torch.bool))
    assert criterion(step(scores, 5)) == TripletSH(0.3)(scores, torch.eye(4, dtype=torch.bool))
    assert criterion.loss_at(4) == Triplet(0.2) and criterion.loss_at(5) == TripletSH(0.3)


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: LagrangeMultiplier(0.0), "eta"),
        (lambda: LagrangeMultiplier(0.2, rule="cut"), "published"),
        (lambda: TokenDecoder(softmax="words"), "softmax"),
        (lambda: LatentTarget(hidden=2.5), "hidden"),
    ],
)
def test_refusals(make, word):
    with pytest.raises(ValueError, match=word):
        make()

"""The criterion: learned scales against differences, constants kept, and what it tells the history."""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import SimpleNamespace
from typing import ClassVar

import pytest
import torch
from torch import Tensor

import icrlib
from icrlib.auxiliary import Auxiliary, Criterion, Fixed
from icrlib.losses import Loss, NTXent, Pairs, SmoothAP, Triplet, TripletSH


@dataclass(frozen=True)
class Sigmoid(Loss):
    """Pairwise sigmoid with a temperature and a bias: what SigLIP will be, in its shortest form."""

    tau: float = 0.1
    bias: float = -2.0
    learnable: ClassVar[tuple[str, ...]] = ("tau", "bias")

    def terms(self, pairs: Pairs) -> Tensor:
        logits = pairs.rows / self.tau + self.bias
        own = pairs.own[:, 0] / self.tau + self.bias
        return pairs.at_negatives(torch.nn.functional.softplus(logits), 0).sum(1) + torch.nn.functional.softplus(-own)

    def term_weights(self, pairs: Pairs) -> Tensor:
        row = pairs.at_negatives(torch.sigmoid(pairs.rows / self.tau + self.bias), 0) / self.tau
        own = -torch.sigmoid(-(pairs.own / self.tau + self.bias)) / self.tau
        return row.scatter(1, pairs.positive[:, None], own)


def step(scores, update=0, positives=None):
    positives = torch.eye(len(scores), dtype=torch.bool) if positives is None else positives
    return SimpleNamespace(update=update, scores=scores, positives=positives)


@pytest.fixture
def scores():
    return 0.4 * torch.rand(6, 6, generator=torch.Generator().manual_seed(1), dtype=torch.double) + 0.3 * torch.eye(6)


@pytest.mark.parametrize("loss", [NTXent(0.1), NTXent(0.3), SmoothAP(0.05), Sigmoid()], ids=repr)
def test_learning_starts_at_the_losss_own_value(loss, scores):
    """The scores times e^t at a temperature of 1 are the loss itself; so are its derivatives by the scores."""
    learned = Criterion(loss, learn=("tau",)).double()
    here, there = (scores.clone().requires_grad_() for _ in range(2))
    value, plain = learned(step(here)), loss(there, torch.eye(6, dtype=torch.bool))
    if "bias" not in loss.learnable:
        assert float(value) == pytest.approx(float(plain), rel=1e-6)
        value.backward()
        plain.backward()
        torch.testing.assert_close(here.grad, there.grad, rtol=1e-5, atol=1e-8)
    assert learned.notes()["tau"] == pytest.approx(loss.tau, rel=1e-6)


def value_at(loss, scores, log_scale, bias=None):
    """The loss rebuilt with the temperature and bias that are meant: no product of scores, no chain rule."""
    options = {"tau": math.exp(-log_scale)} | ({} if bias is None else {"bias": bias})
    changed = type(loss)(**{**loss.__dict__, **options})
    return float(
        changed.per_query(scores, torch.eye(6, dtype=torch.bool)).mean() / 2
        + changed.per_query(scores.T, torch.eye(6, dtype=torch.bool)).mean() / 2
    )


@pytest.mark.parametrize(
    ("loss", "learn"), [(NTXent(0.1), ("tau",)), (SmoothAP(0.05), ("tau",)), (Sigmoid(), ("tau", "bias"))], ids=repr
)
def test_derivatives_of_the_learned_scalars_by_differences(loss, learn, scores):
    criterion = Criterion(loss, learn=learn).double()
    criterion(step(scores)).backward()
    t, h = -math.log(loss.tau), 1e-6
    bias = loss.bias if "bias" in learn else None
    slope = (value_at(loss, scores, t + h, bias) - value_at(loss, scores, t - h, bias)) / (2 * h)
    assert float(criterion.log_scale.grad) == pytest.approx(slope, rel=1e-4, abs=1e-7)
    if bias is not None:
        slope = (value_at(loss, scores, t, bias + h) - value_at(loss, scores, t, bias - h)) / (2 * h)
        assert float(criterion.bias.grad) == pytest.approx(slope, rel=1e-4, abs=1e-7)


def test_learned_scalars_in_the_loop(tiny, monkeypatch):
    """They move, without weight decay, are in the history, and inside the clipped norm."""
    seen = []
    clip = torch.nn.utils.clip_grad_norm_
    monkeypatch.setattr(torch.nn.utils, "clip_grad_norm_", lambda w, n: seen.append(list(w)) or clip(w, n))
    run = icrlib.train(tiny, learn_tau=True, updates=60, weight_decay=0.5, optimiser="adamw", progress=False)
    taus = [entry["tau"] for entry in run.history]
    assert len({round(tau, 6) for tau in taus}) == len(taus) and all(0.01 <= tau <= 0.2 for tau in taus)
    assert sum(w.ndim == 0 for w in seen[0]) == 1  # the scalar is clipped with the rest
    from icrlib.training.config import resolve
    from icrlib.training.loop import prepare

    config = resolve(tiny, "vse++", "ntxent", given={"learn_tau": True})
    _, criterion = prepare(tiny, config)
    (group,) = criterion.parameter_groups(0.1)
    assert group["weight_decay"] == 0 and group["params"] == [criterion.log_scale]


def test_the_scale_stays_below_a_hundred():
    criterion = Criterion(NTXent(0.01), learn=("tau",))
    criterion.log_scale.data += 3
    criterion.stepped()
    assert float(criterion.log_scale.exp()) == pytest.approx(100, rel=1e-5)


def test_what_an_update_was_over_its_accumulated_batches():
    """The loss alone and the auxiliary, each by its mean; without an auxiliary the log has the loss already."""

    class Twice(Auxiliary):
        def forward(self, step):
            return 2 * step.scores.mean()

    dice = torch.Generator().manual_seed(0)
    first, second = torch.rand(2, 4, 4, generator=dice)
    criterion = Criterion(NTXent(0.2), auxiliary=Twice(), weighing=Fixed(0.7))
    totals = [float(criterion(step(scores))) for scores in (first, second)]
    told = criterion.stepped()
    alone = [float(NTXent(0.2)(scores, torch.eye(4, dtype=torch.bool))) for scores in (first, second)]
    assert list(told) == ["contrastive", "auxiliary"]
    assert float(told["contrastive"]) == pytest.approx(sum(alone) / 2)
    assert float(told["auxiliary"]) == pytest.approx(float(first.mean() + second.mean()))
    assert sum(totals) / 2 == pytest.approx(float(told["contrastive"] + 0.7 * told["auxiliary"]))
    assert Criterion(NTXent(0.2)).stepped() == {}


def test_the_warm_up_loss_and_what_looks_at_it():
    criterion = Criterion(TripletSH(0.3), first=Triplet(0.1), warmup=5)
    scores = torch.rand(4, 4, generator=torch.Generator().manual_seed(0))
    assert criterion(step(scores, 4)) == Triplet(0.1)(scores, torch.eye(4, dtype=torch.bool))
    assert criterion(step(scores, 5)) == TripletSH(0.3)(scores, torch.eye(4, dtype=torch.bool))
    assert criterion.loss_at(4) == Triplet(0.1) and criterion.loss_at(5) == TripletSH(0.3)
    learned = Criterion(NTXent(0.2), learn=("tau",))
    learned.log_scale.data -= 0.5
    assert learned.loss_at(0).tau == pytest.approx(0.2 * math.exp(0.5), rel=1e-6)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Criterion(Triplet(), learn=("tau",)), "Triplet can learn nothing"),
        (lambda: Criterion(NTXent(), learn=("bias",)), "NTXent can learn tau, and a bias only with tau"),
        (lambda: Criterion(NTXent(), weighing=Fixed()), "go together"),
    ],
)
def test_refusals(make, message):
    with pytest.raises(ValueError, match=message):
        make()

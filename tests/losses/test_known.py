"""The losses of GOAL's Table 1: slow twins, closed forms, pytorch-metric-learning, and what they share with GOAL."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from pytorch_metric_learning import losses as pml
from pytorch_metric_learning import miners
from pytorch_metric_learning.distances import BaseDistance, CosineSimilarity

from icrlib import agreement, cocos
from icrlib.losses import BinomialDeviance, Circle, HardNTXent, MultiSimilarity, by_name

from . import slow
from .slow import GM, OWN3, OWN8, OWN_GM, S3, S8
from .test_triplet import Given, both_labels


class Cosine(Given, CosineSimilarity):
    """Given scores, under the name of the distance that the circle loss insists on."""

    def __init__(self, scores):
        BaseDistance.__init__(self, is_inverted=True, normalize_embeddings=False)
        self.scores = scores


def hard_ntxent(row, mask, o):
    own, rest = slow.split_row(row, mask)
    top = max(row[j] for j in rest)
    return sum(math.log1p(math.exp((top - row[i]) / o.tau)) for i in own) / len(own)


def used(row, mask, o):
    own, rest = slow.split_row(row, mask)
    return own, rest if o.negatives == "all" else [max(rest, key=lambda j: (row[j], -j))]


def circle(row, mask, o):
    own, rest = used(row, mask, o)
    total = 0.0
    for i in own:
        up = math.exp(-o.gamma * max(0, 1 + o.margin - row[i]) * (row[i] - (1 - o.margin)))
        down = sum(math.exp(o.gamma * max(0, row[j] + o.margin) * (row[j] - o.margin)) for j in rest)
        total += math.log1p(up * down)
    return total / len(own)


def deviance(row, mask, o):
    own, rest = used(row, mask, o)
    a, b = (o.alpha, o.beta) if o.scaled else (1, 1)
    down = sum(math.log1p(math.exp(o.beta * (row[j] - o.lam))) for j in rest) / len(rest) / b
    return sum(math.log1p(math.exp(-o.alpha * (row[i] - o.lam))) for i in own) / len(own) / a + down


def multi(row, mask, o):
    own, rest = used(row, mask, o)
    total = 0.0
    for i in own:
        kept = [j for j in rest if row[j] + o.eps > row[i]]
        if kept:
            total += math.log1p(math.exp(-o.alpha * (row[i] - o.lam))) / o.alpha
            total += math.log1p(sum(math.exp(o.beta * (row[j] - o.lam)) for j in kept)) / o.beta
    return total / len(own)


CASES = [(HardNTXent(), hard_ntxent), (HardNTXent(tau=0.5), hard_ntxent)]
for number in ("all", "hardest"):
    CASES += [
        (Circle(margin=0.25, gamma=6.0, negatives=number), circle),
        (Circle(margin=0.4, gamma=4.0, detach=False, negatives=number), circle),
        (BinomialDeviance(negatives=number), deviance),
        (BinomialDeviance(alpha=1.5, beta=4.0, lam=0.2, scaled=True, negatives=number), deviance),
        (MultiSimilarity(beta=10.0, negatives=number), multi),
        (MultiSimilarity(alpha=1.0, lam=0.1, eps=0.4, beta=5.0, negatives=number), multi),
    ]
IDS = [repr(loss) for loss, _ in CASES]


@pytest.mark.parametrize(("loss", "twin"), CASES, ids=IDS)
@given(problem=slow.problems())
@settings(max_examples=25)
def test_values_equal_the_slow_twin(loss, twin, problem):
    expected = slow.per_query(lambda row, mask: twin(row, mask, loss), *problem)
    torch.testing.assert_close(loss.per_query(*problem), expected, atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize(("loss", "twin"), CASES, ids=IDS)
@given(problem=slow.problems())
@settings(max_examples=25)
def test_closed_form_equals_autograd(loss, twin, problem):
    assert (loss.weights(*problem) - slow.jacobian(loss, *problem)).abs().max() < 1e-10
    assert (loss.score_gradient(*problem) - slow.gradient(loss, *problem)).abs().max() < 1e-10


@pytest.mark.parametrize("loss", [loss for loss, _ in CASES if not getattr(loss, "detach", False)], ids=repr)
def test_closed_form_equals_central_differences(loss):
    scores = 0.9 * S8 + 0.013
    found = agreement.agreement(loss.weights(scores, OWN8), lambda s: loss.per_query(s, OWN8), scores)
    assert found["differences"] < 1e-6


def test_a_detached_pace_is_not_the_derivative_of_the_value():
    """As published, the circle loss's gradient is not that of the number it returns."""
    loss = Circle(margin=0.25, gamma=6.0)
    found = agreement.agreement(loss.weights(S8, OWN8), lambda s: loss.per_query(s, OWN8), S8)
    assert found["autograd"] < 1e-12 and found["differences"] > 0.1


def peer(loss, scores, mask, miner=None):
    queries, candidates = both_labels(scores, mask)
    a, b = torch.zeros(len(queries), 1), torch.zeros(len(candidates), 1)
    indices = None if miner is None else miner(a, queries, b, candidates)
    return loss(a, queries, indices, ref_emb=b, ref_labels=candidates)


@pytest.mark.parametrize(("scores", "mask"), [(S3, OWN3), (S8, OWN8)], ids=["3 x 3", "8 x 8"])
class TestPeers:
    def test_circle(self, scores, mask):
        theirs = peer(pml.CircleLoss(m=0.4, gamma=80, distance=Cosine(scores)), scores, mask)
        torch.testing.assert_close(Circle().per_query(scores, mask).mean(), theirs)

    def test_multi_similarity(self, scores, mask):
        mined = miners.MultiSimilarityMiner(epsilon=0.1, distance=Given(scores))
        theirs = peer(pml.MultiSimilarityLoss(alpha=2, beta=50, base=0.5, distance=Given(scores)), scores, mask, mined)
        ours = MultiSimilarity().per_query(scores, mask)
        torch.testing.assert_close(ours.sum() / len(ours), theirs)


def test_hard_ntxent_is_goals_nca_x_con_times_one_over_tau():
    for scores, mask in ((S3, OWN3), (GM, OWN_GM)):
        objective = by_name("goal:nca x con", tau=10.0)
        torch.testing.assert_close(HardNTXent(tau=0.1).weights(scores, mask), 10 * objective.weights(scores, mask))


def test_the_hardest_negative_alone_is_the_matrix_without_the_others():
    loss, all_of_them = Circle(negatives="hardest"), Circle()
    for q, row in enumerate(S8):
        others = [j for j in range(8) if j != q]
        keep = sorted([q, max(others, key=lambda j: row[j])])
        small = all_of_them.per_query(row[None, keep], OWN8[None, q, keep])
        torch.testing.assert_close(loss.per_query(S8, OWN8)[q : q + 1], small)


@pytest.mark.parametrize("name", ["ntxent_hard", "circle", "binomial_deviance", "multi_similarity"])
def test_by_name_and_counting(name):
    loss = by_name(name)
    assert cocos.count(loss, GM, OWN_GM, convention="exact")["C_B"] >= 0
    with pytest.raises(ValueError, match="ECIR defines no count for"):
        cocos.count(loss, GM, OWN_GM, convention="definition")
    assert (loss.queries, loss.directions) == ("mean", "mean")


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Circle(margin=-1), "margin must be zero or more; got -1"),
        (lambda: Circle(gamma=0), "gamma must be positive; got 0"),
        (lambda: BinomialDeviance(alpha=-1), "alpha must be positive; got -1"),
        (lambda: MultiSimilarity(beta=0), "beta must be positive; got 0"),
        (lambda: HardNTXent(tau=0), "tau must be positive; got 0"),
        (lambda: Circle(negatives="hard"), "unknown choice of negatives 'hard'.*Did you mean 'hardest'"),
    ],
)
def test_refused(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_circle_in_full_is_goals_cir_x_lin_times_two_gamma():
    """With 2m² = 1 (as released: ½), all of its gradient, the hardest negative alone, and no score below -m."""
    for convention, margin in (("paper", 0.5**0.5), ("released", 0.5)):
        loss = Circle(margin=margin, gamma=10.0, detach=False, negatives="hardest")
        objective = by_name("goal:cir x lin", tau=10.0, convention=convention)
        scores = S8.clamp(-0.4, 1)
        ours, goals = loss.weights(scores, OWN8), 20 * objective.weights(scores, OWN8)
        torch.testing.assert_close(ours, goals, rtol=1e-8, atol=1e-9)
    detached = Circle(margin=0.5**0.5, gamma=10.0, negatives="hardest").weights(S8, OWN8)
    assert (detached - 20 * by_name("goal:cir x lin").weights(S8, OWN8)).abs().max() > 1


def test_binomial_deviance_is_goals_con_x_sig_inside_the_margin():
    scaled = BinomialDeviance(scaled=True, negatives="hardest").weights(S8, OWN8)
    torch.testing.assert_close(scaled, by_name("goal:con x sig", convention="released").weights(S8, OWN8))
    inside = by_name("goal:con x sig").weights(S8, OWN8)
    active = inside.abs().sum(1) > 0
    assert 0 < int(active.sum()) < 8
    torch.testing.assert_close(scaled[active], inside[active])
    unscaled = BinomialDeviance(negatives="hardest").weights(S8, OWN8)
    ratios = (unscaled / scaled)[scaled != 0]
    assert {round(float(r), 9) for r in ratios} == {2.0, 10.0}  # two constants, so no common one


def test_multi_similarity_without_a_negative_near_enough():
    """The miner keeps nothing of such a row: no loss, no weight, and no NaN on the way through autograd."""
    scores = torch.tensor([[0.9, 0.1, 0.2], [0.3, 0.35, 0.4], [0.1, 0.2, 0.3]], requires_grad=True)
    positives, loss = torch.eye(3, dtype=torch.bool), MultiSimilarity()
    values = loss.per_query(scores, positives)
    (gradient,) = torch.autograd.grad(values.sum(), scores)
    assert values[0] == 0 and not gradient[0].any() and gradient[1].any()
    torch.testing.assert_close(gradient, loss.weights(scores, positives))

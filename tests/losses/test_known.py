"""The losses of GOAL's Table 1: pytorch-metric-learning, and what they share with GOAL; twins are in test_base."""

from __future__ import annotations

import pytest
import torch
from pytorch_metric_learning import losses as pml
from pytorch_metric_learning import miners
from pytorch_metric_learning.distances import BaseDistance, CosineSimilarity

from icrlib import agreement
from icrlib.losses import BinomialDeviance, Circle, HardNTXent, MultiSimilarity, by_name

from .slow import GM, OWN3, OWN8, OWN_GM, S3, S8
from .test_triplet import Given, both_labels


class Cosine(Given, CosineSimilarity):
    """Given scores, under the name of the distance that the circle loss insists on."""

    def __init__(self, scores):
        BaseDistance.__init__(self, is_inverted=True, normalize_embeddings=False)
        self.scores = scores


def test_a_detached_pace_is_not_the_derivative_of_the_value():
    """As published, the circle loss's gradient is not that of the number it returns."""
    loss = Circle(margin=0.25, gamma=6.0)
    result = agreement.agreement(loss.weights(S8, OWN8), lambda s: loss.per_query(s, OWN8), S8)
    assert result["autograd"] < 1e-12 and result["differences"] > 0.1


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

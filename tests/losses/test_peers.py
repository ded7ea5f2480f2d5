"""Losses beside others' code: pytorch-metric-learning, and what their authors print."""

from __future__ import annotations

import math

import pytest
import torch
from pytorch_metric_learning import losses as pml
from pytorch_metric_learning import miners, reducers
from pytorch_metric_learning.distances import BaseDistance, CosineSimilarity
from torch.nn.functional import logsigmoid, normalize

from icrlib.losses import DCL, Circle, MultiSimilarity, NTXent, SigLIP, Triplet

from .slow import GM, OWN3, OWN8, OWN_GM, S3, S8


class Given(CosineSimilarity):
    """A pytorch-metric-learning distance that answers with scores we chose, under the name that Circle insists on."""

    def __init__(self, scores):
        BaseDistance.__init__(self, is_inverted=True, normalize_embeddings=False)
        self.scores = scores

    def compute_mat(self, query_emb, ref_emb):
        return self.scores.clone()  # some losses write into it


def peer(loss, mask, miner=None):
    """PML's value of one direction. It knows labels, not masks; the embeddings only carry the shapes."""
    queries, candidates = torch.arange(len(mask)), mask.long().argmax(0)
    a, b = torch.zeros(len(queries), 1), torch.zeros(len(candidates), 1)
    indices = None if miner is None else miner(a, queries, b, candidates)
    return loss(a, queries, indices, ref_emb=b, ref_labels=candidates)


@pytest.mark.parametrize(("scores", "mask"), [(S3, OWN3), (S8, OWN8), (GM, OWN_GM)], ids=["3 x 3", "8 x 8", "8 x 40"])
def test_equals_pytorch_metric_learning(scores, mask):
    """Both sum the same triplets, of which we average k positives'; NT-Xent's mean is over all k there, too."""
    given, each = Given(scores), int(mask.sum(1)[0])
    triplets = peer(pml.TripletMarginLoss(margin=0.2, distance=given, reducer=reducers.SumReducer()), mask)
    torch.testing.assert_close(each * Triplet().per_query(scores, mask).sum(), triplets)
    entropy = peer(pml.NTXentLoss(temperature=0.1, distance=given), mask)
    torch.testing.assert_close(NTXent().per_query(scores, mask).mean(), entropy)
    if each == 1:
        circle = peer(pml.CircleLoss(m=0.4, gamma=80, distance=given), mask)
        torch.testing.assert_close(Circle().per_query(scores, mask).mean(), circle)
        miner = miners.MultiSimilarityMiner(epsilon=0.1, distance=given)
        multi = peer(pml.MultiSimilarityLoss(alpha=2, beta=50, base=0.5, distance=given), mask, miner)
        torch.testing.assert_close(MultiSimilarity().per_query(scores, mask).mean(), multi)


def test_up_to_the_second_view_s_negatives_dcl_is_the_published_loss():
    """Yeh et al.: the other items count twice, once in each view. Without those of the query's own view it is ours."""
    generator = torch.Generator().manual_seed(0)
    x, y = (normalize(torch.randn(6, 4, generator=generator).double(), dim=1) for _ in range(2))
    own, tau = torch.eye(6, dtype=torch.bool), 0.1

    def published(a, b, views):
        pulled = (a * b).sum(1) / tau
        pushed = torch.cat([(a @ view.T / tau).masked_fill(own, -torch.inf) for view in views], 1).logsumexp(1)
        return (pushed - pulled).mean()

    ours = DCL(tau=tau)(x @ y.T, own)
    torch.testing.assert_close(ours, (published(x, y, [y]) + published(y, x, [x])) / 2)
    assert (published(x, y, [x, y]) + published(y, x, [x, y])) / 2 > ours + 0.1


def siglip(scores, t_prime, bias):
    """Algorithm 1 of the paper, as its pseudo-code has it: one sum over all pairs, divided by the batch."""
    labels = 2 * torch.eye(len(scores), dtype=scores.dtype) - 1
    return -logsigmoid(labels * (scores * t_prime.exp() + bias)).sum() / len(scores)


@pytest.mark.parametrize(("scale", "bias"), [(10.0, -10.0), (3.0, -1.0), (20.0, 2.0)])
def test_siglip_is_the_published_algorithm(scale, bias):
    """Value, and the derivatives by the vectors, by t' and by b, all from the authors' form through autograd."""
    generator = torch.Generator().manual_seed(0)
    raw = [torch.randn(7, 5, generator=generator, dtype=torch.float64) for _ in range(2)]
    result = []
    for way in ("ours", "theirs"):
        x, y = (v.clone().requires_grad_() for v in raw)
        t_prime, b = (torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in (math.log(scale), bias))
        scores, own = normalize(x, dim=1) @ normalize(y, dim=1).T, torch.eye(7, dtype=torch.bool)
        value = siglip(scores, t_prime, b) if way == "theirs" else SigLIP().sharpened(scores, own, t_prime, b)
        value.backward()
        result.append([value.detach(), x.grad, y.grad, t_prime.grad, b.grad])
        torch.testing.assert_close(SigLIP(scale, bias)(scores.detach(), own), value.detach())
    for ours, theirs in zip(*result, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-12)

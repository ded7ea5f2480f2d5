"""COCOS: golden counts of three conventions, slow twins of the definition and of the released counter."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings

from icrlib import cocos
from icrlib.losses import Loss, NTXent, SmoothAP, Triplet, TripletSH

from .losses import slow
from .losses.slow import GM, OWN3, OWN8, OWN_GM, S3, S8

# loss, scores, mask, direction: (C_q, C_B, C_0) as the paper defines them, and as the released code counted
COUNTS = [
    (Triplet(), S3, OWN3, "i2t", (1, 3, 0), (1, 3, 0)),
    (Triplet(), S3, OWN3, "t2i", (1.5, 3, 1), (1, 3, 0)),
    (TripletSH(), S3, OWN3, "i2t", (1, 3, 0), (1, 3, 0)),
    (TripletSH(), S3, OWN3, "t2i", (1, 2, 1), (1, 2, 1)),
    (Triplet(), S8, OWN8, "i2t", (4, 24, 2), (4, 24, 2)),
    (Triplet(), S8, OWN8, "t2i", (23 / 6, 23, 2), (2.875, 23, 0)),
    (TripletSH(), S8, OWN8, "i2t", (1, 6, 2), (1, 6, 2)),
    (TripletSH(), S8, OWN8, "t2i", (1, 6, 2), (1, 6, 2)),
    (SmoothAP(), GM, OWN_GM, "i2t", (3.875, 31, 0), (1.15, 4.6, 4)),
    (SmoothAP(), GM, OWN_GM, "t2i", (45 / 19, 45, 21), (1.5, 3, 38)),
    (SmoothAP(tau=0.05), GM, OWN_GM, "i2t", (12.075, 96.6, 0), (7.6 / 7, 7.6, 1)),
    (SmoothAP(tau=0.05), GM, OWN_GM, "t2i", (3.9487179487, 154, 1), (5.5, 11, 38)),
]


def rows_of(scores, mask, direction):
    return (scores, mask) if direction == "i2t" else (scores.T, mask.T)


@pytest.mark.parametrize(("loss", "scores", "mask", "direction", "definition", "published"), COUNTS)
def test_golden_counts(loss, scores, mask, direction, definition, published):
    for convention, expected in (("definition", definition), ("published", published)):
        found = cocos.count(
            loss, *rows_of(scores, mask, direction), convention=convention, direction=direction
        )
        assert (found["C_q"], found["C_B"], found["C_0"]) == pytest.approx(expected, abs=1e-9), convention


@pytest.mark.parametrize("convention", ["definition", "published"])
@pytest.mark.parametrize(
    ("scores", "mask", "i2t", "t2i"),
    [
        (S3, OWN3, (4 / 3, 0.4955903127, 0.4984175630), (5 / 3, 0.4953796139, 0.4966722327)),
        (S8, OWN8, (4.0, 0.5406523772, 0.5506876082), (4.25, 0.5557631256, 0.5639577839)),
    ],
)
def test_golden_shares_of_ntxent(convention, scores, mask, i2t, t2i):
    """Whatever the loss's own denominator, the paper's Z(q) runs over all candidates."""
    for loss in (NTXent(), NTXent(denominator="negatives")):
        found = cocos.count_both(loss, scores, mask, convention=convention)
        for side, expected in (("i2t", i2t), ("t2i", t2i)):
            assert [found[side][k] for k in ("C_neg", "W_neg", "W_pos")] == pytest.approx(expected, abs=1e-9)


def slow_definition(loss, row, mask, eps):
    """One query, from the paper's formulas, in loops."""
    own, rest = slow.split_row(row, mask)
    total = 0
    for i in own:
        if isinstance(loss, NTXent):
            z = sum(math.exp(row[j] / loss.tau) for j in [i, *rest])
            total += sum(math.exp(row[j] / loss.tau) / z > eps for j in rest)
        elif isinstance(loss, SmoothAP):
            sigmoid = {j: 1 / (1 + math.exp(-(row[j] - row[i]) / loss.tau)) for j in range(len(row)) if j != i}
            rank = 1 + sum(sigmoid.values())
            total += sum(g * (1 - g) / loss.tau / rank**2 > eps for g in sigmoid.values())
        else:
            inside = [loss.margin + row[j] - row[i] > 0 for j in rest]
            total += any(inside) if isinstance(loss, TripletSH) else sum(inside)
    return total / len(own)


@pytest.mark.parametrize("loss", [Triplet(), TripletSH(), NTXent(), SmoothAP(tau=0.1)], ids=repr)
@pytest.mark.parametrize("ties", [False, True])
@given(data=slow.st.data())
@settings(max_examples=25, deadline=None)
def test_definition_equals_its_slow_twin(loss, ties, data):
    scores, mask = data.draw(slow.problems(ties=ties))
    for eps in (0.01, 0.2):
        counts = [slow_definition(loss, *q, eps) for q in zip(scores.tolist(), mask.tolist(), strict=True)]
        some = [c for c in counts if c]
        found = cocos.count(loss, scores, mask, convention="definition", eps=eps)
        assert found["C_q"] == pytest.approx(sum(some) / len(some) if some else 0)
        assert found["C_B"] == pytest.approx(sum(counts)) and found["C_0"] == counts.count(0)


def slow_released_smoothap(scores, each, tau, eps, t2i):
    """The released counter as it indexes: query q reads rows kq … kq+k-1 of its full (M, M) matrix; no 1/τ."""
    counts = []
    for row in scores.tolist():
        candidates, read = len(row), range(each * len(counts), each * len(counts) + each)
        number = 0
        for i in (i for i in read if i < candidates):
            g = [1 / (1 + math.exp(-(s - row[i]) / tau)) if j != i else 0 for j, s in enumerate(row)]
            number += sum(v * (1 - v) / (1 + sum(g)) ** 2 > eps for v in g)
        counts.append(number / (1 if t2i else each))
    return counts


@pytest.mark.parametrize("each", [1, 2, 3])
@pytest.mark.parametrize("direction", ["i2t", "t2i"])
def test_published_smoothap_equals_its_slow_twin(each, direction):
    generator = torch.Generator().manual_seed(each)
    mask = torch.eye(7, dtype=torch.bool).repeat_interleave(each, dim=1)
    scores = 0.3 * mask.double() + 0.3 * torch.rand(7, 7 * each, generator=generator, dtype=torch.float64)
    counts = slow_released_smoothap(rows_of(scores, mask, direction)[0], each, 0.05, 0.01, direction == "t2i")
    some = [c for c in counts if c]
    found = cocos.count(
        SmoothAP(tau=0.05), *rows_of(scores, mask, direction), convention="published", direction=direction
    )
    assert found["C_q"] == pytest.approx(sum(some) / len(some))
    assert found["C_B"] == pytest.approx(sum(counts)) and found["C_0"] == counts.count(0)


def test_published_smoothap_hardly_looks_at_captions():
    """At least 614 of 640 caption queries have "no gradient", for any model: here one that knows nothing."""
    generator = torch.Generator().manual_seed(0)
    mask = torch.eye(128, dtype=torch.bool).repeat_interleave(5, dim=1)
    scores = 0.1 * torch.randn(128, 640, generator=generator)
    found = cocos.count_both(SmoothAP(), scores, mask, convention="published")["t2i"]
    truth = cocos.count_both(SmoothAP(), scores, mask, convention="exact")["t2i"]
    assert 614 <= found["C_0"] <= 640 and truth["C_0"] < 614


@pytest.mark.parametrize("loss", [Triplet(), TripletSH(), NTXent(), SmoothAP()], ids=repr)
@pytest.mark.parametrize("direction", ["i2t", "t2i"])
def test_exact_counts_the_autograd_weights(loss, direction):
    scores, mask = rows_of(GM, OWN_GM, direction)
    weights = slow.jacobian(loss, scores, mask).abs()
    found = cocos.count(loss, scores, mask, convention="exact", eps=0.05, direction=direction)
    counts = [sum(w > 0.05 for w in row) for row in weights.tolist()]
    assert found["C_B"] == sum(counts) and found["C_0"] == counts.count(0)
    assert found["C_q"] == pytest.approx(sum(counts) / (len(counts) - counts.count(0)))


def test_exact_shares_of_ntxent_are_its_weights():
    weights = slow.jacobian(NTXent(), S3, OWN3)
    found = cocos.count(NTXent(), S3, OWN3, convention="exact", eps=0.5)
    large = (weights > 0.5) & ~OWN3
    assert found["C_neg"] == pytest.approx(float(large.sum() / 3))
    assert found["W_neg"] == pytest.approx(float(weights[large].sum() / 3))
    assert found["W_pos"] == pytest.approx(float(-weights.diagonal().mean()))


@pytest.mark.parametrize("convention", cocos.CONVENTIONS)
def test_effective_number_of_negatives(convention):
    """Equal weights on n negatives give n, one dominating negative gives 1; queries without gradient are left out."""
    scores = torch.tensor([[0.9, 0.8, 0.8, 0.8], [0.1, 0.9, 0.1, 0.8], [-0.5, -0.5, 0.9, -0.5], [0, 0, 0, 0.9]])
    mask = torch.eye(4, dtype=torch.bool)
    assert cocos.count(Triplet(), scores, mask, convention=convention)["n_eff"] == pytest.approx((3 + 1) / 2)
    assert cocos.count(TripletSH(), scores, mask, convention=convention)["n_eff"] == pytest.approx(1)
    weights = slow.jacobian(NTXent(), S3, OWN3).masked_fill(OWN3, 0)
    expected = (weights.sum(1) ** 2 / (weights**2).sum(1)).mean()
    found = cocos.count(NTXent(), S3, OWN3, convention=convention)["n_eff"]
    assert found == pytest.approx(float(expected))


@pytest.mark.parametrize("convention", cocos.CONVENTIONS)
@pytest.mark.parametrize("loss", [Triplet(), TripletSH(), NTXent(), SmoothAP()], ids=repr)
def test_nothing_left_to_learn_is_zero_not_nan(loss, convention):
    scores = 3 * torch.eye(4) - 1
    for side in cocos.count_both(loss, scores, torch.eye(4).bool(), convention=convention).values():
        assert all(type(value) is float and math.isfinite(value) for value in side.values())
        assert (side["C_q"], side["C_B"], side["C_0"]) == (0, 0, 4)


def test_tiny_weights_still_have_an_effective_number():
    scores = torch.tensor([[1.0, -1.0, -1.0, -1.0]])
    found = cocos.count(NTXent(tau=0.03), scores, scores > 0, convention="exact")
    assert found["n_eff"] == pytest.approx(3)


def test_the_loss_and_the_graph_are_left_alone():
    scores = S3.clone().requires_grad_()
    loss = TripletSH()(scores, OWN3)
    found = cocos.count_both(TripletSH(), scores, OWN3)
    assert found == cocos.count_both(TripletSH(), S3, OWN3, convention="exact") and scores.grad is None
    loss.backward()
    assert scores.grad is not None


@pytest.mark.parametrize("loss", [Triplet(), NTXent(), SmoothAP()], ids=repr)
@pytest.mark.parametrize("convention", ["definition", "exact"])
def test_chunks_change_nothing(loss, convention):
    tight = type(loss)(memory_budget=700)
    for side, counts in cocos.count_both(tight, GM, OWN_GM, convention=convention).items():
        assert counts == pytest.approx(cocos.count_both(loss, GM, OWN_GM, convention=convention)[side])


def test_exact_takes_any_loss_with_weights():
    class Other(Loss):
        def term_weights(self, pairs):
            return pairs.negatives.double() * 0.5

    assert cocos.count(Other(), S3, OWN3, convention="exact")["C_q"] == 2
    with pytest.raises(ValueError, match="ECIR defines no count for Other.*use convention='exact'"):
        cocos.count(Other(), S3, OWN3, convention="definition")


def test_what_is_refused():
    with pytest.raises(ValueError, match=r"unknown convention 'exakt'.*Did you mean 'exact'\?"):
        cocos.count(Triplet(), S3, OWN3, convention="exakt")
    with pytest.raises(ValueError, match=r"unknown direction 'i2i'; allowed: 'i2t', 't2i'"):
        cocos.count(Triplet(), S3, OWN3, convention="exact", direction="i2i")
    with pytest.raises(ValueError, match="eps must be zero or more; got -1"):
        cocos.count(Triplet(), S3, OWN3, convention="exact", eps=-1)
    with pytest.raises(ValueError, match="row 1 of positives has no positive"):
        cocos.count(Triplet(), S3, OWN3 & torch.tensor([[True], [False], [True]]), convention="exact")
    with pytest.raises(ValueError, match="released counter of Triplet knows one positive a query"):
        cocos.count(Triplet(), GM, OWN_GM, convention="published")
    uneven = OWN_GM.clone()
    uneven[:, 4] = uneven[:, 5]
    with pytest.raises(ValueError, match="equally many captions an image"):
        cocos.count(SmoothAP(), GM, uneven, convention="published")
    with pytest.raises(ValueError, match="equally many captions an image"):
        cocos.count(SmoothAP(), GM.T, OWN_GM.T, convention="published", direction="i2t")

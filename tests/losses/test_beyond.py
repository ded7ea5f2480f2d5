"""IFM, SigLIP, DCL and the sparse NT-Xent: what every loss must do. What is special to one has a file of its own."""

from __future__ import annotations

import doctest
import importlib
import math

import pytest
import torch
from hypothesis import given, settings

from icrlib import cocos, verify
from icrlib.losses import DCL, IFM, LOSSES, NonFiniteScores, SigLIP, SparseNTXent, by_name
from icrlib.names import label

from . import slow
from .slow import GM, OWN3, OWN8, OWN24, OWN_GM, S3, S8, S24

NAMES = {"ifm": IFM, "siglip": SigLIP, "dcl": DCL, "ntxent_sparse": SparseNTXent}


def ifm(row, mask, o):
    """As the release writes it: the positive's score down by eps, the negatives' up, then over the temperature."""
    own, rest = slow.split_row(row, mask)
    total = 0.0
    for i in own:
        for eps in (0.0, o.eps):
            up, down = (row[i] - eps) / o.tau, [(row[j] + eps) / o.tau for j in rest]
            total -= math.log(math.exp(up) / (math.exp(up) + sum(math.exp(z) for z in down))) / 2
    return total / len(own)


def siglip(row, mask, o):
    own, rest = slow.split_row(row, mask)
    pulled = sum(-math.log(1 / (1 + math.exp(-(o.scale * row[i] + o.bias)))) for i in own) / len(own)
    return pulled + sum(-math.log(1 - 1 / (1 + math.exp(-(o.scale * row[j] + o.bias)))) for j in rest)


def dcl(row, mask, o):
    return slow.ntxent(row, mask, o.tau, "negatives")


def projected(z):
    """The point of the simplex nearest to z, by halving the interval that its threshold lies in."""
    low, high = min(z) - 1, max(z)
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if sum(max(0.0, x - middle) for x in z) > 1 else (low, middle)
    return [max(0.0, x - low) for x in z]


def sparse(row, mask, o):
    """Martins and Astudillo's loss in the form of Blondel et al.: what the maximum exceeds the right answer's by."""
    own, rest = slow.split_row(row, mask)
    total = 0.0
    for i in own:
        z = [row[j] / o.tau for j in (i, *rest)]
        p = projected(z)
        total += sum(a * b for a, b in zip(p, z, strict=True)) - sum(a * a for a in p) / 2 + 0.5 - z[0]
    return total / len(own)


CASES = [
    (IFM(), ifm), (IFM(tau=0.2, eps=0.0), ifm), (IFM(tau=0.5, eps=0.3), ifm),
    (SigLIP(), siglip), (SigLIP(scale=3.0, bias=-0.5), siglip), (SigLIP(scale=0.4, bias=2.0), siglip),
    (DCL(), dcl), (DCL(tau=0.3), dcl),
    (SparseNTXent(), sparse), (SparseNTXent(tau=0.02), sparse), (SparseNTXent(tau=1.5), sparse),
]  # fmt: skip
IDS = [repr(loss) for loss, _ in CASES]
LOSSES_HERE = [loss for loss, _ in CASES]


@pytest.mark.parametrize(("loss", "twin"), CASES, ids=IDS)
@pytest.mark.parametrize("ties", [False, True])
@given(data=slow.st.data())
@settings(max_examples=20, deadline=None)
def test_values_equal_the_slow_twin(loss, twin, ties, data):
    scores, mask = data.draw(slow.problems(ties=ties))
    expected = slow.per_query(lambda row, own: twin(row, own, loss), scores, mask)
    torch.testing.assert_close(loss.per_query(scores, mask), expected, atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize(("loss", "twin"), CASES, ids=IDS)
def test_both_directions_equal_the_slow_twin(loss, twin):
    for scores, mask in ((S3, OWN3), (S24, OWN24), (GM, OWN_GM)):
        parts = slow.both(lambda row, own: twin(row, own, loss), scores, mask)
        torch.testing.assert_close(loss(scores, mask), (parts[0].mean() + parts[1].mean()) / 2, atol=1e-9, rtol=1e-9)
        summed = type(loss)(**{**loss.__dict__, "queries": "sum", "directions": "sum"})
        torch.testing.assert_close(summed(scores, mask), parts[0].sum() + parts[1].sum(), atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize("loss", LOSSES_HERE, ids=repr)
@pytest.mark.parametrize("ties", [False, True])
@given(data=slow.st.data())
@settings(max_examples=20, deadline=None)
def test_closed_form_equals_autograd(loss, ties, data):
    scores, mask = data.draw(slow.problems(ties=ties))
    assert (loss.weights(scores, mask) - slow.jacobian(loss, scores, mask)).abs().max() < 1e-10
    assert (loss.score_gradient(scores, mask) - slow.gradient(loss, scores, mask)).abs().max() < 1e-10


@pytest.mark.parametrize("loss", LOSSES_HERE, ids=repr)
def test_closed_form_equals_central_differences(loss):
    """None of them has a corner in its value, so at ties too: the last row is one."""
    scores, mask = GM[:3, :15].clone(), OWN_GM[:3, :15].clone()
    scores[2] = torch.where(mask[2], 0.31, 0.3)
    mask[0, 7:9] = True
    found = verify.agreement(loss.weights(scores, mask), lambda s: loss.per_query(s, mask), scores)
    assert found["differences"] < 1e-4 and found["autograd"] < 1e-10
    assert torch.autograd.gradcheck(lambda s: loss.per_query(s, mask), (scores.requires_grad_(),), eps=1e-6, atol=1e-4)


@pytest.mark.parametrize("loss", LOSSES_HERE, ids=repr)
def test_the_loss_s_own_backward_is_its_closed_form(loss):
    scores = GM.clone().requires_grad_()
    loss(scores, OWN_GM).backward()
    torch.testing.assert_close(scores.grad, loss.score_gradient(GM, OWN_GM), rtol=0, atol=0)
    torch.testing.assert_close(scores.grad, slow.gradient(loss, GM, OWN_GM), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES_HERE, ids=repr)
def test_several_positives_are_the_mean_of_one_positive_losses(loss):
    """Each positive in turn, with the others taken out of the matrix altogether; values and weights."""
    values, weights = loss.per_query(GM, OWN_GM), loss.weights(GM, OWN_GM)
    for q in range(2):
        own = OWN_GM[q].nonzero()[:, 0]
        alone, pushes = [], torch.zeros(40, dtype=torch.float64)
        for i in own:
            keep = torch.ones(40, dtype=torch.bool)
            keep[own[own != i]] = False
            part = GM[q : q + 1, keep], OWN_GM[q : q + 1, keep]
            alone.append(loss.per_query(*part)[0])
            pushes[keep] += loss.weights(*part)[0] / len(own)
        torch.testing.assert_close(values[q], torch.stack(alone).mean())
        torch.testing.assert_close(weights[q], pushes)


@pytest.mark.parametrize("loss", LOSSES_HERE, ids=repr)
def test_equal_scores_get_equal_weights(loss):
    scores = torch.tensor([[0.5, 0.49, 0.49, 0.1], [0.2, 0.2, 0.2, 0.2]], dtype=torch.float64)
    weights = loss.weights(scores, torch.eye(2, 4, dtype=torch.bool))
    assert weights[0, 1] == weights[0, 2] > 0 and weights[1, 0] == weights[1, 2] == weights[1, 3] > 0


@pytest.mark.parametrize("loss", LOSSES_HERE, ids=repr)
def test_extreme_but_finite_scores_stay_finite(loss):
    for kind in (torch.float64, torch.float32):
        for scores in (S3 * 1e4, -S3 * 1e4, torch.zeros_like(S3), S3 * 1e-30):
            scores = scores.to(kind)
            assert torch.isfinite(loss(scores, OWN3)) and torch.isfinite(slow.gradient(loss, scores, OWN3)).all()
            assert torch.isfinite(loss.weights(scores, OWN3)).all()


@pytest.mark.parametrize("loss", LOSSES_HERE, ids=repr)
def test_single_and_half_precision(loss):
    single = loss(GM.float(), OWN_GM)
    assert single.dtype == torch.float32
    torch.testing.assert_close(single.double(), loss(GM, OWN_GM), rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(
        loss.weights(GM.float(), OWN_GM).double(), loss.weights(GM, OWN_GM), rtol=1e-3, atol=1e-4)  # fmt: skip
    torch.testing.assert_close(loss(GM.bfloat16(), OWN_GM), loss(GM.bfloat16().float(), OWN_GM), rtol=0, atol=0)


@pytest.mark.parametrize("loss", LOSSES_HERE, ids=repr)
def test_a_tiny_memory_budget_changes_nothing(loss):
    tight = type(loss)(**{**loss.__dict__, "memory_budget": 700})  # two rows of 40 float64 at a time
    assert len(list(tight._chunks(OWN_GM, 8))) == 20
    for compute in (lambda o: o.per_query(GM, OWN_GM), lambda o: o.weights(GM, OWN_GM),
                    lambda o: slow.gradient(o, GM, OWN_GM)):  # fmt: skip
        torch.testing.assert_close(compute(tight), compute(loss), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("call", ["per_query", "weights", "score_gradient", "__call__"])
@pytest.mark.parametrize("name", NAMES)
def test_bad_input_is_named_by_its_row(name, call):
    compute, (no_positive, no_negative) = getattr(by_name(name), call), (OWN3.clone(), OWN3.clone())
    no_positive[1], no_negative[2] = False, True
    with pytest.raises(ValueError, match="row 1 of positives has no positive"):
        compute(S3, no_positive)
    with pytest.raises(ValueError, match="row 2 of positives has no negative"):
        compute(S3, no_negative)
    with pytest.raises(ValueError, match=r"scores \(3, 3\) and positives \(3, 4\)"):
        compute(S3, torch.ones(3, 4).bool())
    broken = S3.clone()
    broken[2, 1] = math.nan
    with pytest.raises(NonFiniteScores, match=r"scores\[2, 1\] is nan"):
        compute(broken, OWN3)


@pytest.mark.parametrize(("build", "message"), [
    (lambda: IFM(tau=0), "tau must be positive; got 0"),
    (lambda: IFM(eps=-0.1), "eps must be zero or more, and finite; got -0.1"),
    (lambda: IFM(eps=math.nan), "eps must be zero or more, and finite; got nan"),
    (lambda: SigLIP(scale=0), "scale must be positive and finite; got 0"),
    (lambda: SigLIP(scale=math.inf), "scale must be positive and finite; got inf"),
    (lambda: SigLIP(bias=math.nan), "bias must be finite; got nan"),
    (lambda: SigLIP(queries="max"), "queries must be 'sum' or 'mean'; got 'max'"),
    (lambda: SparseNTXent(tau=-1), "tau must be positive; got -1"),
    (lambda: DCL(tau=0), "tau must be positive; got 0"),
    (lambda: DCL(denominator="all"), "DCL leaves the positive out of its denominator; got 'all': take NTXent"),
    (lambda: by_name("ifm", epz=0.1), "unknown option of IFM 'epz'.*Did you mean 'eps'"),
    (lambda: by_name("siglib"), "unknown loss 'siglib'.*Did you mean 'siglip'"),
])  # fmt: skip
def test_refused(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_names_labels_and_defaults():
    for name, kind in NAMES.items():
        assert LOSSES[name] is kind is type(by_name(name)) and label(name) == kind.label
        assert (by_name(name).queries, by_name(name).directions, kind.batches) == ("mean", "mean", "pairs")
    assert len({kind.label for kind in LOSSES.values()}) == len(LOSSES)
    assert by_name("siglip", scale=5.0, bias=-2.0) == SigLIP(5.0, -2.0) and SigLIP() == SigLIP(10, -10)


@pytest.mark.parametrize("loss", LOSSES_HERE, ids=repr)
@pytest.mark.parametrize("size", [2, 8])
def test_the_loss_of_a_collapsed_model(loss, size):
    """All scores equal. SigLIP sees how high they are, and a collapse sits where that is cheapest."""
    found = loss.collapsed(torch.eye(size, dtype=torch.bool))
    if isinstance(loss, SigLIP):
        levels = (loss.scale * torch.linspace(-1, 1, 20001, dtype=torch.float64) + loss.bias).tolist()
        costs = (math.log1p(math.exp(-z)) + (size - 1) * math.log1p(math.exp(z)) for z in levels)
        expected = min(costs)
    elif isinstance(loss, IFM):
        expected = (math.log(size) + math.log1p((size - 1) * math.exp(2 * loss.eps / loss.tau))) / 2
    else:
        expected = math.log(size - 1) if isinstance(loss, DCL) else (1 - 1 / size) / 2
    assert found == pytest.approx(expected, rel=1e-6 if isinstance(loss, SigLIP) else 1e-12)


@pytest.mark.parametrize("loss", LOSSES_HERE, ids=repr)
def test_counts_and_effective_negatives(loss):
    """cocos, against the weights counted by hand; the paper's definition only for DCL, which is a form of NT-Xent."""
    for direction, (scores, mask) in {"i2t": (S8, OWN8), "t2i": (S8.T, OWN8)}.items():
        weights = loss.weights(scores, mask)
        pushes = [[abs(w) for w, own in zip(*row, strict=True) if not own] for row in zip(
            weights.tolist(), mask.tolist(), strict=True)]  # fmt: skip
        spread = [sum(row) ** 2 / sum(w * w for w in row) for row in pushes if any(row)]
        found = cocos.count(loss, scores, mask, convention="exact", direction=direction)
        assert found["n_eff"] == pytest.approx(sum(spread) / len(spread) if spread else 0.0)
        assert found["C_B"] == int((weights.abs() > 0.01).sum())
        assert found == cocos.count_both(loss, S8, OWN8)[direction]
    if not isinstance(loss, DCL):
        with pytest.raises(ValueError, match=f"ECIR defines no count for {type(loss).__name__}"):
            cocos.count(loss, S8, OWN8, convention="definition")


@pytest.mark.parametrize("module", ["ifm", "siglip", "dcl", "sparse"])
def test_the_examples_in_the_docstrings(module):
    found = doctest.testmod(importlib.import_module(f"icrlib.losses.{module}"))
    assert found.attempted and not found.failed

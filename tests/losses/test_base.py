"""What all losses share: reductions, closed-form gradients, several positives, chunks, masks that are refused."""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import math

import pytest
import torch
from hypothesis import given, settings

from icrlib import losses
from icrlib.losses import (
    DCL,
    IFM,
    LOSSES,
    Alignment,
    BinomialDeviance,
    Circle,
    HardNTXent,
    Loss,
    MultiSimilarity,
    NonFiniteScores,
    NTXent,
    SigLIP,
    SmoothAP,
    SparseNTXent,
    Triplet,
    TripletSH,
    by_name,
)
from icrlib.losses.build import kind_of

from . import slow
from .slow import GM, OWN3, OWN_GM, S3

ALL = [
    Triplet(),
    TripletSH(),
    NTXent(),
    NTXent(tau=0.05),
    NTXent(denominator="negatives"),
    NTXent(denominator="candidates"),
    SmoothAP(),
    SmoothAP(tau=0.1),
    IFM(),
    IFM(tau=0.2, eps=0.0),
    IFM(tau=0.5, eps=0.3),
    SigLIP(),
    SigLIP(scale=3.0, bias=-0.5),
    SigLIP(scale=0.4, bias=2.0),
    DCL(),
    DCL(tau=0.3),
    SparseNTXent(),
    SparseNTXent(tau=0.02),
    SparseNTXent(tau=1.5),
    Alignment(),
    HardNTXent(),
    HardNTXent(tau=0.5),
]
for number in ("all", "hardest"):
    ALL += [
        Circle(margin=0.25, gamma=6.0, negatives=number),
        Circle(margin=0.4, gamma=4.0, detach=False, negatives=number),
        BinomialDeviance(negatives=number),
        BinomialDeviance(alpha=1.5, beta=4.0, lam=0.2, scaled=True, negatives=number),
        MultiSimilarity(beta=10.0, negatives=number),
        MultiSimilarity(alpha=1.0, lam=0.1, eps=0.4, beta=5.0, negatives=number),
    ]
SLOW = {
    Triplet: slow.triplet,
    TripletSH: slow.triplet_sh,
    NTXent: slow.ntxent,
    SmoothAP: slow.smoothap,
    IFM: slow.ifm,
    SigLIP: slow.siglip,
    DCL: slow.ntxent,
    SparseNTXent: slow.sparse,
    Alignment: slow.alignment,
    HardNTXent: slow.hard_ntxent,
    Circle: slow.circle,
    BinomialDeviance: slow.deviance,
    MultiSimilarity: slow.multi,
}
ONE_POSITIVE_AT_A_TIME = [
    loss for loss in ALL if not isinstance(loss, SmoothAP) and loss != NTXent(denominator="candidates")
]
OF_LEVELS = (SigLIP, Alignment, Circle, BinomialDeviance, MultiSimilarity)
OF_DIFFERENCES = [loss for loss in ALL if not isinstance(loss, OF_LEVELS)]


def options(loss):
    """What was chosen for a loss, of what its slow twin asks for."""
    return {name: getattr(loss, name) for name in [*inspect.signature(SLOW[type(loss)]).parameters][2:]}


@pytest.mark.parametrize("loss", ALL, ids=repr)
@pytest.mark.parametrize("ties", [False, True])
@given(data=slow.st.data())
@settings(max_examples=20)
def test_per_query_equals_the_slow_twin(loss, ties, data):
    problem = data.draw(slow.problems(ties=ties))
    expected = slow.per_query(SLOW[type(loss)], *problem, **options(loss))
    torch.testing.assert_close(loss.per_query(*problem), expected, atol=1e-9, rtol=1e-10)


@pytest.mark.parametrize("loss", ALL, ids=repr)
@pytest.mark.parametrize("ties", [False, True])
@given(data=slow.st.data())
@settings(max_examples=25)
def test_closed_form_equals_autograd(loss, ties, data):
    scores, mask = data.draw(slow.problems(ties=ties))
    assert (loss.weights(scores, mask) - slow.jacobian(loss, scores, mask)).abs().max() < 1e-10
    assert (loss.score_gradient(scores, mask) - slow.gradient(loss, scores, mask)).abs().max() < 1e-10


@pytest.mark.parametrize("loss", [loss for loss in ALL if not getattr(loss, "detach", False)], ids=repr)
def test_weights_agree_with_central_differences(loss):
    """Neither closed form nor autograd: gradcheck's finite differences, at a point off every hinge and tie."""
    generator = torch.Generator().manual_seed(4)
    scores = (torch.rand(4, 6, generator=generator, dtype=torch.float64) * 0.3).requires_grad_()
    mask = torch.tensor([[1, 0, 0, 1, 0, 0], [0, 1, 0, 0, 1, 1], [0, 0, 1, 0, 0, 0], [1, 1, 1, 1, 0, 0]]).bool()
    assert torch.autograd.gradcheck(lambda s: loss.per_query(s, mask), (scores,), eps=1e-6, atol=1e-6)
    point, step, weights = scores.detach(), 1e-6, loss.weights(scores, mask)
    for j in range(6):
        move = torch.zeros(6, dtype=torch.float64)
        move[j] = step
        slope = (loss.per_query(point + move, mask) - loss.per_query(point - move, mask)) / (2 * step)
        torch.testing.assert_close(weights[:, j], slope, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("loss", ALL, ids=repr)
@pytest.mark.parametrize("queries", ["sum", "mean"])
@pytest.mark.parametrize("directions", ["sum", "mean"])
def test_reductions(loss, queries, directions):
    loss = dataclasses.replace(loss, queries=queries, directions=directions)
    i2t, t2i = slow.both(SLOW[type(loss)], GM, OWN_GM, **options(loss))
    i2t, t2i = (part.sum() if queries == "sum" else part.mean() for part in (i2t, t2i))
    expected = i2t + t2i if directions == "sum" else (i2t + t2i) / 2
    torch.testing.assert_close(loss(GM, OWN_GM), expected, atol=1e-10, rtol=1e-10)
    torch.testing.assert_close(loss.score_gradient(GM, OWN_GM), slow.gradient(loss, GM, OWN_GM), atol=1e-12, rtol=1e-10)


@pytest.mark.parametrize("loss", ALL, ids=repr)
def test_the_loss_s_own_backward_is_its_closed_form(loss):
    scores = GM.clone().requires_grad_()
    loss(scores, OWN_GM).backward()
    torch.testing.assert_close(scores.grad, loss.score_gradient(GM, OWN_GM), rtol=0, atol=0)


def test_published_reductions_are_the_defaults():
    for kind in (Triplet, TripletSH):
        assert (kind().queries, kind().directions, kind().margin) == ("sum", "sum", 0.2)
        assert kind(margin=0).margin == 0
    for kind in set(LOSSES.values()) - {Triplet, TripletSH}:
        assert (kind().queries, kind().directions) == ("mean", "mean")
    assert (NTXent().tau, SmoothAP().tau, SigLIP()) == (0.1, 0.01, SigLIP(10, -10))
    assert losses.InfoNCE is NTXent and NTXent().denominator == "all"


@pytest.mark.parametrize("loss", OF_DIFFERENCES, ids=repr)
def test_weights_of_a_query_sum_to_zero(loss):
    """A loss of differences of scores only: adding a constant to a row changes nothing."""
    sums = loss.weights(GM, OWN_GM).sum(1)
    torch.testing.assert_close(sums, torch.zeros_like(sums), atol=1e-10, rtol=0)
    torch.testing.assert_close(loss.per_query(GM + 0.3, OWN_GM), loss.per_query(GM, OWN_GM))


@pytest.mark.parametrize("loss", ONE_POSITIVE_AT_A_TIME, ids=repr)
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


@pytest.mark.parametrize("loss", ALL, ids=repr)
def test_a_tiny_memory_budget_changes_nothing(loss):
    tight = dataclasses.replace(loss, memory_budget=700)  # two rows of 40 float64 at a time
    assert len(list(tight._chunks(OWN_GM, 8))) == 20 and len(list(loss._chunks(OWN_GM, 8))) == 1
    torch.testing.assert_close(tight.per_query(GM, OWN_GM), loss.per_query(GM, OWN_GM), rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(tight.weights(GM, OWN_GM), loss.weights(GM, OWN_GM), rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(
        slow.gradient(tight, GM, OWN_GM), slow.gradient(loss, GM, OWN_GM), rtol=1e-12, atol=1e-14
    )


class _Recorder(torch.overrides.TorchFunctionMode):
    """The largest number of elements of any tensor that an operation returned."""

    largest = 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor):
            self.largest = max(self.largest, result.numel())
        return result


@pytest.mark.parametrize("loss", ALL, ids=repr)
def test_no_tensor_grows_with_the_square_of_the_candidates(loss):
    """Q·P·M numbers at most: for SmoothAP the (M, M) matrix of each query would be 8 times as many here."""
    with _Recorder() as recorder:
        loss.per_query(GM, OWN_GM)
        loss.weights(GM, OWN_GM)
    assert 0 < recorder.largest <= 8 * 5 * 40 < 8 * 40 * 40


@pytest.mark.parametrize("loss", ALL, ids=repr)
def test_single_and_half_precision(loss):
    assert loss(GM.float(), OWN_GM).dtype == torch.float32
    torch.testing.assert_close(loss(GM.float(), OWN_GM).double(), loss(GM, OWN_GM), rtol=1e-4, atol=1e-6)
    single, double = loss.weights(GM.float(), OWN_GM), loss.weights(GM, OWN_GM)
    assert single.dtype == torch.float32
    torch.testing.assert_close(single.double(), double, rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(loss(GM.bfloat16(), OWN_GM), loss(GM.bfloat16().float(), OWN_GM), rtol=0, atol=0)


@pytest.mark.parametrize("wrong", [math.inf, -math.inf, math.nan, "0.1", None, True, [0.1]], ids=repr)
def test_a_constant_that_is_no_finite_number_is_refused_where_the_loss_is_made(wrong):
    """Of every loss, every number that it takes: an infinite margin would train to NaN."""
    for name in [*LOSSES, "goal:cir x sig-ms"]:
        kind, fixed = kind_of(name)
        for option in dataclasses.fields(kind):
            if isinstance(option.default, float):
                with pytest.raises(ValueError, match=f"{option.name} of {kind.__name__} must be a finite number; got"):
                    kind(**fixed, **{option.name: wrong})


@pytest.mark.parametrize("loss", ALL, ids=repr)
def test_extreme_but_finite_scores_stay_finite(loss):
    for kind in (torch.float64, torch.float32):
        for scores in (S3 * 1e4, -S3 * 1e4, torch.zeros_like(S3), S3 * 1e-30):
            scores = scores.to(kind)
            assert torch.isfinite(loss(scores, OWN3)) and torch.isfinite(slow.gradient(loss, scores, OWN3)).all()
            assert torch.isfinite(loss.weights(scores, OWN3)).all()


@pytest.mark.parametrize("size", [2, 8, 16])
def test_the_loss_of_a_collapsed_model(size):
    """2Bα, 2B(B-1)α, ln B and others: where each loss sits while all scores are equal."""
    for loss, expected in (
        (TripletSH(), 2 * size * 0.2),
        (Triplet(), 2 * size * (size - 1) * 0.2),
        (NTXent(), math.log(size)),
        (NTXent(tau=0.01), math.log(size)),
        (DCL(tau=0.3), math.log(size - 1)),
        (IFM(tau=0.5, eps=0.3), (math.log(size) + math.log1p((size - 1) * math.exp(2 * 0.3 / 0.5))) / 2),
        (SparseNTXent(tau=1.5), (1 - 1 / size) / 2),
    ):
        assert loss.collapsed(torch.eye(size, dtype=torch.bool)) == pytest.approx(expected, rel=1e-12), loss


@pytest.mark.parametrize("call", ["per_query", "weights", "score_gradient", "__call__"])
@pytest.mark.parametrize("loss", [kind() for kind in SLOW], ids=repr)
class TestRefused:
    def refuse(self, loss, call, scores, positives, match, error=ValueError):
        with pytest.raises(error, match=match):
            getattr(loss, call)(scores, positives)

    def test_shapes(self, loss, call):
        self.refuse(loss, call, S3, torch.ones(3, 4).bool(), r"scores \(3, 3\) and positives \(3, 4\)")
        self.refuse(loss, call, S3[0], OWN3[0], r"must be one \(Q, M\) matrix")

    def test_types(self, loss, call):
        self.refuse(loss, call, S3, OWN3.long(), r"bool mask; got torch.int64. Use mask.bool\(\)")
        self.refuse(loss, call, (S3 * 10).long(), OWN3, "floating point; got torch.int64")

    def test_a_row_without_positive_or_negative(self, loss, call):
        for row, value in itertools.product((1, 2), (False, True)):
            mask = OWN3.clone()
            mask[row] = value
            wanted = f"row {row} of positives has no {'negative' if value else 'positive'}"
            self.refuse(loss, call, S3, mask, wanted)

    def test_nan_and_infinity(self, loss, call):
        for value in (float("nan"), float("inf")):
            scores = S3.clone()
            scores[2, 1] = value
            self.refuse(loss, call, scores, OWN3, r"scores\[2, 1\] is (nan|inf)", NonFiniteScores)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        *((name, {"tau": 0}, "tau must be positive; got 0") for name in ("ntxent", "smoothap", "ifm", "dcl")),
        *((name, {"tau": -0.1}, "tau must be positive; got -0.1") for name in ("ntxent_sparse", "ntxent_hard")),
        *(
            (name, {"margin": -1}, "margin must be zero or more; got -1")
            for name in ("triplet", "triplet_sh", "circle")
        ),
        ("triplet", {"queries": "max"}, "queries must be 'sum' or 'mean'; got 'max'"),
        ("smoothap", {"directions": "both"}, "directions must be 'sum' or 'mean'; got 'both'"),
        ("ntxent", {"denominator": "some"}, "denominator must be 'all', 'negatives' or 'candidates'; got 'some'"),
        ("dcl", {"denominator": "all"}, "DCL leaves the positive out of its denominator; got 'all': take NTXent"),
        ("ifm", {"eps": -0.1}, "eps must be zero or more; got -0.1"),
        ("siglip", {"scale": 0}, "scale must be positive; got 0"),
        ("circle", {"gamma": 0}, "gamma must be positive; got 0"),
        ("circle", {"negatives": "hard"}, "unknown choice of negatives 'hard'.*Did you mean 'hardest'"),
        ("binomial_deviance", {"alpha": -1}, "alpha must be positive; got -1"),
        ("multi_similarity", {"beta": 0}, "beta must be positive; got 0"),
        ("triplet_sh", {"margn": 0.1}, r"unknown option of TripletSH 'margn'.*Did you mean 'margin'\?"),
        ("ntxent", {"margin": 0.1}, "unknown option of NTXent 'margin'"),
        ("ntxnet", {}, r"unknown loss 'ntxnet'; allowed: 'triplet'.*Did you mean 'ntxent'\?"),
    ],
)
def test_names_and_options_that_are_refused(name, options, message):
    with pytest.raises(ValueError, match=message):
        by_name(name, **options)


def test_by_name():
    assert {name: type(by_name(name)) for name in LOSSES} == LOSSES
    assert by_name("infonce", tau=0.05) == NTXent(tau=0.05)


def test_a_loss_must_say_what_it_is():
    with pytest.raises(TypeError, match="Loss must define terms"):
        Loss().per_query(S3, OWN3)
    with pytest.raises(TypeError, match="Loss must define term_weights"):
        Loss().weights(S3, OWN3)


def test_every_registered_loss_can_be_imported_from_the_package():
    assert {kind.__name__ for kind in losses.LOSSES.values()} <= set(losses.__all__)

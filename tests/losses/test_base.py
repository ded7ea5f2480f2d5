"""What all losses share: reductions, closed-form gradients, several positives, chunks, masks that are refused."""

from __future__ import annotations

import dataclasses
import doctest
import importlib
import inspect
import math

import pytest
import torch
from hypothesis import given, settings

from icrlib import agreement, losses
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
from icrlib.losses.base import chunked
from icrlib.losses.build import kind_of

from . import slow
from .slow import GM, OWN3, OWN_GM, S3

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
ALL = [
    *(kind() for kind in SLOW),
    *(NTXent(denominator=which) for which in ("negatives", "candidates")),
    *(kind(tau=tau) for kind, tau in ((NTXent, 0.05), (SmoothAP, 0.1), (DCL, 0.3), (HardNTXent, 0.5))),
    *(SparseNTXent(tau=tau) for tau in (0.02, 1.5)),
    *(IFM(tau=tau, eps=eps) for tau, eps in ((0.2, 0.0), (0.5, 0.3))),
    *(SigLIP(scale=scale, bias=bias) for scale, bias in ((3.0, -0.5), (0.4, 2.0))),
    BinomialDeviance(negatives="hardest"),
]
for number in ("all", "hardest"):
    ALL += [
        Circle(margin=0.25, gamma=6.0, negatives=number),
        Circle(margin=0.4, gamma=4.0, detach=False, negatives=number),
        BinomialDeviance(alpha=1.5, beta=4.0, lam=0.2, scaled=True, negatives=number),
        MultiSimilarity(beta=10.0, negatives=number),
        MultiSimilarity(alpha=1.0, lam=0.1, eps=0.4, beta=5.0, negatives=number),
    ]


def options(loss):
    """What was chosen for a loss, of what its slow twin asks for."""
    return {name: getattr(loss, name) for name in [*inspect.signature(SLOW[type(loss)]).parameters][2:]}


@pytest.mark.parametrize("loss", ALL, ids=repr)
@pytest.mark.parametrize("ties", [False, True])
@given(data=slow.st.data())
@settings(max_examples=25)
def test_per_query_equals_the_slow_twin_and_the_closed_form_autograd(loss, ties, data):
    scores, mask = data.draw(slow.problems(ties=ties))
    expected = slow.per_query(SLOW[type(loss)], scores, mask, **options(loss))
    torch.testing.assert_close(loss.per_query(scores, mask), expected, atol=1e-9, rtol=1e-10)
    assert (loss.weights(scores, mask) - slow.jacobian(loss, scores, mask)).abs().max() < 1e-10
    assert (loss.score_gradient(scores, mask) - slow.gradient(loss, scores, mask)).abs().max() < 1e-10


@pytest.mark.parametrize("loss", [loss for loss in ALL if not getattr(loss, "detach", False)], ids=repr)
def test_weights_agree_with_central_differences(loss):
    """Neither closed form nor autograd: finite differences, at a point off every hinge and tie."""
    point = torch.rand(4, 6, generator=torch.Generator().manual_seed(4), dtype=torch.float64) * 0.3
    mask = torch.tensor([[1, 0, 0, 1, 0, 0], [0, 1, 0, 0, 1, 1], [0, 0, 1, 0, 0, 0], [1, 1, 1, 1, 0, 0]]).bool()
    slopes = agreement.by_differences(lambda s: loss.per_query(s, mask), point)
    torch.testing.assert_close(loss.weights(point, mask), slopes, atol=1e-6, rtol=1e-5)
    if isinstance(loss, (IFM, SigLIP, DCL, SparseNTXent)):  # no corner in the value, so at ties too, as in the last row
        scores, mask = GM[:3, :15].clone(), OWN_GM[:3, :15].clone()
        scores[2] = torch.where(mask[2], 0.31, 0.3)
        mask[0, 7:9] = True
        actual = agreement.agreement(loss.weights(scores, mask), lambda s: loss.per_query(s, mask), scores)
        assert actual["differences"] < 1e-4 and actual["autograd"] < 1e-10


@pytest.mark.parametrize("loss", ALL, ids=repr)
@pytest.mark.parametrize("queries", ["sum", "mean"])
@pytest.mark.parametrize("directions", ["sum", "mean"])
def test_reductions(loss, queries, directions):
    """And the loss's own backward is its closed form; with five captions an image, and with pairs."""
    loss = dataclasses.replace(loss, queries=queries, directions=directions)
    for at, mask in ((GM, OWN_GM), (GM[:, 2::5], torch.eye(8, dtype=torch.bool))):
        scores = at.clone().requires_grad_()
        i2t, t2i = slow.both(SLOW[type(loss)], at, mask, **options(loss))
        i2t, t2i = (part.sum() if queries == "sum" else part.mean() for part in (i2t, t2i))
        value = loss(scores, mask)
        value.backward()
        torch.testing.assert_close(value, i2t + t2i if directions == "sum" else (i2t + t2i) / 2, atol=1e-10, rtol=1e-10)
        torch.testing.assert_close(scores.grad, loss.score_gradient(at, mask), rtol=0, atol=0)
        torch.testing.assert_close(scores.grad, slow.gradient(loss, at, mask), atol=1e-12, rtol=1e-10)


def test_a_second_derivative_is_refused_and_not_0():
    scores = GM.clone().requires_grad_()
    with pytest.raises(ValueError, match="create_graph=True.*per_query"):
        torch.autograd.grad(NTXent()(scores, OWN_GM), scores, create_graph=True)


@pytest.mark.parametrize("loss", ALL, ids=repr)
def test_a_little_room_changes_nothing(loss, monkeypatch):
    """Captions five an image, pairs on the diagonal, and pairs in another order, two rows or so at a time."""
    square, other = GM[:, 2::5], torch.eye(8, dtype=torch.bool)
    assert len(chunked(GM, OWN_GM, 700)) == 20 and len(chunked(GM, OWN_GM, loss.memory)) == 1
    for scores, mask in ((GM, OWN_GM), (square, other), (square, other.roll(3, 1))):

        def call(s=scores, m=mask):
            return loss.per_query(s, m), loss.weights(s, m), slow.gradient(loss, s, m), loss(s, m)

        with monkeypatch.context() as patch:
            whole = call()
            patch.setattr(type(loss), "memory", 700)
            patch.setattr(type(loss), "cache", 700 if scores is GM else 130)
            for tight, wide in zip(call(), whole, strict=True):
                torch.testing.assert_close(tight, wide, rtol=1e-12, atol=1e-14)


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


@pytest.mark.parametrize("call", ["per_query", "weights", "score_gradient", "__call__"])
@pytest.mark.parametrize("loss", [*(kind() for kind in SLOW), by_name("goal:cir x sig-ms")], ids=repr)
def test_scores_and_masks_that_are_refused(loss, call):
    def changed(matrix, where, value):
        matrix = matrix.clone()
        matrix[where] = value
        return matrix

    for scores, positives, message in (
        (S3, torch.ones(3, 4).bool(), r"\(3, 3\) and positives \(3, 4\)"),
        (S3[0], OWN3[0], r"\(Q, M\) matrix"),
        (S3, OWN3.long(), r"mask.bool\(\)"),
        ((S3 * 10).long(), OWN3, "floating point"),
        (S3, changed(OWN3, 1, False), "row 1 of positives has no positive"),
        (S3, changed(OWN3, 2, True), "row 2 of positives has no negative"),
    ):
        with pytest.raises(ValueError, match=message):
            getattr(loss, call)(scores, positives)
    if call in ("score_gradient", "__call__"):  # and of a column as a query: the second direction is checked, too
        with pytest.raises(ValueError, match="row 0 of positives has no negative"):
            getattr(loss, call)(S3, torch.tensor([[True, False, False]] * 3))
    for value in (math.nan, math.inf):
        with pytest.raises(NonFiniteScores, match=r"scores\[2, 1\] is (nan|inf)"):
            getattr(loss, call)(changed(S3, (2, 1), value), OWN3)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        *((name, {"tau": 0}, "tau") for name in ("ntxent", "smoothap", "ifm", "dcl", "ntxent_sparse", "ntxent_hard")),
        *((name, {"margin": -1}, "margin") for name in ("triplet", "triplet_sh", "circle")),
        ("triplet", {"queries": "max"}, "queries"),
        ("ntxent", {"denominator": "some"}, "denominator"),
        ("dcl", {"denominator": "all"}, "take NTXent"),
        ("siglip", {"scale": 0}, "scale"),
        ("ifm", {"eps": -0.1}, "eps"),
        ("multi_similarity", {"beta": 0}, "beta"),
        ("goal:cir x lin", {"alpha": 0}, "alpha"),
        ("goal:cir x lin", {"convention": "printed"}, "'printed'"),
        ("goal:cos x lin", {}, "'cos'"),
        ("goal:cir x linms", {}, "Did you mean 'lin"),
        ("goal:cir", {}, "goal:T x P|triplet weight"),
        ("circle", {"negatives": "hard"}, "'hardest'"),
        ("triplet_sh", {"margn": 0.1}, "'margin'"),
        ("ntxnet", {}, "'ntxent'"),
    ],
)
def test_names_and_options_that_are_refused(name, options, message):
    with pytest.raises(ValueError, match=message):
        by_name(name, **options)


def test_names_and_published_defaults():
    assert {name: type(by_name(name)) for name in LOSSES} == LOSSES
    assert {kind.__name__ for kind in LOSSES.values()} <= set(losses.__all__)
    assert len({kind.label for kind in LOSSES.values()}) == len(LOSSES)
    assert by_name("infonce", tau=0.05) == NTXent(tau=0.05)
    for kind in LOSSES.values():
        reduction = "sum" if kind in (Triplet, TripletSH) else "mean"
        assert (kind().queries, kind().directions) == (reduction, reduction)
    assert (Triplet(), TripletSH()) == (Triplet(margin=0.2), TripletSH(margin=0.2))
    assert (NTXent().tau, SmoothAP().tau, SigLIP()) == (0.1, 0.01, SigLIP(10, -10)) and NTXent().denominator == "all"
    for call in ("per_query", "weights"):  # a loss must say what it is
        with pytest.raises(TypeError, match="Loss must define term"):
            getattr(Loss(), call)(S3, OWN3)


@pytest.mark.parametrize("module", ["ifm", "siglip", "ntxent", "sparse"])
def test_the_examples_in_the_docstrings(module):
    actual = doctest.testmod(importlib.import_module(f"icrlib.losses.{module}"))
    assert actual.attempted and not actual.failed

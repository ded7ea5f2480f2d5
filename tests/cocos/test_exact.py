"""COCOS of the true weights: against autograd, the effective number of negatives, and what is refused."""

from __future__ import annotations

import math
from functools import partial

import pytest
import torch

from icrlib import cocos
from icrlib.losses import Loss, NTXent, SmoothAP, Triplet, TripletSH

from ..losses import slow
from ..losses.slow import GM, OWN3, OWN_GM, S3
from .twins import rows_of

exact_count = partial(cocos.count, convention="exact")


@pytest.mark.parametrize("loss", [Triplet(), TripletSH(), NTXent(), SmoothAP()], ids=repr)
@pytest.mark.parametrize("direction", ["i2t", "t2i"])
def test_exact_counts_the_autograd_weights(loss, direction, monkeypatch):
    """Of a loss in chunks of two rows, too; the shares of NT-Xent are its weights."""
    scores, mask = rows_of(GM, OWN_GM, direction)
    weights = slow.jacobian(loss, scores, mask)
    counts = [sum(abs(w) > 0.05 for w in row) for row in weights.tolist()]
    for room in (loss.cache, 700):
        monkeypatch.setattr(type(loss), "cache", room)
        result = exact_count(loss, scores, mask, eps=0.05, direction=direction)
        assert result["C_B"] == sum(counts) and result["C_0"] == counts.count(0)
        assert result["C_q"] == pytest.approx(sum(counts) / (len(counts) - counts.count(0)))
        if isinstance(loss, NTXent):
            large = (weights > 0.05) & ~mask
            assert result["C_neg"] == pytest.approx(float(large.sum() / len(mask)))
            assert result["W_neg"] == pytest.approx(float(weights[large].sum() / len(mask)))
            assert result["W_pos"] == pytest.approx(float(-weights[mask].sum() / len(mask)))


@pytest.mark.parametrize("convention", cocos.CONVENTIONS)
def test_effective_number_of_negatives(convention):
    """Equal weights on n negatives give n, one dominating negative gives 1; queries without gradient are left out."""
    scores = torch.tensor([[0.9, 0.8, 0.8, 0.8], [0.1, 0.9, 0.1, 0.8], [-0.5, -0.5, 0.9, -0.5], [0, 0, 0, 0.9]])
    mask = torch.eye(4, dtype=torch.bool)
    assert cocos.count(Triplet(), scores, mask, convention=convention)["n_eff"] == pytest.approx((3 + 1) / 2)
    assert cocos.count(TripletSH(), scores, mask, convention=convention)["n_eff"] == pytest.approx(1)
    weights = slow.jacobian(NTXent(), S3, OWN3).masked_fill(OWN3, 0)
    expected = (weights.sum(1) ** 2 / (weights**2).sum(1)).mean()
    result = cocos.count(NTXent(), S3, OWN3, convention=convention)["n_eff"]
    assert result == pytest.approx(float(expected))


@pytest.mark.parametrize("convention", cocos.CONVENTIONS)
@pytest.mark.parametrize("loss", [Triplet(), TripletSH(), NTXent(), SmoothAP()], ids=repr)
def test_nothing_left_to_learn_is_zero_not_nan(loss, convention):
    scores = 3 * torch.eye(4) - 1
    for side in cocos.count_both(loss, scores, torch.eye(4).bool(), convention=convention).values():
        assert all(type(value) is float and math.isfinite(value) for value in side.values())
        assert (side["C_q"], side["C_B"], side["C_0"]) == (0, 0, 4)


def test_tiny_weights_still_have_an_effective_number():
    scores = torch.tensor([[1.0, -1.0, -1.0, -1.0]])
    assert exact_count(NTXent(tau=0.03), scores, scores > 0)["n_eff"] == pytest.approx(3)


def test_exact_takes_any_loss_with_weights():
    """Shares are noted where the class says softmax, inherited by a subclass."""

    class Sharper(NTXent):
        pass

    class Other(Loss):
        def term_weights(self, pairs):
            return torch.where(pairs.negatives, 0.25, -0.5).double()

    class Flat(Other):
        softmax = True

    assert exact_count(Sharper(), S3, OWN3) == exact_count(NTXent(), S3, OWN3)
    assert exact_count(Other(), S3, OWN3)["C_q"] == 3 and "C_neg" not in exact_count(Other(), S3, OWN3)
    result = exact_count(Flat(), S3, OWN3)
    assert [result[key] for key in ("C_q", "C_neg", "W_neg", "W_pos")] == [3, 2, 0.5, 0.5]
    assert exact_count(Flat(), S3, OWN3, eps=0.25)["C_neg"] == 0, "strictly above"
    with pytest.raises(ValueError, match="no count for Other.*'exact'"):
        cocos.count(Other(), S3, OWN3, convention="definition")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_counts_beyond_its_whole_numbers(dtype):
    """bfloat16 has no 257, float16 no 2,049; a count must not be rounded to what they have."""
    scores, mask = torch.full((2, 2051), 0.5, dtype=dtype), torch.zeros(2, 2051, dtype=torch.bool)
    mask[0, 0] = mask[1, 1] = True
    assert exact_count(Triplet(), scores, mask)["C_B"] == 2 * 2051


def test_what_is_refused():
    for positives, options, message in (
        (OWN3, {"convention": "exakt"}, "'exact'"),
        (OWN3, {"direction": "i2i"}, "'i2i'"),
        (OWN3, {"eps": -1}, "eps"),
        (OWN3 & torch.tensor([[True], [False], [True]]), {}, "row 1 of positives"),
    ):
        with pytest.raises(ValueError, match=message):
            cocos.count(Triplet(), S3, positives, **({"convention": "exact"} | options))

"""Columns without a positive: candidates of every row and nobody's query, in losses, counts and notes."""

from __future__ import annotations

import pytest
import torch

from icrlib import cocos
from icrlib.losses import LOSSES
from icrlib.losses.build import by_name

NAMES = [*LOSSES, "goal:con x lin", "goal:cir x sig-ms"]
REDUCED = {"sum": torch.sum, "mean": torch.mean}


def batch(rows: int = 5, foils: int = 5) -> tuple[torch.Tensor, torch.Tensor]:
    """Scores (B, B + F) in which some foil is the hardest negative of a row; a positive for each of the first B."""
    dice = torch.Generator().manual_seed(3)
    scores = 0.9 * (2 * torch.rand(rows, rows + foils, dtype=torch.float64, generator=dice) - 1)
    own = torch.eye(rows, rows + foils, dtype=torch.bool)
    return scores + 0.05 * own, own


def by_hand(loss, scores: torch.Tensor, own: torch.Tensor) -> torch.Tensor:
    """Both directions through autograd, the foils' queries dropped before anybody looks at them."""
    asked = own.any(0)
    sides = (scores, own), (scores[:, asked].T, own[:, asked].T)
    value = sum(REDUCED[loss.queries](loss.per_query(*side)) for side in sides)
    return value / 2 if loss.directions == "mean" else value


def captions() -> tuple[torch.Tensor, torch.Tensor]:
    """Two captions an image, and foils in between: means are over the four columns that ask."""
    own = torch.tensor([[1, 0, 1, 0, 0, 0], [0, 0, 0, 1, 0, 1]], dtype=torch.bool)
    return torch.rand(2, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(1)), own


@pytest.mark.parametrize("given", [batch, captions])
@pytest.mark.parametrize("name", NAMES)
def test_equal_to_dropping_the_queries_by_hand(name, given):
    loss, (scores, own) = by_name(name), given()
    scores.requires_grad_()
    result, expected = loss(scores, own), by_hand(loss, scores, own)
    (mine,), (theirs,) = (torch.autograd.grad(value, scores) for value in (result, expected))
    assert abs(float((result - expected).detach())) < 1e-12 and float((mine - theirs).abs().max()) < 1e-12
    assert float((loss.score_gradient(scores, own) - theirs).abs().max()) < 1e-12


def test_a_row_without_a_positive_still_raises():
    scores, own = batch()
    own[2] = False
    for call in (by_name("ntxent"), lambda *given: cocos.count_both(by_name("ntxent"), *given)):
        with pytest.raises(ValueError, match="row 2"):
            call(scores, own)


@pytest.mark.parametrize("name", ["triplet", "triplet_sh", "ntxent", "smoothap", "goal:cir x sig"])
def test_counts_of_b_times_2b(name):
    loss, (scores, own) = by_name(name), batch()
    result = cocos.count_both(loss, scores, own)
    assert result["i2t"] == cocos.count(loss, scores, own, convention="exact")
    assert result["t2i"] == cocos.count(loss, scores[:, :5].T, own[:, :5].T, convention="exact", direction="t2i")
    assert cocos.count_both(loss, scores[:, :5], own[:, :5])["t2i"] == result["t2i"]


def test_the_gap_and_a_collapse_know_of_them():
    scores, own = batch()
    hardest = scores.masked_fill(own, -9)
    total = (hardest.amax(1) - scores[:, :5].diagonal()).sum() + (hardest.amax(0)[:5] - scores[:, :5].diagonal()).sum()
    assert by_name("goal:con x con").gap(scores, own) == pytest.approx(float(total), abs=1e-12)
    assert by_name("ntxent").collapsed(own) == pytest.approx((torch.tensor(10.0).log() + torch.tensor(5.0).log()) / 2)

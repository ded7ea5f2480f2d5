"""Where a collapse sits: of all equal scores, those that cost least; by brute force, by formula, by known numbers."""

from __future__ import annotations

import pytest
import torch

from icrlib.losses import LOSSES, Alignment, BinomialDeviance, Circle, MultiSimilarity, SigLIP, SmoothAP

from .slow import OWN8, OWN24, OWN_GM


@pytest.mark.parametrize("mask", [OWN8, OWN_GM, OWN24], ids=["8 x 8", "8 x 40", "2 x 4"])
@pytest.mark.parametrize(
    "loss",
    [
        *(LOSSES[name]() for name in LOSSES),
        *(SigLIP(*at, queries=queries) for queries in ("mean", "sum") for at in ((10, -10), (10, -1), (1, -3))),
    ],
    ids=repr,
)
def test_a_collapse_sits_where_equal_scores_cost_least(loss, mask):
    levels = torch.linspace(-1, 1, 401, dtype=torch.float64).tolist()
    costs = [float(loss(torch.full(mask.shape, level, dtype=torch.float64), mask)) for level in levels]
    assert loss.collapsed(mask) <= min(costs) + 1e-12
    assert loss.collapsed(mask) == pytest.approx(min(costs), rel=1e-3, abs=1e-12)


@pytest.mark.parametrize(
    ("loss", "value"),
    [(Circle(), 19.24), (BinomialDeviance(), 1.040), (MultiSimilarity(), 0.411), (Alignment(), 0.0)],
    ids=lambda one: type(one).__name__,
)
def test_of_128_pairs(loss, value):
    assert loss.collapsed(torch.eye(128, dtype=torch.bool)) == pytest.approx(value, abs=0.005 if value > 2 else 0.0005)


@pytest.mark.parametrize(("images", "captions"), [(2, 1), (8, 5), (128, 5)])
def test_smoothap_in_short(images, captions):
    """1 − ½[(k+1)/(kB+1) + 2/(B+1)] for B images of k captions: at equal scores every comparison is a half."""
    mask = torch.eye(images, dtype=torch.bool).repeat_interleave(captions, dim=1)
    short = 1 - ((captions + 1) / (captions * images + 1) + 2 / (images + 1)) / 2
    assert SmoothAP().collapsed(mask) == pytest.approx(short, abs=1e-12)

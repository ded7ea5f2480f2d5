"""SmoothAP: golden numbers and its limits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from icrlib.losses import SmoothAP

from . import slow
from .slow import GM, OWN24, OWN_GM, S24
from .test_triplet import matrix

# Of scores (B, kB) whose captions come image by image, k an image.
GOLDEN = json.loads((Path(__file__).parent / "golden_smoothap.json").read_text())


@pytest.mark.parametrize("case", GOLDEN.values(), ids=list(GOLDEN))
def test_golden_numbers(case):
    loss, scores = SmoothAP(tau=case["tau"]), matrix(case["scores"])
    mask = torch.eye(len(scores), dtype=torch.bool).repeat_interleave(case["captions"], dim=1)
    assert float(loss(scores, mask)) == pytest.approx(case["value"], abs=1e-9)
    torch.testing.assert_close(loss.per_query(scores, mask), matrix(case["i2t"]), atol=1e-9, rtol=0)
    torch.testing.assert_close(loss.per_query(scores.T, mask.T), matrix(case["t2i"]), atol=1e-9, rtol=0)
    torch.testing.assert_close(loss.score_gradient(scores, mask), matrix(case["gradient"]), atol=2e-9, rtol=0)
    torch.testing.assert_close(slow.gradient(loss, scores, mask), matrix(case["gradient"]), atol=2e-9, rtol=0)


@pytest.mark.parametrize(
    ("tau", "value", "slope"), [(0.01, 0.3052906798, 2.8685682666), (0.05, 0.3859740994, 2.6528189882)]
)
def test_golden_numbers_of_the_larger_matrix(tau, value, slope):
    loss = SmoothAP(tau=tau)
    assert float(loss(GM, OWN_GM)) == pytest.approx(value, abs=1e-9)
    assert float(loss.score_gradient(GM, OWN_GM).abs().sum()) == pytest.approx(slope, abs=1e-8)


def test_readings_of_the_print_that_are_other_losses():
    """ECIR Eq. 8: pooled over all queries, captions weigh k times as much; D = s_i - s_j would count who is below."""
    i2t, t2i = SmoothAP().per_query(S24, OWN24), SmoothAP().per_query(S24.T, OWN24.T)
    assert float(torch.cat([i2t, t2i]).mean()) == pytest.approx(0.1375195811, abs=1e-9)
    i2t, t2i = SmoothAP().per_query(-S24, OWN24), SmoothAP().per_query(-S24.T, OWN24.T)
    assert float((i2t.mean() + t2i.mean()) / 2) == pytest.approx(0.4639620137, abs=1e-9)


def test_tends_to_average_precision():
    generator = torch.Generator().manual_seed(0)
    scores = torch.stack([torch.randperm(12, generator=generator) for _ in range(6)]).double() / 10
    mask = torch.rand(6, 12, generator=generator) < 0.4
    mask[:, 0], mask[:, 1] = True, False
    for row, own, loss in zip(scores, mask, SmoothAP(tau=1e-3).per_query(scores, mask), strict=True):
        ranked = own[row.argsort(descending=True)].tolist()
        precisions = [sum(ranked[: r + 1]) / (r + 1) for r in range(12) if ranked[r]]
        assert float(loss) == pytest.approx(1 - sum(precisions) / len(precisions), abs=1e-9)


@pytest.mark.parametrize("lead", [5, 15, 17, 40])
def test_a_negative_far_ahead_keeps_its_weight_in_single_precision(lead):
    """1 − σ(x) is 17 % off at x = 15 and 0 from x = 17 on; such a negative is the one that matters."""
    loss, own = SmoothAP(tau=0.01), torch.tensor([[True, False]])
    weight = loss.weights(torch.tensor([[0.0, 0.01 * lead]]), own)[0, 1]
    exact = loss.weights(torch.tensor([[0.0, 0.01 * lead]], dtype=torch.float64), own)[0, 1]
    assert exact > 0 and weight.item() == pytest.approx(exact.item(), rel=1e-4)

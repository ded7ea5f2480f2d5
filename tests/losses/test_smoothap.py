"""SmoothAP: golden numbers and its limits."""

from __future__ import annotations

import pytest
import torch

from icrlib.losses import SmoothAP

from . import slow
from .slow import GM, OWN3, OWN24, OWN_GM, S3, S24
from .test_triplet import matrix

CLAMP = matrix([[0.9, 0.2], [0.1, 0.3]])
OWN2 = torch.eye(2, dtype=torch.bool)

GOLDEN = {
    "one positive, tau .01": (
        S3,
        OWN3,
        0.01,
        0.2510701339,
        [0.0000003059, 0.0066483545, 0.4999999999],
        [0.0, 0.4997834930, 0.4999886503],
        [
            [-0.0000050984, 0.0001944114, 0],
            [0.0000000002, -0.1133177408, 0.1095217119],
            [0, 0.0037958746, -0.0001891589],
        ],
    ),
    "one positive, tau .1": (
        S3,
        OWN3,
        0.1,
        0.3205359626,
        [0.1590408312, 0.3119576221, 0.4817476018],
        [0.0489740430, 0.4837721700, 0.4377235072],
        [
            [-0.2578434960, 0.2631225892, 0.0316406798],
            [0.1234121804, -0.4265307182, 0.2890185304],
            [0.0188472091, 0.1386726569, -0.1803396317],
        ],
    ),
    "two positives, tau .01": (
        S24,
        OWN24,
        0.01,
        0.1467957332,
        [0.2368208760, 0.1124275031],
        [0.0066483545, 0.0009102219, 0.4683105308, 0.0],
        [[-1.4669175381, -0.7314687438, 2.4760426079, 0], [1.9996908996, 0.0673117083, -1.2660247166, -1.0786342173]],
    ),
    "two positives, tau .1": (
        S24,
        OWN24,
        0.1,
        0.2642960093,
        [0.2544140002, 0.3557587280],
        [0.2740686191, 0.2491434009, 0.3547696065, 0.0160409911],
        [
            [-0.2787283685, -0.2748201819, 0.3601847750, 0.0305301352],
            [0.3267229528, 0.3166759279, -0.2965657850, -0.1839994556],
        ],
    ),
    "clamp active": (
        CLAMP,
        OWN2,
        0.01,
        0.0000113495,
        [0.0, 0.0000000021],
        [0.0, 0.0000453958],
        [[0, 0.0011347922], [0.0000000515, -0.0011348437]],
    ),
}


@pytest.mark.parametrize("case", GOLDEN)
def test_golden_numbers(case):
    scores, mask, tau, value, i2t, t2i, gradient = GOLDEN[case]
    loss = SmoothAP(tau=tau)
    assert float(loss(scores, mask)) == pytest.approx(value, abs=1e-9)
    torch.testing.assert_close(loss.per_query(scores, mask), matrix(i2t), atol=1e-9, rtol=0)
    torch.testing.assert_close(loss.per_query(scores.T, mask.T), matrix(t2i), atol=1e-9, rtol=0)
    torch.testing.assert_close(loss.score_gradient(scores, mask), matrix(gradient), atol=2e-9, rtol=0)
    torch.testing.assert_close(slow.gradient(loss, scores, mask), matrix(gradient), atol=2e-9, rtol=0)


@pytest.mark.parametrize(
    ("tau", "value", "slope"), [(0.01, 0.3052906798, 2.8685682666), (0.05, 0.3859740994, 2.6528189882)]
)
def test_golden_numbers_of_the_larger_matrix(tau, value, slope):
    loss = SmoothAP(tau=tau)
    assert float(loss(GM, OWN_GM)) == pytest.approx(value, abs=1e-9)
    assert float(loss.score_gradient(GM, OWN_GM).abs().sum()) == pytest.approx(slope, abs=1e-8)


def test_pooled_over_all_queries_is_another_number():
    """ECIR Eq. 8 read literally: one mean over images and captions, so captions weigh k times as much."""
    i2t, t2i = SmoothAP().per_query(S24, OWN24), SmoothAP().per_query(S24.T, OWN24.T)
    assert float(torch.cat([i2t, t2i]).mean()) == pytest.approx(0.1375195811, abs=1e-9)


def test_the_printed_sign_is_another_loss():
    """With D = s_i - s_j inside G, as printed, the ranks count who is below: another number, and not ours."""
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


def test_a_perfect_ranking_has_no_gradient_left():
    scores, mask = matrix([[0.80, 0.795, 0.79, 0.785, 0.78] + [0.2] * 20]), torch.zeros(1, 25).bool()
    mask[:, :5] = True
    assert float(SmoothAP().per_query(scores, mask)) < 1e-12
    assert float(SmoothAP().weights(scores, mask).abs().max()) < 1e-15


@pytest.mark.parametrize("lead", [5, 15, 17, 40])
def test_a_negative_far_ahead_keeps_its_weight_in_single_precision(lead):
    """1 − σ(x) is 17 % off at x = 15 and 0 from x = 17 on; such a negative is the one that matters."""
    loss, own = SmoothAP(tau=0.01), torch.tensor([[True, False]])
    weight = loss.weights(torch.tensor([[0.0, 0.01 * lead]]), own)[0, 1]
    exact = loss.weights(torch.tensor([[0.0, 0.01 * lead]], dtype=torch.float64), own)[0, 1]
    assert exact > 0 and weight.item() == pytest.approx(exact.item(), rel=1e-4)

"""IFM: golden numbers, the margin it comes to, and the triplet loss that is its limit."""

from __future__ import annotations

import pytest
import torch

from icrlib.losses import IFM, NTXent, TripletSH

from . import slow
from .slow import GM, OWN3, OWN_GM, S3
from .test_triplet import matrix

CLIP = 0.07  # τ where CLIP begins; it ends at 0.01
GRADIENT = [
    [-1.178686104, 1.0872342808, 0.0132226958],
    [0.3253129349, -3.5351413541, 3.5256779939],
    [0.0075669649, 4.218889671, -4.4640770834],
]


def harder(loss, scores, mask):
    """The half that IFM adds, both directions: NT-Xent of scores whose positives are lower by 2 eps."""
    return NTXent(loss.tau)(scores - 2 * loss.eps * mask.double(), mask)


@pytest.mark.parametrize(
    ("tau", "eps", "plain", "added", "total"),
    [
        (CLIP, 0.1, 1.1250048756, 2.9846157236, 2.0548102996),
        (CLIP, 0.05, 1.1250048756, 1.9496185858, 1.5373117307),
        (0.01, 0.1, 6.5012787602, 19.8344602, 13.1678694715),
    ],
)
def test_golden_numbers(tau, eps, plain, added, total):
    loss = IFM(tau, eps)
    assert float(loss(S3, OWN3)) == pytest.approx(total, abs=2e-9)
    assert float(NTXent(tau)(S3, OWN3)) == pytest.approx(plain, abs=1e-9)
    assert float(harder(loss, S3, OWN3)) == pytest.approx(added, abs=2e-7 if tau == 0.01 else 1e-9)


def test_golden_gradient():
    torch.testing.assert_close(IFM(CLIP, 0.1).score_gradient(S3, OWN3), matrix(GRADIENT), atol=1e-9, rtol=0)
    torch.testing.assert_close(slow.gradient(IFM(CLIP, 0.1), S3, OWN3), matrix(GRADIENT), atol=1e-9, rtol=0)


def test_its_limit_is_the_hardest_negative_triplet():
    """The added half over its scale, for a sharper and sharper softmax: VSE++'s loss with α = 2 eps."""
    triplet = TripletSH(margin=0.2, queries="mean", directions="mean")
    assert float(triplet(S3, OWN3)) == pytest.approx(1.19 / 6)
    off = [abs(tau * float(harder(IFM(tau, 0.1), S3, OWN3) - triplet(S3, OWN3) / tau)) for tau in (0.07, 0.01, 1e-3)]
    assert off[0] > 1e-3 > off[1] > off[2] and off[1] == pytest.approx(0.198344602 - 1.19 / 6, abs=1e-8)
    for scores, mask in ((S3, OWN3), (GM + 1e-3 * torch.arange(40).double(), OWN_GM)):
        tau, hard, clear = 1e-6, TripletSH(margin=0.2), TripletSH(margin=0.0)
        # IFM itself: the mean of the triplet losses with margins 2 eps and 0.
        both = (hard.per_query(scores, mask) + clear.per_query(scores, mask)) / 2
        torch.testing.assert_close(tau * IFM(tau, 0.1).per_query(scores, mask), both, rtol=0, atol=1e-4)
        weights = (hard.weights(scores, mask) + clear.weights(scores, mask)) / 2
        torch.testing.assert_close(tau * IFM(tau, 0.1).weights(scores, mask), weights, rtol=0, atol=1e-6)

"""COCOS as ECIR defines it and as its code counted: golden numbers, slow twins, refusals."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from icrlib import cocos
from icrlib.losses import NTXent, SmoothAP, Triplet, TripletSH

from ..losses import slow
from ..losses.slow import GM, OWN3, OWN8, OWN_GM, S3, S8
from . import twins

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


@pytest.mark.parametrize(("loss", "scores", "mask", "direction", "definition", "published"), COUNTS)
def test_golden_counts(loss, scores, mask, direction, definition, published):
    for convention, expected in (("definition", definition), ("published", published)):
        result = cocos.count(loss, *twins.rows_of(scores, mask, direction), convention=convention, direction=direction)
        assert (result["C_q"], result["C_B"], result["C_0"]) == pytest.approx(expected, abs=1e-9), convention


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
        result = cocos.count_both(loss, scores, mask, convention=convention)
        for side, expected in (("i2t", i2t), ("t2i", t2i)):
            assert [result[side][k] for k in ("C_neg", "W_neg", "W_pos")] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("loss", [Triplet(), TripletSH(), NTXent(), SmoothAP(tau=0.1)], ids=repr)
@pytest.mark.parametrize("ties", [False, True])
@given(data=slow.st.data())
@settings(max_examples=25)
def test_definition_equals_its_slow_twin(loss, ties, data):
    scores, mask = data.draw(slow.problems(ties=ties))
    for eps in (0.01, 0.2):
        counts = [twins.definition(loss, *q, eps) for q in zip(scores.tolist(), mask.tolist(), strict=True)]
        some = [c for c in counts if c]
        result = cocos.count(loss, scores, mask, convention="definition", eps=eps)
        assert result["C_q"] == pytest.approx(sum(some) / len(some) if some else 0)
        assert result["C_B"] == pytest.approx(sum(counts)) and result["C_0"] == counts.count(0)


def test_what_the_released_counter_could_not_take():
    uneven = OWN_GM.clone()
    uneven[:, 4] = uneven[:, 5]
    for loss, query, direction, message in (
        (Triplet(), (GM, OWN_GM), "i2t", "one positive a query"),
        (SmoothAP(), (GM, uneven), "i2t", "equally many captions"),
        (SmoothAP(), (GM.T, OWN_GM.T), "i2t", "equally many captions"),
    ):
        with pytest.raises(ValueError, match=message):
            cocos.count(loss, *query, convention="published", direction=direction)

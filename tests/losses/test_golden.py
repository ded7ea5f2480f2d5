"""Golden numbers of the published losses: value, both directions, gradient; and some by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
import torch

from icrlib.losses import IFM, NTXent, SigLIP, SmoothAP, Triplet, TripletSH

from . import slow
from .slow import GM, OWN3, OWN8, OWN24, OWN_GM, S3, S8, S24, matrix

# Of scores (B, kB) whose captions come image by image, k an image.
SMOOTHAP = json.loads((Path(__file__).parent / "golden_smoothap.json").read_text())
RELEASED = [
    [-0.3967075010, 0.4836893802, 0.0311524669],
    [0.1597546441, -1.8534728964, 1.8009788168],
    [0.0114683568, 2.4884053136, -2.7252685809],
]
PRINTED = [
    [-3.3333333333, 1.8752550572, 0.0788307345],
    [1.7389079033, -3.3333333333, 3.1046847800],
    [0.1319883122, 3.0703332127, -3.3333333333],
]
OF_IFM = [
    [-1.178686104, 1.0872342808, 0.0132226958],
    [0.3253129349, -3.5351413541, 3.5256779939],
    [0.0075669649, 4.218889671, -4.4640770834],
]
CLIP = 0.07  # τ where CLIP begins; it ends at 0.01


@pytest.mark.parametrize(
    ("loss", "value", "parts", "gradient", "within"),
    [
        (Triplet(), 1.29, (0.62, 0.67), [[-1, 2, 0], [0, -3, 2], [0, 2, -2]], 1e-12),
        (TripletSH(), 1.19, (0.62, 0.57), [[-1, 1, 0], [0, -2, 2], [0, 2, -2]], 1e-12),
        (NTXent(), 0.9393834751, (1.0129689953, 0.8657979549), RELEASED, 1e-9),
        (NTXent(denominator="negatives"), -0.1125259165, (0.1200062698, -0.3450581028), PRINTED, 1e-9),
    ],
    ids=repr,
)
def test_value_parts_and_gradient(loss, value, parts, gradient, within):
    assert float(loss(S3, OWN3)) == pytest.approx(value, abs=within)
    total = torch.sum if loss.queries == "sum" else torch.mean
    assert [float(total(loss.per_query(s, OWN3))) for s in (S3, S3.T)] == pytest.approx(parts, abs=within)
    torch.testing.assert_close(loss.score_gradient(S3, OWN3), matrix(gradient), atol=within, rtol=0)
    torch.testing.assert_close(slow.gradient(loss, S3, OWN3), matrix(gradient), atol=within, rtol=0)


@pytest.mark.parametrize(("loss", "value"), [(Triplet(), 8.4410749054), (TripletSH(), 2.7776028714)])
def test_triplets_of_the_larger_matrix(loss, value):
    assert float(loss(S8, OWN8)) == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize(
    ("tau", "eps", "plain", "added", "total"),
    [
        (CLIP, 0.1, 1.1250048756, 2.9846157236, 2.0548102996),
        (CLIP, 0.05, 1.1250048756, 1.9496185858, 1.5373117307),
        (0.01, 0.1, 6.5012787602, 19.8344602, 13.1678694715),
    ],
)
def test_ifm(tau, eps, plain, added, total):
    assert float(IFM(tau, eps)(S3, OWN3)) == pytest.approx(total, abs=2e-9)
    assert float(NTXent(tau)(S3, OWN3)) == pytest.approx(plain, abs=1e-9)
    harder = NTXent(tau)(S3 - 2 * eps * OWN3.double(), OWN3)
    assert float(harder) == pytest.approx(added, abs=2e-7 if tau == 0.01 else 1e-9)
    for result in (IFM(CLIP, 0.1).score_gradient(S3, OWN3), slow.gradient(IFM(CLIP, 0.1), S3, OWN3)):
        torch.testing.assert_close(result, matrix(OF_IFM), atol=1e-9, rtol=0)


@pytest.mark.parametrize("case", SMOOTHAP.values(), ids=list(SMOOTHAP))
def test_smoothap(case):
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
def test_smoothap_of_the_larger_matrix(tau, value, slope):
    loss = SmoothAP(tau=tau)
    assert float(loss(GM, OWN_GM)) == pytest.approx(value, abs=1e-9)
    assert float(loss.score_gradient(GM, OWN_GM).abs().sum()) == pytest.approx(slope, abs=1e-8)


def test_readings_of_the_print_that_are_other_losses():
    """ECIR Eq. 8: pooled over all queries, captions weigh k times as much; D = s_i - s_j would count who is below."""
    i2t, t2i = SmoothAP().per_query(S24, OWN24), SmoothAP().per_query(S24.T, OWN24.T)
    assert float(torch.cat([i2t, t2i]).mean()) == pytest.approx(0.1375195811, abs=1e-9)
    i2t, t2i = SmoothAP().per_query(-S24, OWN24), SmoothAP().per_query(-S24.T, OWN24.T)
    assert float((i2t.mean() + t2i.mean()) / 2) == pytest.approx(0.4639620137, abs=1e-9)


def test_soft_labels_of_an_image_s_other_captions():
    """X-VLM's contrastive term, whose golden numbers FS S4 has; one positive each is NT-Xent as it was."""
    loss, same = NTXent(tau=0.07, denominator="candidates"), torch.tensor([0, 0, 1])
    assert float(loss(S3, OWN3)) == float(NTXent(tau=0.07)(S3, OWN3)) == pytest.approx(1.1250048756, abs=1e-9)
    mask = same[:, None] == same
    assert float(loss(S3, mask)) == pytest.approx(2.0773858280, abs=1e-9)
    soft = mask.double() / mask.sum(1, keepdim=True)
    for rows in (S3, S3.T):
        entropies = torch.nn.functional.cross_entropy(rows / 0.07, soft, reduction="none")
        torch.testing.assert_close(loss.per_query(rows, mask), entropies)


def test_siglip_by_hand():
    """Two pairs, scale 2 and bias -1: logits 1, -1 / 0, 0, so softplus of -1 (pulled), -1 (pushed), 0, 0."""
    scores = matrix([[1.0, 0.0], [0.5, 0.5]])
    loss, own = SigLIP(scale=2.0, bias=-1.0), torch.eye(2, dtype=torch.bool)
    low, even = math.log1p(math.exp(-1)), math.log(2)
    assert loss.per_query(scores, own).tolist() == pytest.approx([2 * low, 2 * even])
    third = 1 / (1 + math.e)
    torch.testing.assert_close(loss.weights(scores, own), matrix([[-2 * third, 2 * third], [1.0, -1.0]]))
    assert float(loss(scores, own)) == pytest.approx(low + even)

"""NT-Xent: golden numbers of the released and of the printed form, and pytorch-metric-learning."""

from __future__ import annotations

import pytest
import torch
from pytorch_metric_learning import losses as pml

from icrlib.losses import NTXent

from . import slow
from .slow import GM, OWN3, OWN8, OWN_GM, S3, S8
from .test_triplet import Given, both_labels, matrix

ALL = (
    NTXent(),
    0.9393834751,
    (1.0129689953, 0.8657979549),
    [
        [-0.3967075010, 0.4836893802, 0.0311524669],
        [0.1597546441, -1.8534728964, 1.8009788168],
        [0.0114683568, 2.4884053136, -2.7252685809],
    ],
)
NEGATIVES = (
    NTXent(denominator="negatives"),
    -0.1125259165,
    (0.1200062698, -0.3450581028),
    [
        [-3.3333333333, 1.8752550572, 0.0788307345],
        [1.7389079033, -3.3333333333, 3.1046847800],
        [0.1319883122, 3.0703332127, -3.3333333333],
    ],
)


@pytest.mark.parametrize(("loss", "value", "parts", "gradient"), [ALL, NEGATIVES], ids=["released", "as printed"])
def test_golden_numbers(loss, value, parts, gradient):
    assert float(loss(S3, OWN3)) == pytest.approx(value, abs=1e-9)
    assert float(loss.per_query(S3, OWN3).mean()) == pytest.approx(parts[0], abs=1e-9)
    assert float(loss.per_query(S3.T, OWN3).mean()) == pytest.approx(parts[1], abs=1e-9)
    torch.testing.assert_close(loss.score_gradient(S3, OWN3), matrix(gradient), atol=1e-9, rtol=0)
    torch.testing.assert_close(slow.gradient(loss, S3, OWN3), matrix(gradient), atol=1e-9, rtol=0)


def test_the_printed_denominator_has_no_lower_bound():
    """ECIR Eq. 4 pulls every positive with the full 1/τ for ever; Eq. 11 and the code let go."""
    apart = matrix([[5.0, -5.0], [-5.0, 5.0]])
    assert float(NTXent(denominator="negatives")(apart, torch.eye(2).bool())) == pytest.approx(-100)
    assert float(NTXent()(apart, torch.eye(2).bool())) == pytest.approx(0, abs=1e-12)
    weights = NTXent(denominator="negatives").weights(S3, OWN3).diagonal()
    torch.testing.assert_close(weights, torch.full((3,), -10.0, dtype=torch.float64))


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


def pml_ntxent(scores, mask, tau=0.1):
    queries, candidates = both_labels(scores, mask)
    loss = pml.NTXentLoss(temperature=tau, distance=Given(scores))
    return loss(torch.zeros(len(queries), 1), queries, ref_emb=torch.zeros(len(candidates), 1), ref_labels=candidates)


def test_equals_pytorch_metric_learning():
    """Its mean runs over (query, positive) pairs: the same as ours where all queries have equally many positives."""
    for scores, mask in ((S3, OWN3), (S8, OWN8), (GM, OWN_GM)):
        torch.testing.assert_close(NTXent().per_query(scores, mask).mean(), pml_ntxent(scores, mask))

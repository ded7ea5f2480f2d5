"""One minus cosine, in loops; it has no negatives."""

from __future__ import annotations

import pytest
import torch

from icrlib.agreement import agreement
from icrlib.losses import by_name


@pytest.fixture
def batch():
    scores = torch.rand(4, 6, generator=torch.Generator().manual_seed(2), dtype=torch.double)
    positives = torch.zeros(4, 6, dtype=torch.bool)
    positives[[0, 1, 2, 3, 3, 0], [0, 1, 2, 3, 4, 5]] = True
    return scores, positives


def test_by_loops(batch):
    scores, positives = batch
    wanted = [
        sum(1 - float(scores[q, p]) for p in range(6) if positives[q, p]) / int(positives[q].sum()) for q in range(4)
    ]
    loss = by_name("alignment")
    assert loss.per_query(scores, positives).tolist() == pytest.approx(wanted)
    columns = [1 - float(scores[positives[:, p].nonzero()[0, 0], p]) for p in range(5)]
    one = positives[:, :5]
    both = (sum(loss.per_query(scores[:, :5], one)) / 4 + sum(columns) / 5) / 2
    assert float(loss(scores[:, :5], one)) == pytest.approx(float(both))


def test_weights_are_the_positives_alone(batch):
    scores, positives = batch
    loss = by_name("alignment")
    found = agreement(loss.weights(scores, positives), lambda s: loss.per_query(s, positives), scores)
    assert max(found.values()) < 1e-8 and not loss.weights(scores, positives)[~positives].any()

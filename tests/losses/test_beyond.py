"""IFM, SigLIP, DCL and the sparse NT-Xent: what these four have in common, beside what test_base demands of all losses.

What is special to one has a file of its own.
"""

from __future__ import annotations

import doctest
import importlib

import pytest
import torch

from icrlib import agreement
from icrlib.losses import DCL, IFM, LOSSES, SigLIP, SparseNTXent, by_name
from icrlib.names import label

from .slow import GM, OWN_GM
from .test_base import ALL

NAMES = {"ifm": IFM, "siglip": SigLIP, "dcl": DCL, "ntxent_sparse": SparseNTXent}
HERE = [loss for loss in ALL if type(loss) in NAMES.values()]


@pytest.mark.parametrize("loss", HERE, ids=repr)
def test_closed_form_equals_central_differences_at_ties(loss):
    """None of them has a corner in its value, so at ties too: the last row is one."""
    scores, mask = GM[:3, :15].clone(), OWN_GM[:3, :15].clone()
    scores[2] = torch.where(mask[2], 0.31, 0.3)
    mask[0, 7:9] = True
    found = agreement.agreement(loss.weights(scores, mask), lambda s: loss.per_query(s, mask), scores)
    assert found["differences"] < 1e-4 and found["autograd"] < 1e-10
    assert torch.autograd.gradcheck(lambda s: loss.per_query(s, mask), (scores.requires_grad_(),), eps=1e-6, atol=1e-4)


@pytest.mark.parametrize("loss", HERE, ids=repr)
def test_equal_scores_get_equal_weights(loss):
    scores = torch.tensor([[0.5, 0.49, 0.49, 0.1], [0.2, 0.2, 0.2, 0.2]], dtype=torch.float64)
    weights = loss.weights(scores, torch.eye(2, 4, dtype=torch.bool))
    assert weights[0, 1] == weights[0, 2] > 0 and weights[1, 0] == weights[1, 2] == weights[1, 3] > 0


def test_names_labels_and_defaults():
    for name, kind in NAMES.items():
        assert LOSSES[name] is kind is type(by_name(name)) and label(name) == kind.label
        assert kind.batches == "pairs"
    assert len({kind.label for kind in LOSSES.values()}) == len(LOSSES)
    assert by_name("siglip", scale=5.0, bias=-2.0) == SigLIP(5.0, -2.0)


@pytest.mark.parametrize("module", ["ifm", "siglip", "dcl", "sparse"])
def test_the_examples_in_the_docstrings(module):
    found = doctest.testmod(importlib.import_module(f"icrlib.losses.{module}"))
    assert found.attempted and not found.failed

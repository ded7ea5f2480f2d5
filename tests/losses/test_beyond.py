"""IFM, SigLIP, DCL and the sparse NT-Xent: what these four have in common, beside what test_base demands of all losses.

What is special to one has a file of its own.
"""

from __future__ import annotations

import doctest
import importlib
import math

import pytest
import torch

from icrlib import agreement, cocos
from icrlib.losses import DCL, IFM, LOSSES, SigLIP, SparseNTXent, by_name
from icrlib.names import label

from .slow import GM, OWN8, OWN_GM, S8
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


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: IFM(tau=0), "tau must be positive; got 0"),
        (lambda: IFM(eps=-0.1), "eps must be zero or more; got -0.1"),
        (lambda: IFM(eps=math.nan), "eps of IFM must be a finite number; got nan"),
        (lambda: SigLIP(scale=0), "scale must be positive; got 0"),
        (lambda: SigLIP(scale=math.inf), "scale of SigLIP must be a finite number; got inf"),
        (lambda: SigLIP(bias=math.nan), "bias of SigLIP must be a finite number; got nan"),
        (lambda: SigLIP(queries="max"), "queries must be 'sum' or 'mean'; got 'max'"),
        (lambda: SparseNTXent(tau=-1), "tau must be positive; got -1"),
        (lambda: DCL(tau=0), "tau must be positive; got 0"),
        (lambda: DCL(denominator="all"), "DCL leaves the positive out of its denominator; got 'all': take NTXent"),
        (lambda: by_name("ifm", epz=0.1), "unknown option of IFM 'epz'.*Did you mean 'eps'"),
        (lambda: by_name("siglib"), "unknown loss 'siglib'.*Did you mean 'siglip'"),
    ],
)
def test_refused(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_names_labels_and_defaults():
    for name, kind in NAMES.items():
        assert LOSSES[name] is kind is type(by_name(name)) and label(name) == kind.label
        assert (by_name(name).queries, by_name(name).directions, kind.batches) == ("mean", "mean", "pairs")
    assert len({kind.label for kind in LOSSES.values()}) == len(LOSSES)
    assert by_name("siglip", scale=5.0, bias=-2.0) == SigLIP(5.0, -2.0) and SigLIP() == SigLIP(10, -10)


@pytest.mark.parametrize("loss", HERE, ids=repr)
@pytest.mark.parametrize("size", [2, 8])
def test_the_loss_of_a_collapsed_model(loss, size):
    """All scores equal. SigLIP sees how high they are, and a collapse sits where that is cheapest."""
    found = loss.collapsed(torch.eye(size, dtype=torch.bool))
    if isinstance(loss, SigLIP):
        levels = (loss.scale * torch.linspace(-1, 1, 20001, dtype=torch.float64) + loss.bias).tolist()
        costs = (math.log1p(math.exp(-z)) + (size - 1) * math.log1p(math.exp(z)) for z in levels)
        expected = min(costs)
    elif isinstance(loss, IFM):
        expected = (math.log(size) + math.log1p((size - 1) * math.exp(2 * loss.eps / loss.tau))) / 2
    else:
        expected = math.log(size - 1) if isinstance(loss, DCL) else (1 - 1 / size) / 2
    assert found == pytest.approx(expected, rel=1e-6 if isinstance(loss, SigLIP) else 1e-12)


@pytest.mark.parametrize("loss", HERE, ids=repr)
def test_counts_and_effective_negatives(loss):
    """cocos, against the weights counted by hand; the paper's definition only for DCL, which is a form of NT-Xent."""
    for direction, (scores, mask) in {"i2t": (S8, OWN8), "t2i": (S8.T, OWN8)}.items():
        weights = loss.weights(scores, mask)
        pushes = [
            [abs(w) for w, own in zip(*row, strict=True) if not own]
            for row in zip(weights.tolist(), mask.tolist(), strict=True)
        ]
        spread = [sum(row) ** 2 / sum(w * w for w in row) for row in pushes if any(row)]
        found = cocos.count(loss, scores, mask, convention="exact", direction=direction)
        assert found["n_eff"] == pytest.approx(sum(spread) / len(spread) if spread else 0.0)
        assert found["C_B"] == int((weights.abs() > 0.01).sum())
        assert found == cocos.count_both(loss, S8, OWN8)[direction]
    if not isinstance(loss, DCL):
        with pytest.raises(ValueError, match=f"ECIR defines no count for {type(loss).__name__}"):
            cocos.count(loss, S8, OWN8, convention="definition")


@pytest.mark.parametrize("module", ["ifm", "siglip", "dcl", "sparse"])
def test_the_examples_in_the_docstrings(module):
    found = doctest.testmod(importlib.import_module(f"icrlib.losses.{module}"))
    assert found.attempted and not found.failed

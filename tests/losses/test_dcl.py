"""DCL: the same numbers as NT-Xent without the positive in its denominator, and as its authors' formula."""

from __future__ import annotations

import pytest
import torch

from icrlib import cocos
from icrlib.losses import DCL, NTXent, by_name

from .slow import GM, OWN3, OWN_GM, S3


@pytest.mark.parametrize("tau", [0.05, 0.1, 0.5])
def test_it_is_ntxent_over_the_negatives_to_the_bit(tau):
    other = NTXent(tau=tau, denominator="negatives")
    for scores, mask in ((S3, OWN3), (GM, OWN_GM)):
        for call in ("__call__", "per_query", "weights", "score_gradient"):
            assert torch.equal(getattr(by_name("dcl", tau=tau), call)(scores, mask), getattr(other, call)(scores, mask))
        assert DCL(tau=tau).collapsed(mask) == other.collapsed(mask)
        for convention in ("exact", "definition"):
            assert cocos.count_both(DCL(tau=tau), scores, mask, convention=convention) == cocos.count_both(
                other, scores, mask, convention=convention
            )


def test_it_adds_no_formula_of_its_own():
    assert set(vars(DCL)) & {"terms", "term_weights", "per_query", "weights", "__call__", "_logits"} == set()


def test_up_to_the_second_view_s_negatives_it_is_the_published_loss():
    """Yeh et al.: the other items count twice, once in each view. Without those of the query's own view it is ours."""
    generator = torch.Generator().manual_seed(0)
    x, y = (torch.nn.functional.normalize(torch.randn(6, 4, generator=generator).double(), dim=1) for _ in range(2))
    own, tau = torch.eye(6, dtype=torch.bool), 0.1

    def published(a, b, views):
        pulled = (a * b).sum(1) / tau
        pushed = torch.cat([(a @ view.T / tau).masked_fill(own, -torch.inf) for view in views], 1).logsumexp(1)
        return (pushed - pulled).mean()

    ours = DCL(tau=tau)(x @ y.T, own)
    torch.testing.assert_close(ours, (published(x, y, [y]) + published(y, x, [x])) / 2)
    assert (published(x, y, [x, y]) + published(y, x, [x, y])) / 2 > ours + 0.1

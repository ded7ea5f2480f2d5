"""DCL: the same numbers as NT-Xent without the positive in its denominator, and as its authors' formula."""

from __future__ import annotations

import pytest
import torch

from icrlib import cocos
from icrlib.losses import DCL, NTXent, by_name

from .slow import GM, OWN3, OWN_GM, S3


@pytest.mark.parametrize("tau", [0.05, 0.1, 0.5])
def test_it_is_ntxent_over_the_negatives_to_the_bit(tau):
    ours, other = by_name("dcl", tau=tau), NTXent(tau=tau, denominator="negatives")
    for scores, mask in ((S3, OWN3), (GM, OWN_GM)):
        for call in ("__call__", "per_query", "weights", "score_gradient"):
            assert torch.equal(getattr(ours, call)(scores, mask), getattr(other, call)(scores, mask))
        assert ours.collapsed(mask) == other.collapsed(mask)
        for convention in ("exact", "definition"):
            one, two = (cocos.count_both(loss, scores, mask, convention=convention) for loss in (ours, other))
            assert one == two


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

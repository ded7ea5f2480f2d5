"""The checks that the derivations rest on must themselves be able to fail."""

from __future__ import annotations

import pytest
import torch

from icrlib import agreement

SCORES = torch.tensor([[0.3, -0.2, 0.5], [0.1, 0.7, -0.4]], dtype=torch.float64)


def cubes(scores):
    return (scores**3).sum(1)


def test_both_ways_find_a_known_gradient():
    expected = 3 * SCORES**2
    torch.testing.assert_close(agreement.by_autograd(cubes, SCORES), expected, atol=1e-14, rtol=0)
    torch.testing.assert_close(agreement.by_differences(cubes, SCORES), expected, atol=1e-9, rtol=0)
    found = agreement.agreement(expected, cubes, SCORES)
    assert found["autograd"] < 1e-14 and found["differences"] < 1e-9


@pytest.mark.parametrize("wrong", [-3 * SCORES**2, 3 * SCORES**2 + 1e-4, 3 * SCORES**2 * (1 + 1e-5)])
def test_a_wrong_closed_form_is_seen(wrong):
    found = agreement.agreement(wrong, cubes, SCORES)
    assert found["autograd"] > 1e-7 and found["differences"] > 1e-6


def test_differences_do_not_trust_autograd():
    """A backward pass that was tampered with agrees with itself, and not with the values."""
    found = agreement.agreement(torch.zeros_like(SCORES), lambda s: cubes(s.detach()) + 0 * s.sum(1), SCORES)
    assert found["autograd"] == 0 and found["differences"] > 0.9


def test_single_precision_is_refused():
    with pytest.raises(ValueError, match="float64"):
        agreement.agreement(SCORES, cubes, SCORES.float())

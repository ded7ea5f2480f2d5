"""A derivative of a loss's gradient (penalties, Hessians, MAML): right, or refused; never 0 in silence."""

from __future__ import annotations

import pytest
import torch

from icrlib import losses
from icrlib.losses import by_name

GENERATOR = torch.Generator().manual_seed(0)
SCORES = torch.rand(5, 7, dtype=torch.float64, generator=GENERATOR) * 1.6 - 0.8
ALONG = torch.rand(5, 7, dtype=torch.float64, generator=GENERATOR) - 0.5
POSITIVES = torch.eye(5, 7, dtype=torch.bool)
POSITIVES[0, 5] = POSITIVES[3, 6] = True


@pytest.mark.parametrize("queries", ["sum", "mean"])
@pytest.mark.parametrize("name", list(losses.LOSSES))
def test_along_any_direction_it_is_what_differences_of_the_gradient_say(name, queries):
    loss, step = by_name(name, queries=queries, **({"detach": False} if name == "circle" else {})), 1e-6
    scores = SCORES.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(loss(scores, POSITIVES) * 3, scores, create_graph=True)
    torch.testing.assert_close(gradient, 3 * loss.score_gradient(SCORES, POSITIVES))
    result = torch.autograd.grad((gradient * ALONG).sum(), scores)[0] if gradient.requires_grad else 0 * ALONG
    ahead, behind = (loss.score_gradient(SCORES + sign * step * ALONG, POSITIVES) for sign in (1, -1))
    torch.testing.assert_close(result, 3 * (ahead - behind) / (2 * step), atol=1e-5, rtol=1e-4)


def test_a_penalty_on_the_gradient_of_a_learned_scale():
    """By the chain: scores come from weights, and the loss is one of several terms."""
    weight = torch.tensor(1.3, dtype=torch.float64, requires_grad=True)

    def penalty(w):
        value = losses.NTXent(tau=0.5)(torch.tanh(w * SCORES[:, :5]), torch.eye(5, dtype=torch.bool)) + w**2
        return torch.autograd.grad(value, w, create_graph=True)[0] ** 2

    assert torch.autograd.gradcheck(penalty, (weight,))


@pytest.mark.parametrize(("name", "message"), [("goal:con x lin", "goal:con x lin"), ("circle", "detach=True")])
def test_a_gradient_that_autograd_does_not_know_is_refused(name, message):
    scores = SCORES.clone().requires_grad_()
    with pytest.raises(ValueError, match=message):
        torch.autograd.grad(by_name(name)(scores[:, :5], POSITIVES[:, :5]), scores, create_graph=True)

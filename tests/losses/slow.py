"""Slow, independent twins of the losses: plain loops over Python floats, written from the formulas; and test inputs."""

from __future__ import annotations

import math

import torch
from hypothesis import strategies as st

from icrlib import agreement

S3 = torch.tensor([[0.60, 0.45, 0.10], [0.30, 0.55, 0.50], [0.05, 0.62, 0.40]], dtype=torch.float64)
S24 = torch.tensor([[0.55, 0.53, 0.54, 0.10], [0.50, 0.46, 0.52, 0.51]], dtype=torch.float64)
OWN3 = torch.eye(3, dtype=torch.bool)
OWN24 = torch.eye(2, dtype=torch.bool).repeat_interleave(2, dim=1)
OWN_GM = torch.eye(8, dtype=torch.bool).repeat_interleave(5, dim=1)
_A, _B = torch.arange(8, dtype=torch.float64)[:, None], torch.arange(40, dtype=torch.float64)[None]
GM = 0.25 * torch.sin(1.3 * _A + 0.7 * _B) + 0.30 * OWN_GM.double()  # 8 images, 5 captions each
S8, OWN8 = GM[:, ::5].contiguous(), torch.eye(8, dtype=torch.bool)


def matrix(rows):
    return torch.tensor(rows, dtype=torch.float64)


def split_row(row, mask):
    """Positives and negatives of one query, as column numbers."""
    return [j for j, own in enumerate(mask) if own], [j for j, own in enumerate(mask) if not own]


def triplet(row, mask, margin):
    own, rest = split_row(row, mask)
    return sum(max(0.0, margin + row[j] - row[i]) for i in own for j in rest) / len(own)


def triplet_sh(row, mask, margin):
    own, rest = split_row(row, mask)
    return sum(max(0.0, max(margin + row[j] - row[i] for j in rest)) for i in own) / len(own)


def ntxent(row, mask, tau, denominator="all"):
    own, rest = split_row(row, mask)
    total = 0.0
    for i in own:
        among = {"all": [i, *rest], "negatives": rest, "candidates": range(len(row))}[denominator]
        total -= math.log(math.exp(row[i] / tau) / sum(math.exp(row[j] / tau) for j in among))
    return total / len(own)


def smoothap(row, mask, tau):
    """The textbook form: the whole (M, M) matrix of smooth comparisons, then the ranks of the positives."""
    size = len(row)
    above = [[0.0] * size for _ in range(size)]
    for i in range(size):
        for j in range(size):
            if i != j:
                above[i][j] = 1 / (1 + math.exp(-max(-50.0, min(50.0, (row[j] - row[i]) / tau))))
    own, _ = split_row(row, mask)
    precisions = [(1 + sum(above[i][j] for j in own)) / (1 + sum(above[i])) for i in own]
    return 1 - sum(precisions) / len(own)


def ifm(row, mask, tau, eps):
    """As the release writes it: the positive's score down by eps, the negatives' up, then over the temperature."""
    own, rest = split_row(row, mask)
    total = 0.0
    for i in own:
        for shift in (0.0, eps):
            up, down = (row[i] - shift) / tau, [(row[j] + shift) / tau for j in rest]
            total -= math.log(math.exp(up) / (math.exp(up) + sum(math.exp(z) for z in down))) / 2
    return total / len(own)


def siglip(row, mask, scale, bias):
    own, rest = split_row(row, mask)
    pulled = sum(-math.log(1 / (1 + math.exp(-(scale * row[i] + bias)))) for i in own) / len(own)
    return pulled + sum(-math.log(1 - 1 / (1 + math.exp(-(scale * row[j] + bias)))) for j in rest)


def projected(z):
    """The point of the simplex nearest to z, by halving the interval that its threshold lies in."""
    low, high = min(z) - 1, max(z)
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if sum(max(0.0, x - middle) for x in z) > 1 else (low, middle)
    return [max(0.0, x - low) for x in z]


def sparse(row, mask, tau):
    """Martins and Astudillo's loss in the form of Blondel et al.: what the maximum exceeds the right answer's by."""
    own, rest = split_row(row, mask)
    total = 0.0
    for i in own:
        z = [row[j] / tau for j in (i, *rest)]
        p = projected(z)
        total += sum(a * b for a, b in zip(p, z, strict=True)) - sum(a * a for a in p) / 2 + 0.5 - z[0]
    return total / len(own)


def alignment(row, mask):
    own, _ = split_row(row, mask)
    return sum(1 - row[i] for i in own) / len(own)


def hard_ntxent(row, mask, tau):
    own, rest = split_row(row, mask)
    top = max(row[j] for j in rest)
    return sum(math.log1p(math.exp((top - row[i]) / tau)) for i in own) / len(own)


def used(row, mask, negatives):
    own, rest = split_row(row, mask)
    return own, rest if negatives == "all" else [max(rest, key=lambda j: (row[j], -j))]


def circle(row, mask, margin, gamma, negatives):
    own, rest = used(row, mask, negatives)
    total = 0.0
    for i in own:
        up = math.exp(-gamma * max(0, 1 + margin - row[i]) * (row[i] - (1 - margin)))
        down = sum(math.exp(gamma * max(0, row[j] + margin) * (row[j] - margin)) for j in rest)
        total += math.log1p(up * down)
    return total / len(own)


def deviance(row, mask, alpha, beta, lam, scaled, negatives):
    own, rest = used(row, mask, negatives)
    a, b = (alpha, beta) if scaled else (1, 1)
    down = sum(math.log1p(math.exp(beta * (row[j] - lam))) for j in rest) / len(rest) / b
    return sum(math.log1p(math.exp(-alpha * (row[i] - lam))) for i in own) / len(own) / a + down


def multi(row, mask, alpha, beta, lam, eps, negatives):
    own, rest = used(row, mask, negatives)
    total = 0.0
    for i in own:
        kept = [j for j in rest if row[j] + eps > row[i]]
        if kept:
            total += math.log1p(math.exp(-alpha * (row[i] - lam))) / alpha
            total += math.log1p(sum(math.exp(beta * (row[j] - lam)) for j in kept)) / beta
    return total / len(own)


def per_query(formula, scores, positives, **options):
    rows = zip(scores.tolist(), positives.tolist(), strict=True)
    return torch.tensor([formula(row, mask, **options) for row, mask in rows], dtype=torch.float64)


def both(formula, scores, positives, **options):
    """Per-query values of the two directions."""
    return per_query(formula, scores, positives, **options), per_query(formula, scores.T, positives.T, **options)


def jacobian(loss, scores, positives):
    """d per_query[q] / d scores[q, :] by autograd, one query at a time."""
    return agreement.by_autograd(lambda s: loss.per_query(s, positives), scores)


def gradient(loss, scores, positives):
    """d loss / d scores by autograd through ``per_query`` in both directions, not by the loss's own closed form."""
    scores = scores.clone().requires_grad_()
    parts = [loss.per_query(scores, positives), loss.per_query(scores.T, positives.T)]
    total = sum(part.sum() if loss.queries == "sum" else part.mean() for part in parts)
    return torch.autograd.grad(total / (1 if loss.directions == "sum" else 2), scores)[0]


@st.composite
def problems(draw, ties=False, largest=7):
    """Scores (Q, M) in float64, and a mask with a positive and a negative in each row and each column.

    ``ties``: negatives from a grid of 0.1 and positives 0.001 above it, so that equal scores are common and no
    triplet lies on the hinge of a margin of 0.2.
    """
    queries, candidates = draw(st.integers(2, largest)), draw(st.integers(2, largest))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**31)))
    mask = torch.rand(queries, candidates, generator=generator) < draw(st.sampled_from([0.1, 0.3, 0.6, 0.9]))
    # Rows alternate between (1, 0) and (0, 1) in the first two columns, columns likewise in the first two rows.
    mask[:, :2] = torch.arange(queries)[:, None] % 2 == torch.arange(2)
    mask[:2] = torch.arange(2)[:, None] == torch.arange(candidates) % 2
    mask = mask[torch.randperm(queries, generator=generator)][:, torch.randperm(candidates, generator=generator)]
    if ties:
        steps = torch.randint(-3, 4, (queries, candidates), generator=generator)
        return steps.double() / 10 + 0.001 * mask, mask
    return torch.rand(queries, candidates, generator=generator, dtype=torch.float64) * 1.6 - 0.8, mask

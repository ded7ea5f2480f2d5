"""Losses: forward and backward in both directions, against the few lines of its paper and bare products."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, logsigmoid, normalize

from benchmarks.timing import Row, compare, show
from icrlib import losses

DIMENSIONS = 1024


def batch(images: int, captions: int, device: str) -> tuple[Tensor, Tensor, Tensor]:
    """Unit vectors that need a gradient, captions near their images, and the mask of positives, image by image."""
    generator = torch.Generator().manual_seed(0)
    x, y = (normalize(torch.randn(n, DIMENSIONS, generator=generator), dim=1) for n in (images, captions))
    positives = torch.eye(images, dtype=torch.bool).repeat_interleave(captions // images, 1)
    y = normalize(y + 0.15 * x.repeat_interleave(captions // images, 0), dim=1)
    return x.to(device).requires_grad_(), y.to(device).requires_grad_(), positives.to(device)


def step(x: Tensor, y: Tensor, value: Callable[[], Tensor]) -> Callable[[], float]:
    """Forward and backward; returns the value, so that two of them can be compared."""

    def run() -> float:
        x.grad = y.grad = None
        loss = value()
        loss.backward()
        return loss.item()

    return run


def lines(s: Tensor, mask: Tensor) -> dict[str, Callable[[], Tensor]]:
    """Losses as their papers' few lines have them, for pairs."""
    own = s.diagonal()

    def entropy(s: Tensor, tau: float) -> Tensor:
        label = torch.arange(len(s), device=s.device)
        return (cross_entropy(s / tau, label) + cross_entropy(s.T / tau, label)) / 2

    def hinges(way: Tensor) -> Tensor:
        return (0.2 + way - own[:, None]).clamp(min=0).masked_fill(mask, 0)

    def pushed(dim: int) -> Tensor:
        return (s / 0.1).masked_fill(mask, -torch.inf).logsumexp(dim)

    return {
        "triplet": lambda: hinges(s).sum() + hinges(s.T).sum(),
        "triplet_sh": lambda: hinges(s).amax(1).sum() + hinges(s.T).amax(1).sum(),
        "ntxent": lambda: entropy(s, 0.1),
        "dcl": lambda: ((pushed(0) + pushed(1)) / 2 - own / 0.1).mean(),
        "ifm": lambda: (entropy(s, 0.07) + entropy(s - 0.2 * mask.float(), 0.07)) / 2,
        "siglip": lambda: -logsigmoid((2 * mask.float() - 1) * (10 * s - 10)).sum() / len(s),
        "alignment": lambda: (1 - own).mean(),
    }


def against_lines(size: int, device: str) -> list[Row]:
    """Equal values first, then the race."""
    x, y, positives = batch(size, size, device)
    rows = []
    for name in lines(x @ y.T, positives):
        loss = losses.by_name(name)
        mine = step(x, y, lambda loss=loss: loss(x @ y.T, positives))
        theirs = step(x, y, lambda name=name: lines(x @ y.T, positives)[name]())
        assert abs(mine() - theirs()) < 1e-4 * abs(theirs()), name
        rows.append(compare(f"{name}, B = {size}", mine, theirs, "its paper's few lines", "at least 1"))
    return rows


def textbook_smoothap(scores: Tensor, positives: Tensor, tau: float = 0.01) -> Tensor:
    """One direction with the whole (Q, M, M) matrix of comparisons, as the definition reads."""
    above = torch.sigmoid(((scores[:, None, :] - scores[:, :, None]) / tau).clamp(-50, 50))
    above = above * (1 - torch.eye(scores.shape[1], device=scores.device))
    precision = (1 + (above * positives[:, None, :]).sum(2)) / (1 + above.sum(2))
    return (1 - (precision * positives).sum(1) / positives.sum(1)).mean()


def against_textbook(device: str) -> list[Row]:
    """SmoothAP, which never forms the (Q, M, M) matrix, against the form that does; equal values first."""
    x, y, positives = batch(128, 640, device)
    loss = losses.SmoothAP()

    def textbook() -> Tensor:
        return (textbook_smoothap(x @ y.T, positives) + textbook_smoothap(y @ x.T, positives.T)) / 2

    mine, twin = step(x, y, lambda: loss(x @ y.T, positives)), step(x, y, textbook)
    assert abs(mine() - twin()) < 1e-5
    return [compare("SmoothAP, 128 x 5, end to end", mine, twin, "the (Q, M, M) textbook", "at least 200")]


GOALS = {"smoothap": 2, "multi_similarity": 1.9, "ntxent_sparse": 1.9}


def against_products(device: str) -> list[Row]:
    """The price of a loss: what it costs beside the three matrix products that any loss on scores needs."""
    rows = []
    for name in [*losses.LOSSES, "goal:con x con", "goal:cir x lin", "goal:cir x sig-ms"]:
        loss, (images, captions) = losses.by_name(name), (128, 640) if name == "smoothap" else (1024, 1024)
        x, y, positives = batch(images, captions, device)
        incoming = torch.randn(images, captions, device=device)
        mine = step(x, y, lambda loss=loss, x=x, y=y, positives=positives: loss(x @ y.T, positives))
        goal = f"at most {GOALS.get(name, 1.35)}"

        def bare(x=x, y=y, incoming=incoming) -> None:
            x.grad = y.grad = None
            (x @ y.T).backward(incoming)

        rows.append(compare(f"{name}, {images} x {captions}", mine, bare, "the three products", goal, True))
    return rows


def main(device: str) -> None:
    """All tables about losses."""
    for size in (32, 128, 1024):
        show(f"Losses, both directions, forward and backward, B = {size}", against_lines(size, device))
    show("SmoothAP against its textbook form", against_textbook(device))
    show("The price of a loss", against_products(device))

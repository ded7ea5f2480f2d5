"""Losses: forward and backward in both directions, against pytorch-metric-learning and bare products."""

from __future__ import annotations

from collections.abc import Callable

import torch
from pytorch_metric_learning import distances, miners, reducers
from pytorch_metric_learning import losses as pml
from torch import Tensor
from torch.nn.functional import normalize

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


def peers(x: Tensor, y: Tensor) -> dict[str, tuple[losses.Loss, Callable[[], Tensor]]]:
    """Our loss and the same definition in pytorch-metric-learning."""
    label, cosine = torch.arange(len(x), device=x.device), distances.CosineSimilarity()
    summed = pml.TripletMarginLoss(margin=0.2, distance=cosine, reducer=reducers.SumReducer())
    hardest, near = miners.BatchHardMiner(distance=cosine), miners.MultiSimilarityMiner(epsilon=0.1, distance=cosine)

    def both(loss, miner=None) -> Callable[[], Tensor]:
        def value() -> Tensor:
            parts = []
            for a, b in ((x, y), (y, x)):
                # The same label tensor twice would make it leave out the diagonal.
                chosen = None if miner is None else miner(a, label, b, label.clone())
                parts.append(loss(a, label, chosen, ref_emb=b, ref_labels=label.clone()))
            return parts[0] + parts[1] if loss is summed else (parts[0] + parts[1]) / 2

        return value

    return {
        "Triplet": (losses.Triplet(), both(summed)),
        "Triplet-SH": (losses.TripletSH(), both(summed, hardest)),
        "NT-Xent": (losses.NTXent(tau=0.1), both(pml.NTXentLoss(temperature=0.1, distance=cosine))),
        "Circle": (losses.Circle(), both(pml.CircleLoss(m=0.4, gamma=80))),
        "Multi-Similarity": (losses.MultiSimilarity(), both(pml.MultiSimilarityLoss(2, 50, 0.5), near)),
    }


def against_peers(size: int, device: str) -> list[Row]:
    """Equal values first, then the race. NT-Xent's peer forms a (B, B·(B - 1)) matrix, 4 GB at B = 1,024: not there."""
    x, y, positives = batch(size, size, device)
    rows = []
    for name, (ours, theirs) in peers(x, y).items():
        if name == "NT-Xent" and size > 256:
            continue
        mine, peer = step(x, y, lambda ours=ours: ours(x @ y.T, positives)), step(x, y, theirs)
        assert abs(mine() - peer()) < 1e-3 * abs(peer()), name
        rows.append(compare(f"{name}, B = {size}", mine, peer, "pytorch-metric-learning", "at least 1"))
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


def against_products(device: str) -> list[Row]:
    """The price of a loss: what it costs beside the three matrix products that any loss on scores needs."""
    rows = []
    goals = ["goal:con x con", "goal:cir x lin", "goal:cir x sig-ms"]
    square = [name for name in losses.LOSSES if name != "smoothap"] + goals
    for images, captions, names in ((1024, 1024, square), (128, 640, ["smoothap"])):
        x, y, positives = batch(images, captions, device)
        incoming = torch.randn(images, captions, device=device)

        def bare(x=x, y=y, incoming=incoming) -> None:
            x.grad = y.grad = None
            (x @ y.T).backward(incoming)

        for name in names:
            loss = losses.by_name(name)
            mine = step(x, y, lambda loss=loss, x=x, y=y, positives=positives: loss(x @ y.T, positives))
            goal = "at most 2" if name == "smoothap" else "at most 1.3"
            rows.append(compare(f"{name}, {images} x {captions}", mine, bare, "the three products", goal, True))
    return rows


def main(device: str) -> None:
    """All tables about losses."""
    for size in (128, 1024):
        title = f"Losses, both directions, forward and backward, d = {DIMENSIONS}, B = {size} [median: at least 2]"
        show(title, against_peers(size, device))
    show("SmoothAP against its textbook form", against_textbook(device))
    show("The price of a loss", against_products(device))

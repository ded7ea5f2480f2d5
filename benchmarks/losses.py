"""Losses: forward and backward in both directions, against pytorch-metric-learning, plain twins, and bare products."""

from __future__ import annotations

import statistics
from collections.abc import Callable

import click
import torch
from pytorch_metric_learning import distances, miners, reducers
from pytorch_metric_learning import losses as pml
from torch import Tensor
from torch.nn.functional import cross_entropy, logsigmoid, normalize

from benchmarks.timing import Row, compare, show
from icrlib import losses

DIMENSIONS = 1024


def batch(images: int, captions: int, device: str) -> tuple[Tensor, Tensor, Tensor]:
    """Unit vectors that need a gradient, and the mask of own pairs, image by image."""
    generator = torch.Generator().manual_seed(0)
    x, y = (normalize(torch.randn(n, DIMENSIONS, generator=generator), dim=1) for n in (images, captions))
    own = torch.eye(images, dtype=torch.bool).repeat_interleave(captions // images, 1)
    # Captions near their images, so that some triplets are satisfied and some are not.
    y = normalize(y + 0.15 * x.repeat_interleave(captions // images, 0), dim=1)
    return x.to(device).requires_grad_(), y.to(device).requires_grad_(), own.to(device)


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
    """Equal values first, then the race. A peer that does not fit in memory is left out, and said so."""
    x, y, own = batch(size, size, device)
    rows = []
    for name, (ours, theirs) in peers(x, y).items():
        if name == "NT-Xent" and size > 256:
            pairs = size * size * (size - 1) * 4 / 2**30
            click.echo(
                f"  NT-Xent of pytorch-metric-learning forms a ({size}, {size}·{size - 1}) matrix, "
                f"{pairs:.0f} GB a copy: not run at B = {size}"
            )
            continue
        mine, peer = step(x, y, lambda ours=ours: ours(x @ y.T, own)), step(x, y, theirs)
        if abs(mine() - peer()) > 1e-3 * abs(peer()):
            raise AssertionError(f"{name}: {mine()} is not {peer()}")
        rows.append(compare(f"{name}, B = {size}", mine, peer, "pytorch-metric-learning", goal="at least 1"))
    return rows


def plain_goal(x: Tensor, y: Tensor, objective: losses.GradientObjective) -> Callable[[], Tensor]:
    """A designed gradient as a plain loop over anchors, without relative terms."""

    def value() -> Tensor:
        scores, total = x @ y.T, 0.0
        for s in (scores, scores.T):
            for q in range(len(s)):
                others = torch.cat([s[q, :q], s[q, q + 1 :]])
                hardest = others[others.argmax()]
                plus, minus = objective.on_plane(s[q, q].detach(), hardest.detach())
                total = total + minus * hardest - plus * s[q, q]
        return total

    return value


def plain_beyond() -> dict[str, tuple[losses.Loss, Callable[[Tensor], Tensor]]]:
    """The later losses as their papers' code writes them: square scores, own pairs on the diagonal, no checks."""

    def entropy(s: Tensor) -> Tensor:
        own = torch.arange(len(s), device=s.device)
        return (cross_entropy(s, own) + cross_entropy(s.T, own)) / 2

    def ifm(s: Tensor, tau: float = 0.07, eps: float = 0.1) -> Tensor:
        shifted = s + eps - 2 * eps * torch.eye(len(s), device=s.device)
        return (entropy(s / tau) + entropy(shifted / tau)) / 2

    def siglip(s: Tensor) -> Tensor:
        signs = 2 * torch.eye(len(s), device=s.device) - 1
        return -logsigmoid(signs * (10 * s - 10)).sum() / len(s)

    def dcl(s: Tensor, tau: float = 0.1) -> Tensor:
        others = (s / tau).masked_fill(torch.eye(len(s), dtype=torch.bool, device=s.device), -torch.inf)
        return (others.logsumexp(1) + others.logsumexp(0)).mean() / 2 - s.diagonal().mean() / tau

    def sparse(s: Tensor, tau: float = 0.2) -> Tensor:
        return sum(sorted_sparsemax_loss(z / tau).mean() for z in (s, s.T)) / 2

    return {
        "ifm": (losses.IFM(), ifm),
        "siglip": (losses.SigLIP(), siglip),
        "dcl": (losses.DCL(), dcl),
        "ntxent_sparse": (losses.SparseNTXent(), sparse),
    }


def sorted_sparsemax_loss(z: Tensor) -> Tensor:
    """Martins and Astudillo's loss with the threshold found by sorting, as they do; the diagonal is right."""
    ordered = z.sort(1, descending=True).values
    excess = (ordered.cumsum(1) - 1) / torch.arange(1, z.shape[1] + 1, device=z.device)
    theta = excess.gather(1, (ordered > excess).sum(1, keepdim=True) - 1)
    p = torch.relu(z - theta)
    return (p * z - p**2 / 2).sum(1) + 0.5 - z.diagonal()


def textbook_smoothap(scores: Tensor, own: Tensor, tau: float = 0.01) -> Tensor:
    """One direction with the whole (Q, M, M) matrix of comparisons, as the definition reads."""
    above = torch.sigmoid(((scores[:, None, :] - scores[:, :, None]) / tau).clamp(-50, 50))
    above = above * (1 - torch.eye(scores.shape[1], device=scores.device))
    precision = (1 + (above * own[:, None, :]).sum(2)) / (1 + above.sum(2))
    return 1 - (precision * own).sum(1) / own.sum(1)


def against_twins(device: str) -> list[Row]:
    """GOAL against a loop, later losses against a few lines, SmoothAP against the textbook (also after the scores)."""
    rows = []
    objective = losses.by_name("goal:cir x sig")
    for size in (128, 1024):
        x, y, own = batch(size, size, device)
        mine = step(x, y, lambda x=x, y=y, own=own: objective(x @ y.T, own))
        twin = step(x, y, plain_goal(x, y, objective))
        assert abs(mine() - twin()) < 1e-3 * abs(twin())
        rows.append(compare(f"goal:cir x sig, B = {size}", mine, twin, "a loop over anchors", goal="at least 1"))
    for size in (128, 1024):
        x, y, own = batch(size, size, device)
        for name, (loss, plain) in plain_beyond().items():
            mine = step(x, y, lambda loss=loss, x=x, y=y, own=own: loss(x @ y.T, own))
            twin = step(x, y, lambda plain=plain, x=x, y=y: plain(x @ y.T))
            assert abs(mine() - twin()) < 1e-3 * abs(twin()), name
            rows.append(compare(f"{name}, B = {size}", mine, twin, "its paper's few lines", goal="about 1"))
    x, y, own = batch(128, 640, device)
    loss = losses.SmoothAP()

    def textbook(s: Tensor) -> Tensor:
        return (textbook_smoothap(s, own).mean() + textbook_smoothap(s.T, own.T).mean()) / 2

    mine, twin = step(x, y, lambda: loss(x @ y.T, own)), step(x, y, lambda: textbook(x @ y.T))
    assert abs(mine() - twin()) < 1e-5
    mine_grad = (mine(), x.grad.clone())[1]
    twin()
    assert (x.grad - mine_grad).abs().max() < 1e-6
    rows.append(compare("SmoothAP, 128 x 5, end to end", mine, twin, "the (Q, M, M) textbook", goal="at least 200"))
    return rows


def against_products(device: str) -> list[Row]:
    """The price of a loss: what it costs beside the three matrix products that any loss on scores needs."""
    rows = []
    others = [name for name in losses.LOSSES if name != "smoothap"]
    for images, captions, names in ((1024, 1024, others), (128, 640, ["smoothap"])):
        x, y, own = batch(images, captions, device)
        incoming = torch.randn(images, captions, device=device)

        def bare(x=x, y=y, incoming=incoming) -> None:
            x.grad = y.grad = None
            (x @ y.T).backward(incoming)

        made = {name: losses.by_name(name) for name in names}
        if images == captions:
            made |= {name: losses.by_name(name) for name in ("goal:con x con", "goal:cir x lin", "goal:cir x sig-ms")}
        for name, loss in made.items():
            mine = step(x, y, lambda loss=loss, x=x, y=y, own=own: loss(x @ y.T, own))
            goal = "at most 2" if name == "smoothap" else "at most 1.3"
            rows.append(
                compare(
                    f"{name}, {images} x {captions}",
                    mine,
                    bare,
                    "the three products",
                    goal=goal,
                    higher_is_better=False,
                )
            )
    return rows


def main(device: str) -> None:
    """All tables about losses."""
    compared = []
    for size in (128, 1024):
        rows = against_peers(size, device)
        show(f"Losses, both directions, forward and backward, d = {DIMENSIONS}, B = {size}", rows)
        compared += rows
    click.echo(f"  median over all of them: {statistics.median(row.ratio for row in compared):.1f} [at least 2]")
    show("Losses against plain twins of the same definition", against_twins(device))
    show("The price of a loss", against_products(device))

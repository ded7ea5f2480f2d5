"""Training steps against a plain loop with packed sequences; features of photos against the bare network."""

from __future__ import annotations

import random

import click
import torch
from torch import nn
from torch.nn.functional import normalize
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence

from benchmarks.timing import compare, race, show
from icrlib import losses, models

BATCH, FEATURES, WORDS, DIMENSIONS = 128, 1280, 2500, 256


class Plain(nn.Module):
    """VSE++ as it is usually written: every caption through a packed GRU."""

    def __init__(self, twin: nn.Module) -> None:
        super().__init__()
        self.project, self.embed, self.gru = twin.project, twin.embed, twin.gru

    def forward(self, images: torch.Tensor, captions: list[torch.Tensor]) -> torch.Tensor:
        padded = pad_sequence(captions, batch_first=True)
        lengths = torch.tensor([len(c) for c in captions])
        packed = pack_padded_sequence(self.embed(padded), lengths, batch_first=True, enforce_sorted=False)
        _, last = self.gru(packed)
        images = normalize(self.project(normalize(images, dim=1)), dim=1)
        return images @ normalize(last[0], dim=1).T


def steps(device: str) -> tuple:
    """A training step of ours and of the plain loop, on captions with the lengths of Flickr8k's (about 12 words)."""
    random.seed(0)
    torch.manual_seed(0)
    model = models.build("vse++", FEATURES, WORDS, embed_dim=DIMENSIONS, word_dim=300).to(device)
    plain = Plain(model)
    # Words as often as Zipf's law has them: a few are in most captions, most are in few.
    often = 1 / torch.arange(1, WORDS - 3, dtype=torch.float64)
    texts = [
        4 + often.multinomial(max(4, min(38, round(random.gauss(13.8, 3.9)))), replacement=True) for _ in range(BATCH)
    ]
    numbers = pad_sequence(texts, batch_first=True).to(device)
    lengths = torch.tensor([len(t) for t in texts]).to(device)
    images = torch.rand(BATCH, FEATURES).to(device)
    own, loss = torch.eye(BATCH, dtype=torch.bool, device=device), losses.NTXent()
    optimisers = [torch.optim.Adam(model.parameters(), lr=0.0) for _ in range(2)]

    def ours() -> float:
        optimisers[0].zero_grad()
        value = loss(model(images, numbers, lengths), own)
        value.backward()
        optimisers[0].step()
        return value.item()

    def usual() -> float:
        optimisers[1].zero_grad()
        scores = plain(images, [t.to(device) for t in texts])
        labels = torch.arange(BATCH, device=device)
        value = sum(nn.functional.cross_entropy(s / 0.1, labels) for s in (scores, scores.T)) / 2
        value.backward()
        optimisers[1].step()
        return value.item()

    assert abs(ours() - usual()) < 1e-4
    return ours, usual


def epoch(device: str, precision: str) -> tuple:
    """A step at Flickr30k's size (d = 1024, 128 pairs), and the matrix products in it, without padding, alone."""
    torch.manual_seed(0)
    kind = getattr(torch, precision)
    model = models.build("vse++", 2048, 8500, embed_dim=1024, word_dim=300).to(device)
    lengths = (torch.randn(BATCH) * 4.2 + 14.3).round().clamp(4, 60).long()  # Flickr30k's captions with both marks
    numbers = torch.randint(4, 8500, (BATCH, int(lengths.max())))
    numbers, lengths, images = numbers.to(device), lengths.to(device), torch.rand(BATCH, 2048, device=device)
    own, loss = torch.eye(BATCH, dtype=torch.bool, device=device), losses.NTXent()
    optimiser = torch.optim.Adam(model.parameters(), lr=0.0)

    def step() -> None:
        optimiser.zero_grad()
        with torch.autocast(device.partition(":")[0], kind, precision != "float32"):
            scores = model(images, numbers, lengths)
        loss(scores, own).backward()
        optimiser.step()

    words = int(lengths.sum())
    shapes = [(words, 300, 3072), (words, 1024, 3072), (BATCH, 2048, 1024), (BATCH, 1024, BATCH)]
    pairs = [(torch.rand(m, k, device=device).to(kind), torch.rand(k, n, device=device).to(kind)) for m, k, n in shapes]

    def products() -> None:
        for _ in range(3):  # forward, and one backward for each factor
            for a, b in pairs:
                a @ b

    return step, products


def epochs(device: str) -> None:
    """Seconds an epoch of Flickr30k (145,000 captions), and the share that its matrix products would take."""
    on_gpu, times = device.startswith("cuda"), {}
    batches = 145_000 / BATCH
    for precision in ("float32", "bfloat16") if on_gpu else ("float32",):  # few CPUs multiply bfloat16 fast
        step, products = epoch(device, precision)
        times[precision], bound = race([step, products], repeats=20 if on_gpu else 3)
        click.echo(
            f"  VSE++ at Flickr30k's size, {precision}: {batches * times[precision]:.1f} s an epoch "
            f"({1e3 * times[precision]:.1f} ms a step); its matrix products alone are "
            f"{bound / times[precision]:.0%} of it"
        )
    if on_gpu:
        click.echo(f"  bfloat16 takes {times['bfloat16'] / times['float32']:.2f} of the time of float32")


def main(device: str) -> None:
    """The table of training, and an epoch at Flickr30k's size."""
    ours, usual = steps(device)
    show(
        "Training",
        [
            compare(
                f"VSE++ step, batch {BATCH}, d = {DIMENSIONS}",
                ours,
                usual,
                "a plain loop with pack_padded_sequence",
                goal="at least 1.5",
            )
        ],
    )
    epochs(device)

"""What latent and input target decoding add to a training step (goal of the project: latent at most 15 %)."""

from __future__ import annotations

import copy
from types import SimpleNamespace

import click
import torch
from torch import nn
from torch.nn.functional import normalize

from benchmarks.timing import race
from icrlib import losses, models
from icrlib.auxiliary import Criterion, LagrangeMultiplier, Step
from icrlib.auxiliary.latent import LatentTarget
from icrlib.auxiliary.tokens import TokenDecoder

# batch, numbers of an image, dimensions, words, word_dim, numbers of a target. A CPU gets a part of the paper's batch.
SIZES = {
    "scenes": (128, 256, 128, 80, 64, 384),
    "Flickr8k's": (128, 1280, 256, 2500, 300, 384),
    "the paper's": (32, 2048, 1024, 8589, 300, 384),
}


class Given(LatentTarget):
    """Latent target decoding whose targets are random: what a step costs does not depend on them."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def wanted(self, data: SimpleNamespace) -> torch.Tensor:
        return normalize(torch.randn(data.captions, self.size), dim=1)


def steps(device: str, batch: int, size: int, dims: int, words: int, word_dim: int, target: int) -> list:
    """Training steps of the same encoders: the loss alone, with latent targets, with the words."""
    torch.manual_seed(0)
    encoders = models.build("ltd", size, words, embed_dim=dims, word_dim=word_dim)
    lengths = (torch.randn(batch) * 4.2 + 14.3).round().clamp(4, 60).long()
    longest = int(lengths.max())
    numbers = torch.randint(4, words, (batch, longest)) * (torch.arange(longest) < lengths[:, None])
    given = [part.to(device) for part in (torch.rand(batch, size), numbers, lengths)]
    own, rows = torch.eye(batch, dtype=torch.bool, device=device), torch.arange(batch)
    data = SimpleNamespace(captions=batch, vocabulary=range(words))

    def step(auxiliary: nn.Module | None):
        model = copy.deepcopy(encoders)
        weighing = None
        if auxiliary is not None:
            auxiliary.prepare(data, model)
            weighing = LagrangeMultiplier(0.2)
        criterion = Criterion(losses.NTXent(tau=0.05), auxiliary=auxiliary, weighing=weighing).to(device)
        model.to(device)
        optimiser = torch.optim.Adam([*model.parameters(), *criterion.parameters()], lr=0.0)

        def once() -> None:
            optimiser.zero_grad()
            images, captions = model.encode_images(given[0]), model.encode_captions(*given[1:])
            scores = model.similarity(images, captions)
            batch_of = SimpleNamespace(captions=rows)
            criterion(Step(0, batch_of, *given[1:], images, captions, scores, own)).backward()
            optimiser.step()
            criterion.stepped()

        return once

    return [step(None), step(Given(target)), step(TokenDecoder(decoder_words=word_dim))]


def main(device: str) -> None:
    """One line a size."""
    click.echo("\nLTD, a training step with a decoder against the same without")
    for name, (batch, *rest) in SIZES.items():
        batch = 128 if device.startswith("cuda") else batch
        alone, latent, tokens = race(steps(device, batch, *rest), repeats=7)
        click.echo(
            f"  {name} sizes (batch {batch}, d = {rest[1]}): {alone * 1e3:.1f} ms; with latent targets "
            f"{latent / alone:.2f} times that, with the caption's words {tokens / alone:.2f}"
        )

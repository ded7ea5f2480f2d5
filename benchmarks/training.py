"""A training step against a plain loop with packed sequences."""

from __future__ import annotations

import random

import torch
from torch import nn
from torch.nn.functional import cross_entropy, normalize
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence

from benchmarks.timing import compare, show
from icrlib import losses, models

BATCH, FEATURES, WORDS, DIMENSIONS = 128, 1280, 2500, 256


def packed_scores(model: nn.Module, images: torch.Tensor, texts: list[torch.Tensor]) -> torch.Tensor:
    """VSE++ as it is usually written: every caption through a packed GRU."""
    padded, lengths = pad_sequence(texts, batch_first=True), torch.tensor([len(text) for text in texts])
    packed = pack_padded_sequence(model.embed(padded), lengths, batch_first=True, enforce_sorted=False)
    _, last = model.gru(packed)
    return normalize(model.project(normalize(images, dim=1)), dim=1) @ normalize(last[0], dim=1).T


def captions() -> list[torch.Tensor]:
    """Word numbers of captions with the lengths of Flickr8k's, and words as often as Zipf's law has them."""
    often = 1 / torch.arange(1, WORDS - 3, dtype=torch.float64)
    lengths = [max(4, min(38, round(random.gauss(13.8, 3.9)))) for _ in range(BATCH)]
    return [4 + often.multinomial(length, replacement=True) for length in lengths]


def main(device: str) -> None:
    """The table of training; equal values first. The rate is 0, so that both steps see the same weights."""
    random.seed(0)
    torch.manual_seed(0)
    model = models.build("vse++", FEATURES, WORDS, embed_dim=DIMENSIONS, word_dim=300).to(device)
    texts = [text.to(device) for text in captions()]
    numbers, lengths = pad_sequence(texts, batch_first=True), torch.tensor([len(text) for text in texts]).to(device)
    images, labels = torch.rand(BATCH, FEATURES).to(device), torch.arange(BATCH, device=device)
    positives, loss = torch.eye(BATCH, dtype=torch.bool, device=device), losses.NTXent()
    optimiser = torch.optim.Adam(model.parameters(), lr=0.0)

    def step(value) -> float:
        optimiser.zero_grad()
        result = value()
        result.backward()
        optimiser.step()
        return result.item()

    def usual() -> torch.Tensor:
        scores = packed_scores(model, images, texts)
        return sum(cross_entropy(s / 0.1, labels) for s in (scores, scores.T)) / 2

    def ours() -> torch.Tensor:
        return loss(model(images, numbers, lengths), positives)

    assert abs(step(ours) - step(usual)) < 1e-4
    what, against = f"VSE++ step, batch {BATCH}, d = {DIMENSIONS}", "a plain loop with pack_padded_sequence"
    show("Training", [compare(what, lambda: step(ours), lambda: step(usual), against, "at least 1.5")])

"""Training steps against a plain loop with packed sequences; features of photos against the bare network."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import torch
from PIL import Image
from torch import nn
from torch.nn.functional import normalize
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence

from benchmarks.timing import compare, show
from icrlib import losses, models
from icrlib.data import backbones, features

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
    texts = [4 + often.multinomial(max(4, min(38, round(random.gauss(13.8, 3.9)))), replacement=True)
             for _ in range(BATCH)]  # fmt: skip
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


def extraction(device: str, folder: Path) -> tuple:
    """Features of 96 photo-sized pictures, decoding included, and the same batches through the network alone."""
    files = []
    for number in range(96):
        path = folder / f"{number}.jpg"
        Image.effect_noise((320, 240), 60).convert("RGB").save(path, quality=85)
        files.append(path)
    network = backbones._torchvision("resnet50", weights=None)
    network.network.eval().requires_grad_(False).to(device)
    batches = torch.rand(features.BATCH, 3, 224, 224, device=device)
    with features.ThreadPoolExecutor(2) as pool:
        features._compute(0, files[:4], network, 0, device, pool)

    def ours() -> None:
        with features.ThreadPoolExecutor(2) as pool:
            features._compute(0, files, network, 0, device, pool)

    def bare() -> None:
        for _ in range(len(files) // features.BATCH):
            network(batches)

    return ours, bare


def main(device: str) -> None:
    """Both tables."""
    ours, usual = steps(device)
    show("Training", [compare(f"VSE++ step, batch {BATCH}, d = {DIMENSIONS}", ours, usual,
                              "a plain loop with pack_padded_sequence", goal="at least 1.5")])  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        ours, bare = extraction(device, Path(folder))
        show("Features", [compare("ResNet-50 on 96 photos, decoding included", ours, bare, "the bare network",
                                  goal="at most 1.11", higher_is_better=False)])  # fmt: skip

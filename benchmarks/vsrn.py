"""A training step of VSRN against the released form of it: convolutions of kernel 1, turned axes, packed sequences."""

from __future__ import annotations

import copy

import click
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from benchmarks.timing import race
from icrlib import losses, models

# batch, regions, numbers of a region, dimensions, words, word_dim. The last is the paper's, with a batch that a CPU
# can wait for; a GPU gets the paper's own.
SIZES = {
    "scenes": (128, 8, 261, 128, 80, 64),
    "Flickr8k's grid": (128, 16, 128, 256, 2500, 300),
    "the paper's": (16, 36, 2048, 2048, 8481, 300),
}


def length_one(x: Tensor) -> Tensor:
    return x / x.pow(2).sum(dim=1, keepdim=True).sqrt()


class ReleasedBlock(nn.Module):
    """Regions along the last axis; four convolutions of kernel 1."""

    def __init__(self, twin: nn.Module) -> None:
        super().__init__()
        size = twin.mix.in_features
        self.theta, self.phi, self.g, self.out = (nn.Conv1d(size, size, 1) for _ in range(4))
        weights = [*twin.relate.weight.split(size), twin.mix.weight]
        biases = [*twin.relate.bias.split(size), twin.mix.bias]
        with torch.no_grad():
            for layer, weight, bias in zip((self.theta, self.phi, self.g, self.out), weights, biases, strict=True):
                layer.weight.copy_(weight[:, :, None])
                layer.bias.copy_(bias)
        self.norm = copy.deepcopy(twin.norm)

    def forward(self, v: Tensor) -> Tensor:
        affinity = torch.matmul(self.theta(v).permute(0, 2, 1), self.phi(v))
        told = torch.matmul(affinity / affinity.size(-1), self.g(v).permute(0, 2, 1))
        return self.norm(self.out(told.permute(0, 2, 1).contiguous())) + v


class Released(nn.Module):
    """The release's steps, in the form of Flickr30k, with the weights of ``twin``."""

    def __init__(self, twin: nn.Module) -> None:
        super().__init__()
        self.blocks = nn.Sequential(*map(ReleasedBlock, twin.graph))
        for name in ("project", "reader", "final", "embed", "gru"):
            setattr(self, name, copy.deepcopy(getattr(twin, name)))

    def forward(self, regions: Tensor, words: Tensor, lengths: Tensor) -> Tensor:
        regions = self.blocks(self.project(regions).permute(0, 2, 1)).permute(0, 2, 1)
        _, last = self.reader(length_one(regions))
        images = length_one(self.final(last[0]))
        packed = pack_padded_sequence(self.embed(words), lengths.cpu(), batch_first=True)
        states, ends = pad_packed_sequence(self.gru(packed)[0], batch_first=True)
        place = (ends.to(states.device) - 1)[:, None, None].expand(-1, 1, states.shape[2])
        return images @ length_one(states.gather(1, place)[:, 0]).T


def steps(device: str, batch: int, regions: int, size: int, dims: int, words: int, word_dim: int) -> tuple:
    """A training step of ours, the released one, and the matrix products in it, without padding, alone."""
    torch.manual_seed(0)
    model = models.build("vsrn", size, words, embed_dim=dims, word_dim=word_dim).to(device)
    for block in model.graph:
        nn.init.normal_(block.norm.weight, 0, 0.3)  # so that the blocks take part
    lengths = (torch.randn(batch) * 4.2 + 14.3).round().clamp(4, 60).long().sort(descending=True).values
    numbers = torch.randint(4, words, (batch, int(lengths[0]))) * (torch.arange(int(lengths[0])) < lengths[:, None])
    given = torch.rand(batch, regions, size, device=device), numbers.to(device), lengths.to(device)
    own, loss = torch.eye(batch, dtype=torch.bool, device=device), losses.NTXent()

    def step(kind: nn.Module):
        optimiser = torch.optim.Adam(kind.parameters(), lr=0.0)

        def once() -> float:
            optimiser.zero_grad()
            value = loss(kind(*given), own)
            value.backward()
            optimiser.step()
            return value.item()

        return once

    rows, told = batch * regions, int(lengths.sum())
    shapes = [
        (rows, size, dims),
        *[(rows, dims, 4 * dims)] * len(model.graph),
        *[(rows, dims, 3 * dims)] * 2,
        (told, word_dim, 3 * dims),
        (told, dims, 3 * dims),
        (batch, dims, batch),
    ]
    pairs = [(torch.rand(m, k, device=device), torch.rand(k, n, device=device)) for m, k, n in shapes]

    def products() -> None:
        for _ in range(3):  # forward, and one backward for each factor
            for a, b in pairs:
                a @ b

    ours, theirs = step(model), step(Released(model))
    assert abs(ours() - theirs()) < 1e-4
    return ours, theirs, products


def main(device: str) -> None:
    """One line a size: both steps, and the share that the matrix products alone would take."""
    on_gpu = device.startswith("cuda")
    click.echo("\nVSRN, a training step against the released form")
    for name, (batch, *rest) in SIZES.items():
        batch = 128 if on_gpu else batch
        ours, theirs, bound = race(list(steps(device, batch, *rest)), repeats=7)
        click.echo(
            f"  {name} sizes (batch {batch}, {rest[0]} regions, d = {rest[2]}): {ours * 1e3:.1f} ms, "
            f"{theirs / ours:.2f} times faster than the released form ({theirs * 1e3:.1f} ms); its matrix "
            f"products alone are {bound / ours:.0%} of it"
        )

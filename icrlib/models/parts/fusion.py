r"""A matching head: words look at each other and at regions, and what the first of them has seen by then decides."""

from __future__ import annotations

import torch
from torch import Tensor, nn

WIDER = 2  # times: the layers of a block between its attention and its result


class Attention(nn.Module):
    """Several heads: each of ``asking`` (P, Q, d) takes a mixture of ``seen`` (P, S, d), of which ``gone`` (P, 1, S)
    is padding."""

    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key_value, self.out = nn.Linear(size, size), nn.Linear(size, 2 * size), nn.Linear(size, size)

    def forward(self, asking: Tensor, seen: Tensor, gone: Tensor) -> Tensor:
        shares, values = self.shares(asking, seen, gone)
        mixed = (shares @ values).transpose(1, 2).flatten(2)
        return self.out(mixed)

    def shares(self, asking: Tensor, seen: Tensor, gone: Tensor) -> tuple[Tensor, Tensor]:
        """How much of each is taken (P, heads, Q, S), and of what (P, heads, S, d/heads)."""
        key, value = (self._apart(part) for part in self.key_value(seen).chunk(2, 2))
        wanted = self._apart(self.query(asking)) @ key.mT / key.shape[3] ** 0.5
        return wanted.masked_fill(gone[:, None], -torch.inf).softmax(3), value

    def _apart(self, rows: Tensor) -> Tensor:
        """(P, S, d) to (P, heads, S, d/heads)."""
        return rows.unflatten(2, (self.heads, -1)).transpose(1, 2)


class FusionBlock(nn.Module):
    """Attention to words, attention to regions, two layers; each is added to what went in, and then normalised."""

    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.words, self.regions = Attention(size, heads), Attention(size, heads)
        self.layers = nn.Sequential(nn.Linear(size, WIDER * size), nn.GELU(), nn.Linear(WIDER * size, size))
        self.norms = nn.ModuleList(nn.LayerNorm(size) for _ in range(3))

    def forward(self, asking: Tensor, words: Tensor, gone: Tensor, regions: Tensor, no_region: Tensor) -> Tensor:
        """``asking``: the words (P, L, d) themselves, or some of them; what becomes of these."""
        first, second, third = self.norms
        asking = first(asking + self.words(asking, words, gone))
        asking = second(asking + self.regions(asking, regions, no_region))
        return third(asking + self.layers(asking))


class MatchingHead(nn.Module):
    """Do an image and a caption belong together? Logits of no and yes, from all that both towers keep of them.

    ``blocks`` of fusion, then linear → layer norm → GELU → linear on what became of the caption's first row. The last
    block computes that row alone.
    """

    def __init__(self, size: int, blocks: int, heads: int) -> None:
        super().__init__()
        self.of_words, self.of_regions = nn.LayerNorm(size), nn.LayerNorm(size)
        self.blocks = nn.ModuleList(FusionBlock(size, heads) for _ in range(blocks))
        self.decide = nn.Sequential(
            nn.Linear(size, 2 * size), nn.LayerNorm(2 * size), nn.GELU(), nn.Linear(2 * size, 2)
        )

    def forward(self, words: Tensor, gone: Tensor, regions: Tensor, no_region: Tensor) -> Tensor:
        """(P, 2) of P pairs: ``words`` (P, L, d), ``regions`` (P, N, d); ``gone`` (P, L), ``no_region`` (P, N) bool."""
        words, regions = self.of_words(words), self.of_regions(regions)
        gone, no_region = gone[:, None], no_region[:, None]
        for block in self.blocks[:-1]:
            words = block(words, words, gone, regions, no_region)
        return self.decide(self.blocks[-1](words[:, :1], words, gone, regions, no_region)[:, 0])

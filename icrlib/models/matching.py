"""X-VLM in small: two towers propose by one vector each, and a matching head decides by all words and regions."""

from __future__ import annotations

from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from icrlib.errors import at_least
from icrlib.models.base import Sequences, arguments
from icrlib.models.parts.gru import word_states
from icrlib.models.parts.pool import beyond
from icrlib.models.parts.regions import counts_of, regions_of
from icrlib.models.vse_infty import VSEInfty


class TwoStage(VSEInfty):
    r"""The two stages of X-VLM's retrieval (Zeng et al. 2022; FS S4) on regions and a recurrent caption encoder.

    Towers: those of VSE∞ (:class:`icrlib.models.vse_infty.VSEInfty`), which keep their rows: an image's is its regions
    (B, N, d), a caption's the states after its words (M, L, d). In front of them stands the pooled and normalised
    vector, and the similarity is the inner product of these two vectors alone: any loss on scores trains it.

    Head: :meth:`match` (:class:`MatchingHead`) is given all rows of an image and of a caption and says, as two logits,
    whether they belong together. ``auxiliary="matching"`` trains it on hard pairs, and
    :func:`icrlib.evaluation.rerank` asks it about the candidates that the similarity puts first.

    - ``pool``: of the towers: "max", "mean" or "gpo".
    - ``hidden``: of the layers that read regions; half of ``embed_dim`` if nothing is said.
    - ``blocks``, ``heads``: of the matching head: blocks of fusion, and heads of their attention.

    The release has a Swin and a BERT, both pre-trained, 216 million parameters, six blocks of fusion, a projection of
    the pooled vectors, and lr 3e-5. As released are what is trained on what (a learned temperature from 0.07, shared
    labels for captions of one image, the draws of pairs, weights 1 : 1), AdamW and its decay, and the second stage; the
    sizes and the rate are of our trial.
    """

    label = "matching head"
    published: ClassVar[dict[str, dict]] = {
        "*": {
            "embed_dim": 256,
            "word_dim": 300,
            "auxiliary": "matching",
            "objective": "dual",
            "beta": 1.0,
            "optimiser": "adamw",
            "weight_decay": 1e-2,
            "lr": 1e-3,
            "epochs": 10,
            "batch_size": 128,
        },
        "ntxent": {"tau": 0.07, "learn_tau": True, "denominator": "candidates", "positives": "image"},
    }

    def __init__(
        self,
        feature_dim: int,
        words: int,
        embed_dim: int = 256,
        word_dim: int = 300,
        pool: str = "max",
        hidden: int | None = None,
        blocks: int = 2,
        heads: int = 4,
    ) -> None:
        super().__init__(feature_dim, words, embed_dim, word_dim, pool, hidden)
        self.options = arguments(locals())
        at_least("blocks", blocks, 1)
        if embed_dim % at_least("heads", heads, 1):
            raise ValueError(f"embed_dim must be a multiple of heads, which share it; got {embed_dim} and {heads}")
        self.head = MatchingHead(embed_dim, blocks, heads)

    @classmethod
    def titled(cls, **options: object) -> str:
        return cls.label

    def encode_images(self, features: Tensor) -> Sequences:
        """Regions (B, N, D), with lengths or without, to the image's unit vector and a row of each, (B, 1 + N, d)."""
        regions, lengths = regions_of(features, self.options["feature_dim"])
        lengths = counts_of(regions, lengths)
        rows = self.of_regions(regions, lengths)
        return in_front(self.pool_regions(rows, lengths), rows, lengths)

    def encode_captions(self, words: Tensor, lengths: Tensor) -> Sequences:
        """The caption's unit vector and a row of each word, (M, 1 + L, d)."""
        rows = word_states(self.gru, self.embed, words, lengths)
        return in_front(self.pool_words(rows, lengths), rows, lengths)

    def similarity(self, images: Sequences, captions: Sequences) -> Tensor:
        return images.values[:, 0] @ captions.values[:, 0].T

    def similarity_of_pairs(self, images: Sequences, captions: Sequences) -> Tensor:
        return (images.values[:, 0] * captions.values[:, 0]).sum(1)

    def match(self, images: Sequences, captions: Sequences) -> Tensor:
        """Logits (P, 2) of image p and caption p: that they do not belong together, and that they do."""
        kind = self.head.of_words.weight.dtype
        some = (captions, int(captions.lengths.max())), (images, int(images.lengths.max()))
        parts = []
        for rows, longest in some:
            values = rows.values[:, :longest].to(kind)
            parts += [values, beyond(values, rows.lengths)[..., 0]]
        return self.head(*parts)


def in_front(pooled: Tensor, rows: Tensor, lengths: Tensor) -> Sequences:
    """The unit vector of ``pooled`` (B, d) as the first of ``rows`` (B, L, d)."""
    first = F.normalize(pooled, dim=1)[:, None].to(rows.dtype)
    return Sequences(torch.cat([first, rows], 1), lengths + 1)


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
        self.layers = nn.Sequential(nn.Linear(size, 2 * size), nn.GELU(), nn.Linear(2 * size, size))
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

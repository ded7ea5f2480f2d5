"""VSE∞: regions and words, each pooled by learned weights of ranks, by the maximum or by the mean."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from icrlib.errors import choose
from icrlib.models.base import RetrievalModel, arguments, xavier_linear
from icrlib.models.parts.gru import word_states
from icrlib.models.parts.pool import beyond, pool_of
from icrlib.models.parts.regions import counts_of, of_rows, regions_of

PADDING = ("masked", "released")


class VSEInfty(RetrievalModel):
    r"""VSE∞ (Chen et al. 2021) on regions (B, N, D), with the recurrent caption encoder (its branch ``bigru``).

    Image: of each region, which is not normalised, linear + MLP (linear, batch norm, ReLU, linear) → pool → L2 norm.
    Caption: embedding, U(-0.1, 0.1) → bidirectional GRU, the mean of both directions after each word → pool → L2 norm.
    ``<start>`` and ``<end>`` are words. Published sizes: D 2048, ``word_dim`` 300, ``embed_dim`` 1024.

    - ``pool``: "gpo", as published (:class:`icrlib.models.parts.pool.GPO`, one for images and one for captions), "max"
      or "mean", for both.
    - ``hidden``: of the MLP; half of ``embed_dim`` if nothing is said, as published.
    - ``drop_regions``: in training each region of an image is left out with this probability (its size augmentation).
      The dice follow from the model's own start and the number of batches, so a resumed run throws the same.
    - ``padding``: what a batch of images with unequally many regions is to the MLP's batch norm, be it by
      ``drop_regions`` or from the start. "released": rows of zeros up to the longest image count, too, about a sixth of
      all with the published share; "masked": they do not.

    What differs from the release: of its changes of words (10 % ``<mask>``, 2 % another word, 8 % left out) the setting
    ``drop_words`` does the first, with ``<unk>``, ``delete_words`` the last, but of a caption's share, rounded down,
    where the release throws dice for each word, and none the second; both spare the marks.
    A second batch norm that the release builds and never uses is not here.
    """

    label = "VSE∞"
    takes = "regions"
    # FS S1.4, BiGRU and regions: AdamW without an argument for its decay, so torch's 1e-2 (the paper says 10e-4);
    # all negatives in the first epoch, of 1,132 and 4,425 updates; a tenth of the rate after 15 of 25 epochs.
    published: ClassVar[dict[str, dict]] = {
        "*": {
            "embed_dim": 1024,
            "word_dim": 300,
            "pool": "gpo",
            "drop_regions": 0.2,
            "padding": "released",
            "drop_words": 0.1,
            "delete_words": 0.08,
            "optimiser": "adamw",
            "weight_decay": 1e-2,
            "lr": 5e-4,
            "epochs": 25,
            "lr_update": 15,
            "batch_size": 128,
        },
        "flickr30k triplet_sh": {"warmup": 1132},
        "coco triplet_sh": {"warmup": 4425},
    }

    def __init__(
        self,
        feature_dim: int,
        words: int,
        embed_dim: int = 1024,
        word_dim: int = 300,
        pool: str = "gpo",
        hidden: int | None = None,
        drop_regions: float = 0.0,
        padding: str = "masked",
    ) -> None:
        super().__init__()
        self.options = arguments(locals())
        if isinstance(drop_regions, bool) or not isinstance(drop_regions, (int, float)) or not 0 <= drop_regions < 1:
            raise ValueError(f"drop_regions= is a share from 0 to below 1; got {drop_regions!r}")
        self.padding, self.drop_regions = choose(padding, PADDING, "padding"), float(drop_regions)
        hidden = hidden or max(1, embed_dim // 2)
        self.project = xavier_linear(feature_dim, embed_dim)
        self.mlp = nn.Sequential(
            nn.Linear(feature_dim, hidden), nn.BatchNorm1d(hidden), nn.ReLU(), nn.Linear(hidden, embed_dim)
        )
        self.pool_regions = pool_of(pool)
        self.embed = nn.Embedding(words, word_dim)
        nn.init.uniform_(self.embed.weight, -0.1, 0.1)
        self.gru = nn.GRU(word_dim, embed_dim, batch_first=True, bidirectional=True)
        self.pool_words = pool_of(pool)
        if drop_regions:  # a seed, and how many batches have been thrown for
            self.register_buffer("dice", torch.tensor([int(torch.randint(1 << 31, ())), 0]))

    @classmethod
    def titled(cls, pool: str = "gpo", **options: object) -> str:
        """With another pooling it is no VSE∞ any more."""
        return cls.label if pool == "gpo" else {"max": "maxima of states", "mean": "means of states"}[pool]

    def encode_images(self, features: Tensor) -> Tensor:
        """Regions (B, N, D), with lengths or without, to unit vectors (B, d)."""
        regions, lengths = self.some(*regions_of(features, self.options["feature_dim"]))
        return F.normalize(self.pool_regions(self.of_regions(regions, lengths), lengths), dim=1)

    def encode_captions(self, words: Tensor, lengths: Tensor) -> Tensor:
        return F.normalize(self.pool_words(word_states(self.gru, self.embed, words, lengths), lengths), dim=1)

    def of_regions(self, regions: Tensor, lengths: Tensor) -> Tensor:
        """A vector of each region, (B, N, d)."""
        counted = None if self.padding == "released" else lengths
        return of_rows(lambda rows: self.project(rows) + self.mlp(rows), regions, counted)

    def some(self, features: Tensor, lengths: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Regions (B, N, D) and how many there are of each image (B,): in training those of its ``lengths`` (all of
        them where these are None) that are not left out, in their order, padded with 0; at least one."""
        if not (self.training and self.drop_regions):
            return features, counts_of(features, lengths)
        chances = np.random.default_rng(self.dice.tolist()).random(features.shape[:2])
        self.dice[1] += 1
        if lengths is not None:
            chances[beyond(features, lengths)[..., 0].cpu().numpy()] = -1
        stays = chances >= np.minimum(self.drop_regions, chances.max(1, keepdims=True))
        order = torch.from_numpy((~stays).argsort(1, kind="stable")[:, : stays.sum(1).max()]).to(features.device)
        lengths = torch.from_numpy(stays.sum(1)).to(features.device)
        kept = features.gather(1, order[..., None].expand(-1, -1, features.shape[2]))
        return kept.masked_fill(beyond(kept, lengths), 0), lengths

"""A modular scorer: mentions find regions, and relations judge the offsets of the places that they found."""

from __future__ import annotations

from itertools import combinations
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from icrlib.errors import choose
from icrlib.models.base import RetrievalModel, Sequences, arguments
from icrlib.models.parts.gru import word_states
from icrlib.models.parts.pool import beyond
from icrlib.models.parts.regions import counts_of, of_rows, regions_of

PLACES = ("boxes", "cells")
RELATION = ("offsets", "places", "none")
FIND = ("attention", "mean")
MOST = 4  # mentions
BOX = 5  # numbers behind a region's features: x0, y0, x1, y1 and area, as shares of the picture
BOXES = "x0, y0, x1, y1 and area, as shares of the picture"
SLACK = 0.01  # of a box: half precision, and boxes that end a pixel outside
HIDDEN = 32  # of the layers that look at an offset


class CMN(RetrievalModel):
    r"""Compositional modules (Hu et al. 2017) for retrieval: a similarity that is built like the sentence (FS S12).

    Image: of each region batch norm → linear → ReLU → linear → L2 norm, and the centre of its place. Caption: a
    bidirectional GRU, the mean of both directions after each word. A learned query for each of K ``mentions``, and for
    each pair of them, gathers the states of some words by a softmax, and the sum is normalised: mentions
    :math:`m_k` and relations :math:`q_{kl}`. Of an image with regions r at c,

    .. math:: w = \mathrm{softmax}_r(e^{\kappa}\, r \cdot m_k), \quad s_k = \sum_r w_r\, r \cdot m_k, \quad
              p_k = \sum_r w_r c_r, \quad z_{kl} = f(p_k - p_l, \tanh 8 (p_k - p_l)),

    .. math:: \text{score} = \tfrac12 \bigl(a \sum_k u_k s_k + b\, \tfrac1P \sum_{k<l} g_{kl}\, \hat z_{kl} \cdot
              q_{kl}\bigr).

    :math:`u` (a softmax over the mentions) and the gates :math:`0 < g < 2` are the caption's own: one that speaks of a
    single thing, or says nothing of places, can leave the rest out. Both begin as if they were not there. Nobody tells
    the modules what a subject or a relation is: they learn from pairs of images and captions alone.

    - ``places``: where a region's centre comes from. "boxes": five numbers behind its features, as ``scenes`` has
      them; the features are what stands before. "cells": the cells of a square grid, row by row, as ``icr features
      --regions`` makes them. Of other features nobody can tell, so it has to be said.
    - ``relation``: "offsets"; "places", f of both places (p_k, p_l) themselves; "none": mentions alone.
    - ``find``: "attention"; "mean": every region counts alike, so that nothing is found.

    The paper's modules point at boxes that people marked; here nothing is marked, and the sizes are of our trial.
    """

    label = "modular scorer"
    takes = "regions"
    scores_at_once = 1 << 18
    pairs_at_once = 64
    published: ClassVar[dict[str, dict]] = {
        "*": {
            "embed_dim": 128,
            "word_dim": 300,
            "mentions": 2,
            "relation": "offsets",
            "find": "attention",
            "lr": 1e-3,
            "epochs": 10,
            "batch_size": 128,
        },
        "scenes": {"places": "boxes"},
    }

    def __init__(
        self,
        feature_dim: int,
        words: int,
        embed_dim: int = 128,
        word_dim: int = 300,
        mentions: int = 2,
        places: str | None = None,
        relation: str = "offsets",
        find: str = "attention",
    ) -> None:
        super().__init__()
        self.options = arguments(locals())
        if mentions not in range(1, MOST + 1):
            raise ValueError(f"mentions= is a whole number from 1 to {MOST}; got {mentions!r}")
        if places is None:
            raise ValueError(
                f"places= says where regions are: 'boxes' if they end in {BOXES}; 'cells' of a square grid"
            )
        choose(places, PLACES, "places")
        choose(relation, RELATION, "relation")
        choose(find, FIND, "find")
        self.mentions = mentions
        self.pairs = list(combinations(range(mentions), 2)) if relation != "none" else []
        looks, d = feature_dim - BOX * (places == "boxes"), embed_dim
        self.norm = nn.BatchNorm1d(looks)
        self.region = nn.Sequential(nn.Linear(looks, 2 * d), nn.ReLU(), nn.Linear(2 * d, d))
        self.embed = nn.Embedding(words, word_dim)
        nn.init.uniform_(self.embed.weight, -0.1, 0.1)
        self.gru = nn.GRU(word_dim, d, batch_first=True, bidirectional=True)
        self.queries = nn.Parameter(0.3 * torch.randn(mentions + len(self.pairs), d))
        self.offset = nn.Sequential(nn.Linear(4, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, d))
        self.counts, self.gate = nn.Linear(d, 1), nn.Linear(d, 1)
        for layer in (self.counts, self.gate):
            nn.init.zeros_(layer.weight)
            nn.init.zeros_(layer.bias)
        self.sharp, self.of_things, self.of_offsets = (nn.Parameter(torch.tensor(x)) for x in (2.0, 1.0, 1.0))

    def encode_images(self, features: Tensor) -> Sequences:
        """Regions (B, N, D), with lengths or without, to a unit vector and a centre (x, y) of each, (B, N, d + 2)."""
        regions, lengths = regions_of(features, self.options["feature_dim"])
        if lengths is not None and self.options["places"] == "cells":
            raise ValueError("images with unequally many regions (…_lens.npy) are no grids; places='boxes' takes them")
        looks, centres = self.placed(regions)
        found = of_rows(lambda rows: F.normalize(self.region(self.norm(rows)), dim=1), looks, lengths)
        return Sequences(torch.cat([found, centres], 2), counts_of(regions, lengths))

    def placed(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """What regions look like (B, N, D') and where their centres are (B, N, 2), as shares of the picture."""
        if self.options["places"] == "boxes":
            looks, box = features[..., :-BOX], features[..., -BOX:]
            inside = ((box > -SLACK) & (box < 1 + SLACK)).all(-1) & (box[..., :2] < box[..., 2:4] + SLACK).all(-1)
            if not inside.all():
                row = box[~inside][0].tolist()
                here = ", ".join(f"{x:.3g}" for x in row)
                raise ValueError(f"places='boxes': the last five numbers of a region are {BOXES}; here they are {here}")
            return looks, (box[..., :2] + box[..., 2:4]) / 2
        side = round(features.shape[1] ** 0.5)
        if side * side != features.shape[1]:
            raise ValueError(f"{features.shape[1]} regions are no square grid; places='boxes' takes any number")
        middle = (torch.arange(side, device=features.device) + 0.5) / side
        grid = torch.stack([middle.repeat(side), middle.repeat_interleave(side)], 1)
        return features, grid.expand(len(features), -1, -1)

    def encode_captions(self, words: Tensor, lengths: Tensor) -> Sequences:
        """Mentions, then relations, each a unit vector and how much it counts, (M, K + P, d + 1)."""
        states = word_states(self.gru, self.embed, words, lengths)
        gathered = self.attention(states, lengths) @ states
        mentions, relations = gathered[:, : self.mentions], gathered[:, self.mentions :]
        counts = torch.cat([self.counts(mentions).softmax(1), 2 * torch.sigmoid(self.gate(relations))], 1)
        values = torch.cat([F.normalize(gathered, dim=2), counts], 2)
        return Sequences(values, torch.full((len(values),), values.shape[1], device=values.device))

    def attention(self, states: Tensor, lengths: Tensor) -> Tensor:
        """How much each mention, then each relation, takes of each word, (M, K + P, L)."""
        wanted = states @ self.queries.T
        return wanted.masked_fill(beyond(states, lengths), -torch.inf).softmax(1).transpose(1, 2)

    def words_of(self, words: Tensor, lengths: Tensor) -> Tensor:
        """The same of captions as they come: word numbers (M, L) and lengths (M,), for a picture of it."""
        return self.attention(word_states(self.gru, self.embed, words, lengths), lengths)

    def similarity(self, images: Sequences, captions: Sequences) -> Tensor:
        vectors, counts = captions.values[..., :-1], captions.values[..., -1]
        alike, places = self.find(images, vectors[:, : self.mentions])
        score = self.of_things * (alike * counts[:, : self.mentions]).sum(2)
        if self.pairs:
            one, other = (list(side) for side in zip(*self.pairs, strict=True))
            judged = F.normalize(self.offset(self.seen(places[:, :, one], places[:, :, other])), dim=3)
            fits = torch.einsum("bmpd,mpd->bmp", judged, vectors[:, self.mentions :])
            score = score + self.of_offsets * (fits * counts[:, self.mentions :]).mean(2)
        return score / 2

    def find(self, images: Sequences, mentions: Tensor) -> tuple[Tensor, Tensor]:
        """Of each image what each mention (M, K, d) finds: how alike (B, M, K), and its place (B, M, K, 2)."""
        alike, where = self.weights(images, mentions)
        return (alike * where).sum(3), torch.einsum("bmkn,bnc->bmkc", where, images.values[..., -2:])

    def weights(self, images: Sequences, mentions: Tensor) -> tuple[Tensor, Tensor]:
        """How alike each region and each mention are, and how much of each region is found, both (B, M, K, N)."""
        alike = torch.einsum("bnd,mkd->bmkn", images.values[..., :-2], mentions)
        sharp = self.sharp.exp() if self.options["find"] == "attention" else 0.0
        gone = beyond(images.values, images.lengths)[:, None, None, :, 0]
        return alike, (sharp * alike).masked_fill(gone, -torch.inf).softmax(3)

    def found(self, images: Sequences, captions: Sequences) -> tuple[Tensor, Tensor]:
        """What each mention of caption b found in image b: shares of regions (B, K, N), and a place (B, K, 2)."""
        result = []
        for b in range(len(captions)):
            image = images[b : b + 1]
            _, where = self.weights(image, captions.values[b : b + 1, : self.mentions, :-1])
            result.append((where[0], where[0] @ image.values[..., -2:]))
        return tuple(torch.cat(parts) for parts in zip(*result, strict=True))

    def seen(self, here: Tensor, there: Tensor) -> Tensor:
        """What a relation looks at: the offset of two places (…, 2), also where it is small; or both places."""
        if self.options["relation"] == "places":
            return torch.cat([here, there], -1)
        away = here - there
        return torch.cat([away, torch.tanh(8 * away)], -1)

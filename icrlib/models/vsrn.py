"""VSRN: regions of an image that reason about each other, read one after the other; and a GRU over the words."""

from __future__ import annotations

from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from icrlib.errors import choose
from icrlib.models.base import RetrievalModel, arguments, xavier_linear
from icrlib.models.parts.gru import Recurrence, last_states, packed
from icrlib.models.parts.pool import beyond
from icrlib.models.parts.regions import counts_of, of_rows, regions_of

AXES = {"none": None, "regions": 1, "features": 2}  # of regions (B, N, d)


class VSRN(RetrievalModel):
    """VSRN (Li et al. 2019) on regions (B, N, D), as the ECIR paper runs it.

    Image: linear → ``blocks`` graph convolutions (:class:`GraphBlock`), each the identity at first → norm → a GRU over
    the regions in their stored order → its last state → batch normalisation → L2 norm. Caption: as in VSE++, with
    ``embed_dim`` 2048. No dropout. Of images with unequally many regions no padding enters a sum, a norm or the
    statistics of a batch normalisation; the GRU stops at an image's last region.

    Quirks of the release, each an option:

    - ``graph_norm``: what the regions are divided by after the graph. "regions", as released: the norm is taken over
      axis 1 of (B, N, d), so each *feature* has length 1 across the image's regions. "features": each region's vector
      has length 1, which is what the release's function says that it does. "none": nothing.
    - ``linear_norm``: the same after the linear layer. The release has it on all data but Flickr30k's.
    - ``final_norm``: the batch normalisation at the end. The code of the paper's results has it on Flickr30k only;
      a later commit of the release, after the results, has it everywhere.

    ``published`` holds what ran on ``coco`` and on ``flickr30k``; all other data get Flickr30k's form. Norms that are 0
    leave 0 (the release divides 0 by 0).

    What differs from Li et al.: the ECIR paper removes the decoder that generates captions, and so do we: the loss is
    the retrieval loss alone, and nothing here decodes. It scores with one model, where Li et al. average two.
    What differs from the ECIR release: it chooses weights by R@1 + R@5 of both directions, every 500 updates; runs here
    choose by rsum, as those of all other methods do, so that methods are compared with one rule.
    """

    label = "VSRN"
    takes = "regions"
    # ECIR's job files (Table 1, rows 1.5 to 1.8 and 2.5 to 2.8): the rate falls to a tenth after 15 epochs of 30; on
    # Flickr30k after 10 and 20, where the paper says 15.
    published: ClassVar[dict[str, dict]] = {
        "*": {
            "embed_dim": 2048,
            "word_dim": 300,
            "blocks": 4,
            "linear_norm": "none",
            "graph_norm": "regions",
            "final_norm": True,
            "lr": 2e-4,
            "epochs": 30,
            "lr_update": 15,
            "batch_size": 128,
        },
        "coco": {"linear_norm": "regions", "final_norm": False},
        "flickr30k": {"lr_update": 10},
    }

    def __init__(
        self,
        feature_dim: int,
        words: int,
        embed_dim: int = 2048,
        word_dim: int = 300,
        blocks: int = 4,
        linear_norm: str = "none",
        graph_norm: str = "regions",
        final_norm: bool = True,
    ) -> None:
        super().__init__()
        self.options = arguments(locals())
        self.linear_axis = AXES[choose(linear_norm, AXES, "linear_norm")]
        self.graph_axis = AXES[choose(graph_norm, AXES, "graph_norm")]
        self.project = xavier_linear(feature_dim, embed_dim)
        self.graph = nn.Sequential(*(GraphBlock(embed_dim) for _ in range(blocks)))
        self.reader = nn.GRU(embed_dim, embed_dim, batch_first=True)
        self.final = nn.BatchNorm1d(embed_dim) if final_norm else nn.Identity()
        self.embed = nn.Embedding(words, word_dim)
        nn.init.uniform_(self.embed.weight, -0.1, 0.1)
        self.gru = nn.GRU(word_dim, embed_dim, batch_first=True)

    def encode_images(self, features: Tensor) -> Tensor:
        """Regions (B, N, D), with lengths or without, to unit vectors (B, d)."""
        regions, lengths = regions_of(features, self.options["feature_dim"])
        regions = self.project(regions)
        if lengths is not None:
            regions = regions.masked_fill(beyond(regions, lengths), 0)
        regions = normed(regions, self.linear_axis)
        for block in self.graph:
            regions = block(regions, lengths)
        return F.normalize(self.final(read(self.reader, normed(regions, self.graph_axis), lengths)), dim=1)

    def encode_captions(self, words: Tensor, lengths: Tensor) -> Tensor:
        return F.normalize(last_states(self.gru, self.embed, words, lengths), dim=1)


class GraphBlock(nn.Module):
    r"""One residual graph convolution of VSRN (Li et al. 2019), as its release and ECIR's compute it.

    For the regions :math:`V` (N, d) of one image, where every region is a node and every pair an edge,

    .. math:: R = \theta(V)\,\varphi(V)^\top, \qquad
              V^* = V + \mathrm{BN}\left(W\,\tfrac{1}{N} R\,g(V)\right).

    :math:`\theta, \varphi, g` and :math:`W` are linear with a bias, d → d. The affinities :math:`R` are divided by the
    number of regions and not put through a softmax, so they can be negative and need not add up to 1. The batch
    normalisation treats all regions of a batch as its rows. It starts with scale and shift 0, so that a new block is
    the identity: in its first update only that scale and shift learn, and they open the way for the rest.

    The three linear maps of the same input are one matrix product here, ``relate``: rows θ, then φ, then g.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.relate = nn.Linear(size, 3 * size)
        self.mix = nn.Linear(size, size)
        self.norm = nn.BatchNorm1d(size)
        nn.init.zeros_(self.norm.weight)  # its bias is 0 by default

    def forward(self, regions: Tensor, lengths: Tensor | None = None) -> Tensor:
        """(B, N, d) to (B, N, d); with ``lengths`` (B,) of images with fewer regions, whose padding stays 0."""
        from_each, to_each, told = self.relate(regions).chunk(3, 2)
        count = regions.shape[1] if lengths is None else lengths[:, None, None]
        if lengths is not None:
            told = told.masked_fill(beyond(told, lengths), 0)
        affinity = from_each @ to_each.mT / count
        return regions + of_rows(self.norm, self.mix(affinity @ told), lengths)


def normed(values: Tensor, axis: int | None) -> Tensor:
    """``values`` divided by their L2 norm along ``axis``; as they are where that is None.

    Written out, because torch's own norm takes about ten times as long over an axis that is not the last.
    """
    return values if axis is None else values * values.pow(2).sum(axis, keepdim=True).clamp_min(1e-24).rsqrt()


def read(gru: nn.GRU, regions: Tensor, lengths: Tensor | None = None) -> Tensor:
    """State (B, d) of a one-layer ``gru`` after the last of the regions (B, N, D), or after ``lengths`` (B,) of them.

    On a CPU by the recurrence of the captions, whose backward pass adds up the weights' gradient in one product; the
    regions are put in the order that it reads, place by place. Same numbers up to rounding.
    """
    counts = counts_of(regions, lengths)
    if regions.is_cuda:
        states, _ = gru(regions)
        return states[torch.arange(len(regions), device=regions.device), counts - 1]
    rows, running, place = packed(regions, counts)
    inputs = F.linear(rows, gru.weight_ih_l0, gru.bias_ih_l0)
    return Recurrence.apply(inputs, gru.weight_hh_l0, gru.bias_hh_l0, running)[
        place.gather(1, counts[:, None] - 1)[:, 0]
    ]

r"""Regions that learn from each other: one graph convolution over all pairs of an image's regions."""

from __future__ import annotations

from torch import Tensor, nn

from icrlib.models.parts.pool import beyond
from icrlib.models.parts.regions import of_rows


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

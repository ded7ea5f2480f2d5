"""SCAN: each word looks at the regions, or each region at the words, and the score is how well what it sees fits."""

from __future__ import annotations

from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from icrlib.errors import choose
from icrlib.models.base import RetrievalModel, Sequences, xavier_linear
from icrlib.models.counts import Parts, captions_part, kept_of_words, product
from icrlib.models.parts.gru import word_states
from icrlib.models.parts.pool import beyond
from icrlib.models.parts.regions import counts_of, regions_of

SHARP = {"t-i": (9.0, 6.0), "i-t": (4.0, 5.0)}  # published: of the attention, and of LSE
POOLS = ("avg", "lse")
SLOPE = 0.1  # of the leaky ReLU: the release's; the paper prints max(s, 0)
EPS = 1e-8
BLOCK = 1 << 24  # numbers of one table of regions and words


class SCAN(RetrievalModel):
    r"""Stacked cross attention (Lee et al. 2018) on regions (B, N, D); formulas as released (FS S3).

    Image: of each region, which is not normalised, linear → L2 norm. Caption: embedding, U(-0.1, 0.1) → bidirectional
    GRU, the mean of both directions after each word → L2 norm; ``<start>`` and ``<end>`` are words. Of an image and a
    caption, :math:`s_{ij}` is the cosine of region i and word j. With ``attend="t-i"`` words are the queries:

    .. math:: \bar s_{ij} = \frac{\mathrm{leaky}(s_{ij})}{\|\mathrm{leaky}(s_{i\cdot})\|}, \quad
              a_{ij} = \mathrm{softmax}_i(\lambda_1 \bar s_{ij}), \quad c_j = \sum_i a_{ij} v_i, \quad
              R_j = \cos(e_j, c_j).

    With "i-t" regions and words change sides. ``pool``: the score is the mean of R over the queries ("avg"), or
    :math:`\frac1{\lambda_2} \log \sum_j e^{\lambda_2 R_j}` ("lse"). **That is a sum, so its scores are no cosines**:
    up to :math:`1 + \ln n / \lambda_2` with n queries, 1.43 for 13 words. What a loss counts in units of the
    score, a margin, τ or ε, then means less than on a cosine, and long captions score higher.

    Contexts :math:`c_j` are never formed: :math:`e_j \cdot c_j = \sum_i a_{ij} s_{ij}`, and :math:`|c_j|^2 = a_j^\top
    G a_j` with the Gram matrix of the regions. Captions pass in blocks, which in training are computed again on the
    way back, so that memory does not grow with their number.

    ``attention_scale``, ``lse_scale``: :math:`\lambda_1, \lambda_2`; None is what was published for the direction, 9
    and 6, or 4 and 5 (COCO's i-t row has λ2 = 20). The published best row is two models whose scores were averaged.
    """

    label = "SCAN"
    takes = "regions"
    takes_lengths = True
    scores_at_once = 1 << 18
    published: ClassVar[dict[str, dict]] = {
        "*": {
            "embed_dim": 1024,
            "word_dim": 300,
            "attend": "t-i",
            "pool": "avg",
            "lr": 2e-4,
            "epochs": 30,
            "lr_update": 15,
            "batch_size": 128,
        },
        "coco": {"lr": 5e-4, "epochs": 20, "lr_update": 10},
    }

    def __init__(
        self,
        feature_dim: int,
        words: int,
        embed_dim: int = 1024,
        word_dim: int = 300,
        attend: str = "t-i",
        pool: str = "avg",
        attention_scale: float | None = None,
        lse_scale: float | None = None,
    ) -> None:
        super().__init__()
        usual = SHARP[choose(attend, SHARP, "attend")]
        scales = {"attention_scale": attention_scale, "lse_scale": lse_scale}
        for name, value in scales.items():
            if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0):
                raise ValueError(f"{name}= is a positive number; got {value!r}")
        if pool == "avg" and lse_scale is not None:
            raise ValueError("lse_scale= has no effect with pool='avg'; it belongs to pool='lse'")
        self.options = {
            "feature_dim": feature_dim,
            "words": words,
            "embed_dim": embed_dim,
            "word_dim": word_dim,
            "attend": attend,
            "pool": choose(pool, POOLS, "pool"),
            **scales,
        }
        self.sharp, self.peaked = attention_scale or usual[0], lse_scale or usual[1]
        self.project = xavier_linear(feature_dim, embed_dim)
        self.embed = nn.Embedding(words, word_dim)
        nn.init.uniform_(self.embed.weight, -0.1, 0.1)
        self.gru = nn.GRU(word_dim, embed_dim, batch_first=True, bidirectional=True)

    def encode_images(self, features: Tensor) -> Sequences:
        """Regions (B, N, D), with lengths or without, to a unit vector of each, (B, N, d)."""
        regions, lengths = regions_of(features, self.options["feature_dim"])
        return Sequences(F.normalize(self.project(regions), dim=2), counts_of(regions, lengths))

    def encode_captions(self, words: Tensor, lengths: Tensor) -> Sequences:
        """A unit vector of each word, (M, L, d)."""
        return Sequences(F.normalize(word_states(self.gru, self.embed, words, lengths), dim=2), lengths)

    def similarity(self, images: Sequences, captions: Sequences) -> Tensor:
        size = max(1, BLOCK // (images.values[..., 0].numel() * captions.values.shape[1]))
        again = torch.is_grad_enabled() and len(captions) > size
        parts = captions.split(size)
        if again:
            return torch.cat([checkpoint(self._block, images, part, use_reentrant=False) for part in parts], 1)
        return torch.cat([self._block(images, part) for part in parts], 1)

    def _block(self, images: Sequences, captions: Sequences) -> Tensor:
        captions = Sequences(captions.values[:, : int(captions.lengths.max())], captions.lengths)
        alike = torch.einsum("bnd,mld->bmnl", images.values, captions.values)
        return self._pooled(*self.attention(alike, images, captions))

    def similarity_of_pairs(self, images: Sequences, captions: Sequences) -> Tensor:
        alike = torch.einsum("bnd,bld->bnl", images.values, captions.values)[:, None]
        return self._pooled(*self.attention(alike, images, captions, pairs=True))[:, 0]

    def attention(
        self, alike: Tensor, images: Sequences, captions: Sequences, pairs: bool = False
    ) -> tuple[Tensor, Tensor, Tensor]:
        """How well what each query sees fits it (B, M, Q); where there is no query; and its attention (B, M, Q, C).

        ``alike`` (B, M, N, L): cosines of regions and words, or (B, 1, N, L) of ``pairs`` of image b and caption b.
        """
        regions = beyond(images.values, images.lengths)[:, None, :, 0]
        words = beyond(captions.values, captions.lengths)[..., 0]
        words = words[:, None] if pairs else words[None]
        if self.options["attend"] == "t-i":
            alike, asking, seen, elements, of = alike.transpose(2, 3), words, regions, images.values, "b"
        else:
            asking, seen, elements, of = regions, words, captions.values, "b" if pairs else "m"
        leaky = F.leaky_relu(alike, SLOPE).masked_fill(asking[..., None], 0)
        leaky = leaky / (torch.linalg.vector_norm(leaky, dim=2, keepdim=True) + EPS)
        shares = (self.sharp * leaky).masked_fill(seen[:, :, None], -torch.inf).softmax(3)
        gram = elements @ elements.transpose(1, 2)
        squares = (torch.einsum(f"bmqc,{of}cd->bmqd", shares, gram) * shares).sum(3)
        return (shares * alike).sum(3) / squares.clamp_min(EPS**2).sqrt(), asking, shares

    def _pooled(self, fits: Tensor, gone: Tensor, shares: Tensor) -> Tensor:
        if self.options["pool"] == "avg":
            return fits.masked_fill(gone, 0).sum(2) / (~gone).sum(2)
        return (self.peaked * fits).masked_fill(gone, -torch.inf).logsumexp(2) / self.peaked

    @staticmethod
    def operations(
        images: int = 128,
        captions: int = 128,
        words: float = 27,
        *,
        regions: int = 36,
        feature_dim: int = 2048,
        embed_dim: int = 1024,
        word_dim: int = 300,
        attend: str = "t-i",
        **sizes,
    ) -> Parts:
        """One update; blocks that are computed again on the way back are counted once."""
        rows, read, d = images * regions, captions * words, embed_dim
        of, asking, seen = (rows, words, regions) if attend == "t-i" else (read, regions, words)
        return {
            "image layers": 2 * product(rows, feature_dim, d),
            **{name: 2 * count for name, count in captions_part(captions, d, words, word_dim).items()},
            "cosines": 3 * product(rows, d, read),
            "Gram matrices": 3 * product(of, d, seen),
            "lengths of contexts": 3 * product(images * captions * asking, seen, seen),
        }

    @staticmethod
    def kept(
        images: int,
        captions: int,
        words: float,
        *,
        regions: int,
        feature_dim: int,
        embed_dim: int,
        word_dim: int = 300,
        **sizes,
    ) -> float:
        """Of a region its features and two vectors; of a word as of two GRUs and its vector; of a region with a word
        five numbers, as long as one block holds them."""
        of_regions = images * regions * (feature_dim + 2 * embed_dim)
        of_words = 2 * kept_of_words(captions, embed_dim, words, word_dim) + 2 * captions * words * embed_dim
        return of_regions + of_words + 5 * min(images * captions * regions * words, BLOCK)

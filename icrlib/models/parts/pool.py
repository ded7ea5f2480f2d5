r"""One vector of several: the mean, the maximum, or a learned mixture of what is largest, second largest, … (GPO)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from icrlib.errors import choose

TEMPERATURE = 0.1  # in the release, not in the paper
SIZE = 32  # of the positions' encodings, and of the states that read them


class Mean(nn.Module):
    """The mean over an element axis: values (B, L, d), of which row b has ``lengths[b]``, to (B, d)."""

    def forward(self, values: Tensor, lengths: Tensor) -> Tensor:
        return values.masked_fill(beyond(values, lengths), 0).sum(1) / lengths[:, None]


class Max(nn.Module):
    """Of each feature the largest value: (B, L, d) to (B, d)."""

    def forward(self, values: Tensor, lengths: Tensor) -> Tensor:
        return values.masked_fill(beyond(values, lengths), -torch.inf).amax(1)


class GPO(nn.Module):
    r"""Generalised pooling (VSE∞, Chen et al. 2021; FS S1.1): sort each feature's values, and weigh them by their rank.

    .. math:: v_j = \sum_k \theta_k(L) \max{}_k(x_{1j}, \dots, x_{Lj}).

    The weights :math:`\theta(L)` depend on the number of elements alone and serve all features: the ranks 0 … L − 1
    are encoded by sines and cosines (32 numbers, as the released code counts them), read by a bidirectional GRU whose
    directions are averaged, scored by a linear layer without bias, and put through a softmax of temperature 0.1. The
    mean is all weights alike, the maximum all weight on the first; it starts as neither.
    """

    def __init__(self) -> None:
        super().__init__()
        self.gru = nn.GRU(SIZE, SIZE, batch_first=True, bidirectional=True)
        self.linear = nn.Linear(SIZE, 1, bias=False)

    def weights(self, lengths: Tensor) -> Tensor:
        """θ (B, L) of each of ``lengths`` (B,), 0 behind them. Equal lengths are computed once."""
        distinct, which = lengths.unique(return_inverse=True)
        places = encoded(int(distinct.max()), self.linear.weight)
        packed = nn.utils.rnn.pack_padded_sequence(places.expand(len(distinct), -1, -1), distinct.cpu(), True, False)
        states = nn.utils.rnn.pad_packed_sequence(self.gru(packed)[0], batch_first=True)[0]
        scores = self.linear(sum(states.chunk(2, 2)) / 2) / TEMPERATURE
        return scores.masked_fill(beyond(scores, distinct), -torch.inf).softmax(1)[which, :, 0]

    def forward(self, values: Tensor, lengths: Tensor) -> Tensor:
        """(B, L, d) to (B, d)."""
        gone = beyond(values, lengths)
        # The elements are put last, where torch sorts several times as quickly.
        ranked = values.masked_fill(gone, -torch.inf).transpose(1, 2).sort(2, descending=True).values
        weights = self.weights(lengths)
        longest = weights.shape[1]
        return (ranked[..., :longest].masked_fill(gone[:, None, :longest, 0], 0) * weights[:, None]).sum(2)


POOLS = {"gpo": GPO, "max": Max, "mean": Mean}


def pool_of(name: str) -> nn.Module:
    """A new pooling by its name."""
    return POOLS[choose(name, POOLS, "pool")]()


def beyond(values: Tensor, lengths: Tensor) -> Tensor:
    """Where there is padding, bool (B, L, 1)."""
    return (torch.arange(values.shape[1], device=values.device) >= lengths[:, None])[..., None]


def encoded(count: int, like: Tensor) -> Tensor:
    """Encodings (count, 32) of the ranks 0, 1, …: sines in even columns and cosines in odd ones."""
    rank = torch.arange(count, device=like.device, dtype=like.dtype)[:, None]
    angle = rank * 10000 ** (-torch.arange(0, SIZE, 2, device=like.device, dtype=like.dtype) / SIZE)
    return torch.stack([angle.sin(), angle.cos()], 2).flatten(1)

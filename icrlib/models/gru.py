"""The state of a GRU after the last word of each caption, without computing what padding would add."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def last_states(gru: nn.GRU, words: nn.Embedding, numbers: Tensor, lengths: Tensor) -> Tensor:
    """State (B, d) of a one-layer ``gru`` after word ``lengths[i]`` of caption i; ``numbers`` (B, L) int64.

    On a GPU the library's fused kernel runs over the padded batch. On a CPU short captions make padding half of the
    work, and ``pack_padded_sequence`` costs more than it saves. So captions are sorted by length, the longest first,
    the batch shrinks as captions end, and the vocabulary meets the input weights once instead of once a word.
    Same numbers up to rounding.
    """
    if numbers.is_cuda:
        states, _ = gru(words(numbers[:, : int(lengths.max())]))
        return states[torch.arange(len(numbers), device=numbers.device), lengths - 1]
    order = lengths.argsort(descending=True, stable=True)
    numbers, lengths = numbers[order], lengths[order]
    projected = F.linear(words.weight, gru.weight_ih_l0, gru.bias_ih_l0)
    state = projected.new_zeros(len(numbers), gru.hidden_size)
    finished = []
    for step in range(int(lengths[0])):
        running = int((lengths > step).sum())
        finished.append(state[running:])  # captions that ended with the word before
        state = state[:running]
        from_word = projected[numbers[:running, step]].chunk(3, 1)
        from_state = F.linear(state, gru.weight_hh_l0, gru.bias_hh_l0).chunk(3, 1)
        reset = torch.sigmoid(from_word[0] + from_state[0])
        update = torch.sigmoid(from_word[1] + from_state[1])
        candidate = torch.tanh(from_word[2] + reset * from_state[2])
        state = candidate + update * (state - candidate)
    return torch.cat([state, *reversed(finished)])[order.argsort()]

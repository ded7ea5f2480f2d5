r"""The states of a GRU, after the last word of each caption or after every word, without computing padding."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

WEIGHTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


def last_states(gru: nn.GRU, words: nn.Embedding, numbers: Tensor, lengths: Tensor) -> Tensor:
    """State (B, d) of a one-layer ``gru`` after word ``lengths[i]`` of caption i; ``numbers`` (B, L) int64.

    On a GPU the library's fused kernel runs over the padded batch. On a CPU short captions make padding half of the
    work, and ``pack_padded_sequence`` costs more than it saves. So captions are sorted by length, the longest first,
    the batch shrinks as captions end, and each distinct word of the batch meets the input weights once.
    Same numbers up to rounding.
    """
    if numbers.is_cuda:
        states, _ = gru(words(numbers[:, : int(lengths.max())]))
        return states[torch.arange(len(numbers), device=numbers.device), lengths - 1]
    states, place = _states(gru, words, numbers, lengths)
    return states.index_select(0, place.gather(1, lengths[:, None] - 1)[:, 0])


def word_states(gru: nn.GRU, words: nn.Embedding, numbers: Tensor, lengths: Tensor) -> Tensor:
    """States (B, L, d) of a one-layer ``gru`` after each word, 0 beyond a caption's end; L is the longest of them.

    Of a bidirectional one the mean of both directions, as VSE∞ and SCAN take it. Otherwise as :func:`last_states`: the
    way back is the way there over captions turned round, whose states are then put where their words are.
    """
    if numbers.is_cuda:
        inside = nn.utils.rnn.pack_padded_sequence(words(numbers), lengths.cpu(), True, False)
        states = nn.utils.rnn.pad_packed_sequence(gru(inside)[0], batch_first=True)[0]
        return sum(states.chunk(2, 2)) / 2 if gru.bidirectional else states
    places = torch.arange(int(lengths.max()))
    inside = places < lengths[:, None]
    there, place = _states(gru, words, numbers, lengths)
    states = there[place[inside]]
    if gru.bidirectional:
        turned = (lengths[:, None] - 1 - places).clamp_min(0)
        back, _ = _states(gru, words, numbers.gather(1, turned), lengths, "_reverse")
        states = (states + back[place.gather(1, turned)[inside]]) / 2
    return states.new_zeros(*inside.shape, states.shape[1]).masked_scatter(inside[..., None], states)


def _states(gru: nn.GRU, words: nn.Embedding, numbers: Tensor, lengths: Tensor, way: str = "") -> tuple[Tensor, Tensor]:
    """States (T, d) of all words, by the weights of one way, and their places (B, L), both as of :func:`packed`."""
    weight, state_weight, bias, state_bias = (getattr(gru, f"{name}_l0{way}") for name in WEIGHTS)
    read, running, place = packed(numbers, lengths)
    distinct, read = read.unique(return_inverse=True)
    inputs = F.embedding(read, F.linear(words(distinct), weight, bias))
    return Recurrence.apply(inputs, state_weight, state_bias, running), place


def packed(numbers: Tensor, lengths: Tensor) -> tuple[Tensor, list[int], Tensor]:
    """What stands in ``numbers`` (B, L, …), position by position, longer rows first, without what is beyond a length,
    (T, …); how many rows have each position; and where each row's positions are among the T, (B, L)."""
    order = lengths.argsort(descending=True, stable=True)
    inside = torch.arange(int(lengths.max()))[:, None] < lengths[order]  # (L, B): every row that has the position
    sizes = inside.sum(1)
    place = (sizes.cumsum(0) - sizes)[None] + order.argsort()[:, None]
    return numbers[order, : len(inside)].transpose(0, 1)[inside], sizes.tolist(), place


class Recurrence(torch.autograd.Function):
    r"""The recurrent half of a GRU over captions of falling length; backward by hand.

    ``inputs`` (T, 3d): what the words contribute to the gates r, z and the candidate c, word position by word position;
    the first ``running[t]`` captions have a word t. With :math:`(f_r, f_z, f_c) = W h + b`,

    .. math:: r = \sigma(x_r + f_r), \quad z = \sigma(x_z + f_z), \quad
              c = \tanh(x_c + r f_c), \quad h' = c + z (h - c).

    Autograd would add up one product of the size of :math:`W` a word position; here they are one product over all.
    Returns the state after each word, (T, d).
    """

    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
    def forward(ctx: Any, inputs: Tensor, weight: Tensor, bias: Tensor, running: list[int]) -> Tensor:
        size = weight.shape[1]
        gates, from_state = torch.empty_like(inputs), torch.empty_like(inputs)
        before, states = inputs.new_empty(len(inputs), size), inputs.new_empty(len(inputs), size)
        state = inputs.new_zeros(running[0], size)
        from_state[: running[0]] = bias  # all states start at 0
        for step, (x, gate, f, h, now) in enumerate(_by_word(running, inputs, gates, from_state, before, states)):
            h.copy_(state[: len(x)])
            if step:
                torch.addmm(bias, h, weight.T, out=f)
            rz = torch.sigmoid(torch.add(x[:, : 2 * size], f[:, : 2 * size]), out=gate[:, : 2 * size])
            c = torch.addcmul(x[:, 2 * size :], rz[:, :size], f[:, 2 * size :])
            c = torch.tanh(c, out=gate[:, 2 * size :])
            state = torch.lerp(c, h, rz[:, size:], out=now)
        ctx.save_for_backward(gates, before, from_state, weight)
        ctx.running = running
        return states

    @staticmethod
    @once_differentiable
    @torch.amp.custom_bwd(device_type="cpu")
    def backward(ctx: Any, incoming: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        gates, before, from_state, weight = ctx.saved_tensors
        size, first = weight.shape[1], ctx.running[0]
        r, z, c = gates.chunk(3, 1)
        # What does not depend on the incoming gradient, for all words at once.
        to_c = (1 - z) * (1 - c * c)
        to_z = (before - c) * z * (1 - z)
        to_r = from_state[:, 2 * size :] * r * (1 - r)
        at_inputs, at_state = torch.empty_like(gates), torch.empty_like(gates)
        gradient = gates.new_zeros(first, size)
        steps = list(_by_word(ctx.running, to_r, to_z, to_c, r, z, at_inputs, at_state, incoming))
        for step, (f_r, f_z, f_c, gate_r, gate_z, x, f, more) in reversed(list(enumerate(steps))):
            now = gradient[: len(x)]
            now += more
            x_c = torch.mul(now, f_c, out=x[:, 2 * size :])
            torch.mul(x_c, f_r, out=x[:, :size])
            torch.mul(now, f_z, out=x[:, size : 2 * size])
            f[:, : 2 * size] = x[:, : 2 * size]
            torch.mul(x_c, gate_r, out=f[:, 2 * size :])
            if step:
                torch.addmm(now * gate_z, f, weight, out=now)
        return at_inputs, at_state[first:].T @ before[first:], at_state.sum(0), None


def _by_word(running: list[int], *whole: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """The rows of each word position, of all given tensors."""
    return zip(*(tensor.split(running) for tensor in whole), strict=True)

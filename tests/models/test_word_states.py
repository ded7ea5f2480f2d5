"""The state after every word: torch's own packed GRU, forwards and backwards, and its derivatives."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from icrlib.models.parts.gru import last_states, word_states

LENGTHS = {"mixed": [5, 9, 3, 7, 3, 8], "equal": [4] * 6, "single words": [1] * 6, "alone": [6]}


def made(bidirectional: bool) -> tuple[nn.GRU, nn.Embedding]:
    torch.manual_seed(0)
    return nn.GRU(6, 8, batch_first=True, bidirectional=bidirectional).double(), nn.Embedding(30, 6).double()


def captions(lengths: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    result = torch.tensor(lengths)
    return torch.randint(4, 30, (len(result), 10), generator=generator), result  # padding is no zero: it is not read


def by_torch(gru: nn.GRU, embed: nn.Embedding, words: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    packed = pack_padded_sequence(embed(words), lengths, batch_first=True, enforce_sorted=False)
    states, _ = pad_packed_sequence(gru(packed)[0], batch_first=True)
    return sum(states.chunk(2, 2)) / 2 if gru.bidirectional else states


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=list(LENGTHS))
def test_states_and_gradients_are_those_of_a_packed_gru(bidirectional, lengths):
    """Those after every word and, of one direction, the last ones."""
    (gru, embed), (words, lengths) = made(bidirectional), captions(lengths)
    expected, parameters = by_torch(gru, embed, words, lengths), [*gru.parameters(), embed.weight]
    ways = [(word_states(gru, embed, words, lengths), expected)]
    if not bidirectional:
        ways.append((last_states(gru, embed, words, lengths), expected[torch.arange(len(lengths)), lengths - 1]))
    for result, states in ways:
        torch.testing.assert_close(result, states)
        direction = torch.randn(states.shape, dtype=torch.float64)
        mine, theirs = (
            torch.autograd.grad((one * direction).sum(), parameters, retain_graph=True) for one in (result, states)
        )
        for one, other in zip(mine, theirs, strict=True):
            torch.testing.assert_close(one, other)


def test_a_second_derivative_is_refused():
    gru, embed = made(False)
    state = last_states(gru, embed, *captions([5, 3])).square().sum()
    (first,) = torch.autograd.grad(state, [gru.weight_hh_l0], create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        first.sum().backward()


@pytest.mark.parametrize("states_of", [last_states, word_states])
def test_half_precision_around_it(states_of):
    """Under mixed precision the states stay in single precision, and gradients arrive."""
    (gru, embed), (words, lengths) = made(False), captions(LENGTHS["mixed"])
    gru, embed = gru.float(), embed.float()
    with torch.autocast("cpu", torch.bfloat16):
        states = states_of(gru, embed, words, lengths)
    assert states.dtype == torch.float32
    states.sum().backward()
    torch.testing.assert_close(states, states_of(gru, embed, words, lengths), rtol=0.05, atol=0.03)
    assert gru.weight_ih_l0.grad.any() and embed.weight.grad.dtype == torch.float32

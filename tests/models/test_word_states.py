"""The state after every word: torch's own packed GRU, forwards and backwards, by hand-written derivatives."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from icrlib.models.parts.gru import AllStates, last_states, word_states

LENGTHS = {"mixed": [5, 9, 3, 7, 3, 8], "equal": [4] * 6, "single words": [1] * 6, "alone": [6]}


def made(bidirectional: bool) -> tuple[nn.GRU, nn.Embedding]:
    torch.manual_seed(0)
    return nn.GRU(6, 8, batch_first=True, bidirectional=bidirectional).double(), nn.Embedding(30, 6).double()


def captions(lengths: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    found = torch.tensor(lengths)
    return torch.randint(4, 30, (len(found), 10), generator=generator), found  # padding is no zero: it is not read


def by_torch(gru: nn.GRU, embed: nn.Embedding, words: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    packed = pack_padded_sequence(embed(words), lengths, batch_first=True, enforce_sorted=False)
    states, _ = pad_packed_sequence(gru(packed)[0], batch_first=True)
    return sum(states.chunk(2, 2)) / 2 if gru.bidirectional else states


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=list(LENGTHS))
def test_states_and_gradients_are_those_of_a_packed_gru(bidirectional, lengths):
    (gru, embed), (words, lengths) = made(bidirectional), captions(lengths)
    found, expected = word_states(gru, embed, words, lengths), by_torch(gru, embed, words, lengths)
    torch.testing.assert_close(found, expected)
    direction = torch.randn(expected.shape, dtype=torch.float64)
    parameters = [*gru.parameters(), embed.weight]
    mine, theirs = (torch.autograd.grad((states * direction).sum(), parameters) for states in (found, expected))
    for one, other in zip(mine, theirs, strict=True):
        torch.testing.assert_close(one, other)


def test_the_last_of_them_is_the_last_state():
    (gru, embed), (words, lengths) = made(False), captions(LENGTHS["mixed"])
    states = word_states(gru, embed, words, lengths)
    torch.testing.assert_close(states[torch.arange(6), lengths - 1], last_states(gru, embed, words, lengths))
    assert not states[torch.arange(9) >= lengths[:, None]].any()


def test_the_recurrence_by_differences():
    generator = torch.Generator().manual_seed(0)
    inputs, weight, bias = (
        torch.randn(*size, dtype=torch.float64, generator=generator).requires_grad_() for size in ((6, 9), (9, 3), (9,))
    )
    assert torch.autograd.gradcheck(lambda *given: AllStates.apply(*given, [3, 2, 1]), (inputs, weight, bias))


def test_half_precision_around_it():
    (gru, embed), (words, lengths) = made(True), captions(LENGTHS["mixed"])
    gru, embed = gru.float(), embed.float()
    with torch.autocast("cpu", torch.bfloat16):
        states = word_states(gru, embed, words, lengths)
    assert states.dtype == torch.float32
    states.sum().backward()
    torch.testing.assert_close(states, by_torch(gru, embed, words, lengths), rtol=0.05, atol=0.03)

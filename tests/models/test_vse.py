"""VSE++: published sizes, both norms, and a caption vector that does not depend on padding."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn.utils.rnn import pack_padded_sequence

from icrlib import models
from icrlib.models import VSE, RetrievalModel
from icrlib.models.parts.gru import Recurrence, last_states
from icrlib.training.config import resolve


def count(module):
    return sum(p.numel() for p in module.parameters())


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    return VSE(feature_dim=10, words=30, embed_dim=8, word_dim=6).double()


@pytest.fixture
def captions():
    """Six captions of 3 to 9 words, in no order of length; padding is word 0."""
    generator = torch.Generator().manual_seed(0)
    lengths = torch.tensor([5, 9, 3, 7, 3, 8])
    words = torch.randint(4, 30, (6, 9), generator=generator)
    return words * (torch.arange(9) < lengths[:, None]), lengths


def test_published_sizes():
    """The counts of the ECIR release: GRU 300 → 1024, linear 2048 → 1024, 300 numbers a word."""
    vse = models.build("vse++", feature_dim=2048, words=8481)
    assert count(vse.gru) == 4_073_472 and count(vse.project) == 2_098_176 and count(vse.embed) == 300 * 8481
    assert count(vse) == 4_073_472 + 2_098_176 + 300 * 8481
    assert all(p.requires_grad for p in vse.parameters())


def test_how_the_weights_start():
    torch.manual_seed(0)
    vse = VSE(feature_dim=200, words=500, embed_dim=100, word_dim=40)
    edge = math.sqrt(6 / 300)
    assert 0.98 * edge < vse.project.weight.abs().max() <= edge and not vse.project.bias.any()
    assert 0.098 < vse.embed.weight.abs().max() <= 0.1 and vse.embed.weight[0].abs().max() > 0.05  # <pad>, too
    assert max(p.abs().max() for p in vse.gru.parameters()) <= 1 / math.sqrt(100)


def test_images_by_hand(model):
    features = torch.rand(4, 10, dtype=torch.float64) * 7
    rows = []
    for row in features:
        unit = row / row.pow(2).sum().sqrt()
        out = model.project.weight @ unit + model.project.bias
        rows.append(out / out.pow(2).sum().sqrt())
    torch.testing.assert_close(model.encode_images(features), torch.stack(rows))


def test_features_are_normed_before_the_projection(model):
    """With a bias, the size of a feature vector would matter without the first norm."""
    shifted = VSE(**model.options).double()
    torch.nn.init.normal_(shifted.project.bias)
    features = torch.rand(4, 10, dtype=torch.float64)
    torch.testing.assert_close(shifted.encode_images(features), shifted.encode_images(features * 50))


def gru_by_hand(gru, inputs):
    """The state after the last of ``inputs`` (L, word_dim): the equations of a GRU, step by step."""
    state = torch.zeros(gru.hidden_size, dtype=inputs.dtype)
    for x in inputs:
        i_r, i_z, i_n = (gru.weight_ih_l0 @ x + gru.bias_ih_l0).chunk(3)
        h_r, h_z, h_n = (gru.weight_hh_l0 @ state + gru.bias_hh_l0).chunk(3)
        reset, update = torch.sigmoid(i_r + h_r), torch.sigmoid(i_z + h_z)
        state = (1 - update) * torch.tanh(i_n + reset * h_n) + update * state
    return state


def test_captions_by_hand(model, captions):
    words, lengths = captions
    rows = [gru_by_hand(model.gru, model.embed.weight[w[:n]]) for w, n in zip(words, lengths, strict=True)]
    expected = torch.stack([row / row.norm() for row in rows])
    torch.testing.assert_close(model.encode_captions(words, lengths), expected)


def test_gradients_equal_those_of_a_packed_gru(model, captions):
    """The backward pass is written by hand: all weights and the words, against autograd; equal lengths, too."""
    words, lengths = captions
    for chosen in (lengths, torch.full((6,), 4), torch.ones(6, dtype=torch.int64)):
        direction = torch.randn(6, 8, dtype=torch.float64)
        packed = pack_padded_sequence(model.embed(words), chosen, batch_first=True, enforce_sorted=False)
        parameters = [*model.gru.parameters(), model.embed.weight]
        expected = torch.autograd.grad((model.gru(packed)[1][0] * direction).sum(), parameters)
        found = torch.autograd.grad((last_states(model.gru, model.embed, words, chosen) * direction).sum(), parameters)
        for mine, theirs in zip(found, expected, strict=True):
            torch.testing.assert_close(mine, theirs)


def test_the_recurrence_by_differences():
    generator = torch.Generator().manual_seed(0)
    inputs, weight, bias = (
        torch.randn(*size, dtype=torch.float64, generator=generator).requires_grad_() for size in ((6, 9), (9, 3), (9,))
    )
    assert torch.autograd.gradcheck(lambda *given: Recurrence.apply(*given, [3, 2, 1]), (inputs, weight, bias))


def test_a_second_derivative_is_refused(model, captions):
    state = last_states(model.gru, model.embed, *captions).square().sum()
    (first,) = torch.autograd.grad(state, [model.gru.weight_hh_l0], create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        first.sum().backward()


def test_half_precision_around_the_recurrence(model, captions):
    """Under mixed precision the states stay in single precision, and gradients arrive."""
    single = VSE(**model.options)
    with torch.autocast("cpu", torch.bfloat16):
        states = last_states(single.gru, single.embed, *captions)
    assert states.dtype == torch.float32
    states.sum().backward()
    torch.testing.assert_close(states, last_states(single.gru, single.embed, *captions), rtol=0.05, atol=0.02)
    assert single.gru.weight_ih_l0.grad.any() and single.embed.weight.grad.dtype == torch.float32


def test_padding_does_not_matter(model, captions):
    words, lengths = captions
    expected = model.encode_captions(words, lengths)
    wider = torch.cat([words, torch.full((6, 5), 17)], 1)  # not even zeros: nothing after <end> is read
    torch.testing.assert_close(model.encode_captions(wider, lengths), expected)
    alone = torch.cat([model.encode_captions(words[i : i + 1], lengths[i : i + 1]) for i in range(6)])
    torch.testing.assert_close(alone, expected)


def test_word_order_matters(model):
    words, lengths = torch.tensor([[1, 5, 6, 7, 2], [1, 7, 6, 5, 2]]), torch.tensor([5, 5])
    first, second = model.encode_captions(words, lengths)
    assert (first - second).abs().max() > 1e-3


def test_unit_vectors_and_scores(model, captions):
    features = torch.rand(4, 10, dtype=torch.float64)
    images, texts = model.encode_images(features), model.encode_captions(*captions)
    for vectors in (images, texts):
        torch.testing.assert_close(vectors.norm(dim=1), torch.ones(len(vectors), dtype=torch.float64))
    scores = model(features, *captions)
    torch.testing.assert_close(scores, images @ texts.T)
    assert scores.shape == (4, 6) and scores.abs().max() <= 1 + 1e-12


def test_every_parameter_gets_a_gradient(model, captions):
    model.zero_grad()
    (model(torch.rand(4, 10, dtype=torch.float64), *captions) ** 2).sum().backward()
    assert all(p.grad is not None and p.grad.any() for p in model.parameters())


def test_a_model_is_made_again_from_its_options(model, captions):
    again = VSE(**model.options).double()
    again.load_state_dict(model.state_dict())
    assert torch.equal(again.encode_captions(*captions), model.encode_captions(*captions))


def test_what_is_refused(model):
    with pytest.raises(ValueError, match=r"image features \(4, 9\): this model takes \(images, 10\)"):
        model.encode_images(torch.rand(4, 9))
    with pytest.raises(ValueError, match=r"image features \(4, 36, 10\): this model takes \(images, 10\)"):
        model.encode_images(torch.rand(4, 36, 10))
    with pytest.raises(ValueError, match=r"unknown method 'vse'; allowed: .*Did you mean 'vse\+\+'\?"):
        models.build("vse", 4, 4)
    assert models.options_of("vse++") == ["embed_dim", "word_dim", "pool"]
    assert models.options_of("bow") == ["embed_dim", "ngrams"]
    with pytest.raises(ValueError, match="unknown pool 'gpo'; allowed: 'last', 'max', 'mean'"):
        VSE(4, 4, pool="gpo")
    for call in (lambda m: m.encode_images(torch.zeros(1, 1)), lambda m: m.encode_captions(None, None)):
        with pytest.raises(TypeError, match="RetrievalModel must define encode_"):
            call(RetrievalModel())


@pytest.mark.parametrize("pool", ["max", "mean"])
def test_states_pooled_by_hand(model, captions, pool):
    pooled = VSE(**model.options, pool=pool).double()
    pooled.load_state_dict(model.state_dict())
    rows = []
    for row, n in zip(*captions, strict=True):
        states = model.gru(model.embed(row[None, :n]))[0][0]
        rows.append(states.amax(0) if pool == "max" else states.mean(0))
    expected = torch.stack([row / row.norm() for row in rows])
    torch.testing.assert_close(pooled.encode_captions(*captions), expected)
    assert VSE(**pooled.options).options == pooled.options and model.options.keys() == {*pooled.options} - {"pool"}


def test_the_last_state_is_no_option(tiny):
    """What was recorded before there were others keeps its identity."""
    plain, last, most = (
        resolve(tiny, "vse++", "ntxent", given=given) for given in ({}, {"pool": "last"}, {"pool": "max"})
    )
    assert plain.identity() == last.identity() != most.identity()
    assert "pool" not in last.model_options and most.model_options["pool"] == "max"

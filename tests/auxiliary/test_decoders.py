"""The decoders of LTD against loops: latent targets, and the caption's words under both softmaxes."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest
import torch

import icrlib
from icrlib.auxiliary.latent import LatentTarget
from icrlib.auxiliary.tokens import TokenDecoder
from icrlib.data import targets

SIZE, WORDS = 6, 12
MODEL = SimpleNamespace(options={"embed_dim": SIZE}, reads_words=True, vocabulary=range(WORDS))
NUMBERS = torch.tensor([[1, 5, 7, 2, 0], [1, 4, 2, 0, 0], [1, 9, 9, 11, 2]])
LENGTHS = torch.tensor([4, 3, 5])


def step(**more):
    captions = torch.nn.functional.normalize(torch.randn(3, SIZE, generator=torch.Generator().manual_seed(5)), dim=1)
    given = {
        "numbers": NUMBERS,
        "lengths": LENGTHS,
        "captions": captions.double(),
        "batch": SimpleNamespace(captions=torch.tensor([4, 0, 2])),
    } | more
    return SimpleNamespace(**given)


@pytest.fixture
def latent(monkeypatch):
    table = torch.nn.functional.normalize(torch.randn(5, 3, generator=torch.Generator().manual_seed(1)), dim=1)
    monkeypatch.setattr(targets, "for_dataset", lambda data, name: SimpleNamespace(identity="none"))
    monkeypatch.setattr(targets, "vectors", lambda split, teacher: table)
    torch.manual_seed(0)
    made = LatentTarget("sbert", hidden=4)
    made.prepare(SimpleNamespace(train=None), MODEL)
    return made.double()


def written(softmax):
    torch.manual_seed(0)
    made = TokenDecoder(softmax, decoder_words=5)
    made.prepare(None, MODEL)
    return made.double()


def layer(linear, row):
    return [
        b + sum(w * x for w, x in zip(line, row, strict=True))
        for line, b in zip(linear.weight.tolist(), linear.bias.tolist(), strict=True)
    ]


def test_latent_targets_by_loops(latent):
    given, values = step(), []
    for caption, row in zip(given.captions.tolist(), given.batch.captions.tolist(), strict=True):
        for k in (0, 2):
            caption = [max(0.0, x) for x in layer(latent.decode[k], caption)]
        made, wanted = layer(latent.decode[4], caption), latent.targets[row].tolist()
        dot = sum(a * b for a, b in zip(made, wanted, strict=True))
        values.append(1 - dot / math.hypot(*made) / math.hypot(*wanted))
    assert float(latent(given)) == pytest.approx(sum(values) / 3, abs=1e-9)
    usual = LatentTarget("sbert")  # half as wide as the space, as the published 512 of 1,024
    usual.prepare(SimpleNamespace(train=None), MODEL)
    assert [layer.out_features for layer in usual.decode[::2]] == [3, 3, 3]
    assert not any("targets" in name for name in latent.state_dict()), "nor do they swell a checkpoint"


def loops(decoder, given, time):
    """LTD Eq. 4 with plain loops; ``time``: normalised over the positions, whose states are 0 behind the end."""
    longest, total = int(LENGTHS.max()), 0.0
    for caption, row, length in zip(given.captions, NUMBERS, LENGTHS.tolist(), strict=True):
        state, scores = caption, []
        for t in range(longest):
            if t < length:
                x = decoder.embed.weight[row[t]]
                i_r, i_z, i_n = (decoder.gru.weight_ih_l0 @ x + decoder.gru.bias_ih_l0).chunk(3)
                h_r, h_z, h_n = (decoder.gru.weight_hh_l0 @ state + decoder.gru.bias_hh_l0).chunk(3)
                r, z = torch.sigmoid(i_r + h_r), torch.sigmoid(i_z + h_z)
                state = (1 - z) * torch.tanh(i_n + r * h_n) + z * state
                scores.append((decoder.score.weight @ state + decoder.score.bias).tolist())
            else:
                scores.append(decoder.score.bias.tolist())
        for t in range(length - 1):
            word = int(row[t + 1])
            others = [scores[s][word] for s in range(longest)] if time else scores[t]
            total -= scores[t][word] - math.log(sum(map(math.exp, others)))
    return total / len(NUMBERS)


@pytest.mark.parametrize("softmax", ["vocabulary", "time"])
def test_words_by_loops(softmax):
    decoder, given = written(softmax), step()
    assert float(decoder(given)) == pytest.approx(loops(decoder, given, softmax == "time"), rel=1e-9)


def test_a_run_and_its_record(tmp_path, monkeypatch):
    """On scenes, with the oracle: what is decoded gets better, λ moves, and the record names the teacher."""
    monkeypatch.setenv("ICRLIB_CACHE", str(tmp_path))
    data = icrlib.load_dataset("scenes", smoke=True)
    options = {"embed_dim": 16, "word_dim": 8, "lr": 0.01, "updates": 20, "evaluate_every": 10, "progress": False}
    run = icrlib.train(data, "ltd", target="form", eta=0.4, **options)
    first, last = run.history
    assert last["reconstruction"] < first["reconstruction"] and last["lambda"] != first["lambda"]
    assert run.record["auxiliary"]["target"] == "form" and 0.5 < run.record["auxiliary"]["floor"] < 0.8
    assert run.record["log_columns"] == ["update", "loss", "contrastive", "reconstruction", "lambda"]
    words = icrlib.train(data, "ltd", target="tokens", objective="dual", decoder_words=8, **options)
    assert words.record["config"]["auxiliary"] == "tokens" and "auxiliary" not in words.record
    assert words.history[-1]["reconstruction"] < words.history[0]["reconstruction"]

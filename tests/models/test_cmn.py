"""The modular scorer: its score pair by pair, what it starts as, what its options leave out, from data to search."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn.functional import normalize
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from icrlib.models.cmn import CMN
from icrlib.training.config import resolve

WORDS, LENGTHS = torch.randint(4, 30, (6, 9), generator=torch.Generator().manual_seed(0)), [5, 9, 3, 7, 3, 8]


def made(places: str = "boxes", **options) -> CMN:
    torch.manual_seed(0)
    model = CMN(12, 30, embed_dim=8, word_dim=6, places=places, **options).double().eval()
    for layer in (model.counts, model.gate):  # as if they had learned something
        torch.nn.init.normal_(layer.weight)
    return model


def features(images: int = 4, regions: int = 9) -> torch.Tensor:
    result = torch.rand(images, regions, 12, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    result[..., 7:9] *= 0.5  # boxes: x0, y0, x1, y1, area
    result[..., 9:11] = 0.5 + 0.5 * result[..., 9:11]
    return result


def one_by_one(model: CMN, images: torch.Tensor, words: torch.Tensor, lengths: list[int]) -> torch.Tensor:
    """Every image with every caption by itself, step by step as the docstring has it, with torch's own GRU."""
    packed = pack_padded_sequence(model.embed(words), torch.tensor(lengths), True, False)
    states = sum(pad_packed_sequence(model.gru(packed)[0], batch_first=True)[0].chunk(2, 2)) / 2
    return torch.stack(
        [
            torch.stack([score(model, image, row[:n]) for row, n in zip(states, lengths, strict=True)])
            for image in images
        ]
    )


def score(model: CMN, image: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
    options, k = model.options, model.mentions
    looks, centres = image, torch.tensor([[(n % 3 + 0.5) / 3, (n // 3 + 0.5) / 3] for n in range(9)]).double()
    if options["places"] == "boxes":
        looks, box = image[:, :7], image[:, 7:]
        centres = torch.stack([(box[:, 0] + box[:, 2]) / 2, (box[:, 1] + box[:, 3]) / 2], 1)
    regions = normalize(model.region(model.norm(looks)), dim=1)
    mentions = [((states @ query).softmax(0)[:, None] * states).sum(0) for query in model.queries]
    things, where = [], []
    for raw in mentions[:k]:
        alike = regions @ (raw / raw.norm())
        share = (model.sharp.exp() * alike).softmax(0) if options["find"] == "attention" else torch.full((9,), 1 / 9)
        things.append((alike * share).sum())
        where.append((share.double()[:, None] * centres).sum(0))
    counts = torch.cat([model.counts(raw) for raw in mentions[:k]]).softmax(0)
    result = model.of_things * sum(c * s for c, s in zip(counts, things, strict=True))
    pairs = [(i, j) for i in range(k) for j in range(i + 1, k)] if options["relation"] != "none" else []
    for (i, j), raw in zip(pairs, mentions[k:], strict=True):
        away = where[i] - where[j]
        seen = [away, torch.tanh(8 * away)] if options["relation"] == "offsets" else [where[i], where[j]]
        judged = normalize(model.offset(torch.cat(seen)), dim=0)
        result = result + model.of_offsets * 2 * torch.sigmoid(model.gate(raw))[0] * (
            judged @ (raw / raw.norm())
        ) / len(pairs)
    return result / 2


CHOICES = [{}, {"mentions": 1}, {"mentions": 3}, {"mentions": 4, "places": "cells"}]
CHOICES += [{"relation": "none"}, {"relation": "places"}, {"find": "mean"}]


@pytest.mark.parametrize("options", CHOICES, ids=str)
def test_scores_are_those_of_one_pair_at_a_time(options):
    model, images = made(**options), features()
    result = model(images, WORDS, torch.tensor(LENGTHS))
    torch.testing.assert_close(result, one_by_one(model, images, WORDS, LENGTHS))
    pairs = model.similarity_of_pairs(
        model.encode_images(images), model.encode_captions(WORDS[:4], torch.tensor(LENGTHS[:4]))
    )
    torch.testing.assert_close(pairs, result[:, :4].diagonal())


def test_mentions_and_gates_begin_as_if_they_were_not_there():
    """All mentions count alike and the gates are open: the form of our trial."""
    torch.manual_seed(0)
    model = CMN(12, 30, embed_dim=8, word_dim=6, mentions=3, places="boxes")
    counts = model.encode_captions(WORDS, torch.tensor(LENGTHS)).values[..., -1]
    torch.testing.assert_close(counts, torch.tensor([1 / 3] * 3 + [1.0] * 3).expand(6, -1))
    assert model.sharp.exp().item() == pytest.approx(math.e**2)


def test_what_was_found_can_be_asked_for():
    """One thing is exactly what a mention says: it is found, at its place; words add up to one."""
    model, images = made(), features(2)
    encoded, mentions = model.encode_images(images), model.encode_captions(WORDS[:2], torch.tensor(LENGTHS[:2]))
    encoded.values[0, 3, :8] = mentions.values[0, 1, :8]
    with torch.no_grad():
        model.sharp.fill_(6.0)
    where, places = model.found(encoded, mentions)
    assert where.shape == (2, 2, 9) and where[0, 1].argmax() == 3 and where[0, 1, 3] > 0.9
    torch.testing.assert_close(places[0, 1], encoded.values[0, 3, 8:], atol=0.1, rtol=0)
    shares = model.words_of(WORDS, torch.tensor(LENGTHS))
    assert shares.shape == (6, 3, 9) and not shares[0, :, 5:].any()
    torch.testing.assert_close(shares.sum(2), torch.ones(6, 3).double())


def test_where_places_come_from(tiny, scenes, monkeypatch):
    """Boxes on scenes, cells where icr features made them; elsewhere it has to be said, and boxes are looked at."""
    monkeypatch.setattr(tiny, "name", "flickr8k")
    assert resolve(scenes, "cmn", "ntxent", given={}).model_options["places"] == "boxes"
    assert "places" not in resolve(tiny, "cmn", "ntxent", given={}).model_options
    turned = features(2)
    turned[..., 7:11] = turned[..., 7:11].flip(-1)  # x1 before x0
    for wrong in (5 * features(2), -features(2), turned):
        with pytest.raises(ValueError, match="five numbers of a region"):
            made().encode_images(wrong)
    with pytest.raises(ValueError, match="8 regions"):
        made(places="cells").encode_images(features(2, 8))
    for option, value in (("mentions", 5), ("places", None), ("relation", "offset")):
        with pytest.raises(ValueError, match=option):
            made(**{option: value})

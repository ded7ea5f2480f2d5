"""Two towers and a matching head: one pair at a time in loops, padding, two stages by brute force, data to search."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn.functional import normalize
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

import icrlib
from icrlib import evaluation, metrics, models
from icrlib.models.base import Sequences
from icrlib.models.matching import TwoStage
from icrlib.models.vse_infty import VSEInfty
from icrlib.training.config import resolve

SMALL = dict(embed_dim=8, word_dim=6, batch_size=16, progress=False)
WORDS, LENGTHS = torch.randint(4, 30, (6, 9), generator=torch.Generator().manual_seed(0)), [5, 9, 3, 7, 3, 8]
LESS = {"objective": "con"}


@pytest.fixture(scope="module")
def trained(scenes):
    return icrlib.train(scenes, "matching", updates=12, evaluate_every=6, rerank=5, **SMALL)


def made(**options) -> TwoStage:
    torch.manual_seed(0)
    return TwoStage(12, 30, embed_dim=8, word_dim=6, **options).double().eval()


def features(images: int = 4, regions: int = 7) -> torch.Tensor:
    return torch.randn(images, regions, 12, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


def encoded(model: TwoStage, images: int = 4) -> tuple[Sequences, Sequences]:
    return model.encode_images(features(images)), model.encode_captions(WORDS, torch.tensor(LENGTHS))


def test_losses_are_the_released_ones(tiny, monkeypatch):
    """As released, with what the method publishes: captions of one image share its label (test_golden has values)."""
    monkeypatch.setattr(tiny, "name", "flickr30k")
    monkeypatch.setattr(tiny, "defaults", {})
    config = resolve(tiny, "matching", "ntxent", given={})
    assert (config.loss_options["tau"], config.loss_options["denominator"]) == (0.07, "candidates")
    assert (config.positives, config.learn_tau, config.objective, config.beta) == ("image", True, "dual", 1.0)
    assert (config.auxiliary, config.optimiser, config.weight_decay, config.rerank) == ("matching", "adamw", 0.01, None)
    # GOAL's drop-in: nothing is learned beside the matching, and other captions of an image are negatives
    config = resolve(tiny, "matching", "goal:cir x sig-ms", given={})
    assert (config.learn_tau, config.positives, config.auxiliary) == (False, "diagonal", "matching")


@pytest.mark.parametrize("pool", ["max", "mean", "gpo"])
def test_the_first_stage_is_that_of_pooled_states(pool):
    model = made(pool=pool)
    torch.manual_seed(0)
    plain = VSEInfty(12, 30, embed_dim=8, word_dim=6, pool=pool).double().eval()
    one = {name: value for name, value in model.state_dict().items() if not name.startswith("head.")}
    assert one.keys() == plain.state_dict().keys()
    assert all(torch.equal(value, plain.state_dict()[name]) for name, value in one.items()), "the towers draw first"
    images, captions = encoded(model)
    expected = plain(features(), WORDS, torch.tensor(LENGTHS))
    torch.testing.assert_close(model.similarity(images, captions), expected)
    torch.testing.assert_close(model.similarity_of_pairs(images, captions[:4]), expected[:, :4].diagonal())
    assert images.values.shape == (4, 8, 8) and captions.values.shape == (6, 10, 8)
    assert images.lengths.tolist() == [8] * 4 and captions.lengths.tolist() == [n + 1 for n in LENGTHS]


def one_pair(model: TwoStage, image: torch.Tensor, words: list[int]) -> torch.Tensor:
    """Logits of one image (N, D) and one caption, every attention written out."""
    packed = pack_padded_sequence(model.embed(torch.tensor([words])), torch.tensor([len(words)]), True)
    states = sum(pad_packed_sequence(model.gru(packed)[0], batch_first=True)[0].chunk(2, 2))[0] / 2
    rows = model.project(image) + model.mlp(image)
    head = model.head
    words = [head.of_words(row) for row in [normalize(states.amax(0), dim=0), *states]]
    regions = [head.of_regions(row) for row in [normalize(rows.amax(0), dim=0), *rows]]
    for block in head.blocks:
        first, second, third = block.norms
        x = [first(w + taken(block.words, w, words)) for w in words]
        x = [second(w + taken(block.regions, w, regions)) for w in x]
        words = [third(w + block.layers(w)) for w in x]
    return head.decide(words[0])


def taken(layer, asking: torch.Tensor, seen: list[torch.Tensor]) -> torch.Tensor:
    d, heads = len(asking), layer.heads
    size = d // heads
    q, parts = layer.query(asking), []
    keys = [layer.key_value(row)[:d] for row in seen]
    values = [layer.key_value(row)[d:] for row in seen]
    for h in range(heads):
        here = slice(h * size, (h + 1) * size)
        raised = [(sum(a * b for a, b in zip(q[here], key[here], strict=True)) / math.sqrt(size)).exp() for key in keys]
        parts.append(sum(r * value[here] for r, value in zip(raised, values, strict=True)) / sum(raised))
    return layer.out(torch.cat(parts))


@pytest.mark.parametrize("options", [{}, {"blocks": 1}, {"blocks": 3, "heads": 2}], ids=str)
def test_the_head_is_that_of_one_pair_at_a_time(options):
    """Logits and all gradients, those of the towers among them."""
    model = made(**options)
    images, captions = encoded(model)
    image, caption = torch.tensor([0, 3, 1, 1, 2]), torch.tensor([2, 0, 1, 5, 4])
    result = model.match(images[image], captions[caption])
    pairs = zip(image.tolist(), caption.tolist(), strict=True)
    expected = torch.stack([one_pair(model, features()[i], WORDS[c, : LENGTHS[c]].tolist()) for i, c in pairs])
    torch.testing.assert_close(result, expected)
    weights = torch.randn(result.shape, dtype=torch.float64)
    grads = [torch.autograd.grad((s * weights).sum(), list(model.parameters())) for s in (result, expected)]
    for one, other in zip(*grads, strict=True):
        torch.testing.assert_close(one, other)


def test_padding_is_neither_asked_nor_seen():
    model = made()
    images, captions = encoded(model)
    captions = captions[:4]
    junk = torch.full((4, 2, 8), 5.0).double()
    wider = [Sequences(torch.cat([part.values, junk], 1), part.lengths) for part in (images, captions)]
    wider[1].values[0, 6:10] = 3.0  # behind a caption's own end
    torch.testing.assert_close(model.match(*wider), model.match(images, captions))
    few = Sequences(wider[0].values, images.lengths - torch.tensor([0, 3, 0, 0]))
    alone = Sequences(images.values[1:2, :5], torch.tensor([5]))
    torch.testing.assert_close(model.match(few, captions)[1:2], model.match(alone, captions[1:2]))


def stages(model, split, top: int) -> tuple[dict, dict]:
    """Both stages in loops: measures of each side, and the ceiling."""
    images, captions = evaluation.embed(model, split)
    scores = model.similarity(images, captions).double()
    n, m = scores.shape
    logit = torch.zeros(n, m, dtype=torch.float64)
    for i in range(n):
        logit[i] = model.match(images[torch.tensor([i] * m)], captions)[:, 1].double()
    own = torch.zeros(n, m, dtype=torch.bool)
    own[split.image_of, torch.arange(m)] = True
    result, ceiling = {}, {}
    for side, (s, judged, right) in {"i2t": (scores, logit, own), "t2i": (scores.T, logit.T, own.T)}.items():
        final, inside = torch.full_like(s, -1e9), 0
        for q in range(len(s)):
            order = sorted(range(s.shape[1]), key=lambda c: -float(s[q, c]))
            first = sorted(order[:top], key=lambda c: -float(judged[q, c]))
            for place, candidate in enumerate([*first, *order[top:]]):
                final[q, candidate] = -place
            inside += any(right[q, c] for c in first)
        result[side] = metrics.from_scores(final, right)
        ceiling[side] = 100 * inside / len(s)
    return result, ceiling


@pytest.mark.parametrize("top", [1, 12, 500])
def test_two_stages_are_those_of_brute_force(trained, scenes, top, monkeypatch):
    """Of a trained model, in parts of few queries and few pairs at a time."""
    monkeypatch.setattr(evaluation, "PART", 4 * 100 * 7)
    monkeypatch.setattr(evaluation, "MATCHED", 13)
    with torch.no_grad():
        expected, ceiling = stages(trained.model, scenes.val, top)
    result = evaluation.rerank(trained.model, scenes.val, top=top)
    for side in ("i2t", "t2i"):
        assert result[side] == pytest.approx(expected[side])
        assert result["ceiling"][side] == pytest.approx(ceiling[side])
    assert result["rsum"] == pytest.approx(sum(result[s][k] for s in ("i2t", "t2i") for k in ("r1", "r5", "r10")))


def test_twins_are_judged_by_the_head(trained, scenes):
    result, split = evaluation.rerank(trained.model, scenes.test, top=3)["twins"], scenes.test
    images, captions = evaluation.embed(trained.model, split)
    caption, own, other, swap = split.twin_questions
    with torch.no_grad():
        right, wrong = (trained.model.match(images[i], captions[caption])[:, 1] for i in (own, other))
    assert result["swap"] == pytest.approx(100 * float((right > wrong)[swap].double().mean()))
    assert result["swap_n"] == int(swap.sum())
    assert result != evaluation.evaluate(trained.model, split).get("twins") != trained.record["test"]["twins"]


def test_both_stages_are_in_the_record(trained, scenes):
    record = trained.record
    assert record["chosen"]["val_rsum"] == max(entry["val"]["rsum"] for entry in record["history"])
    again = {s.name: evaluation.evaluate(trained.model, s, rerank=5) for s in (scenes.val, scenes.test)}
    assert record["test"]["rsum"] == pytest.approx(again["test"]["rsum"], abs=1e-3)
    val, test = (again[name]["reranked"] for name in ("val", "test"))
    assert record["chosen"]["val_reranked_rsum"] == pytest.approx(val["rsum"], abs=1e-3)
    noted = record["test"]["reranked"]
    assert noted["rsum"] == pytest.approx(test["rsum"], abs=1e-3) and noted["top"] == 5
    assert noted["ceiling"] == pytest.approx(test["ceiling"], abs=1e-3)
    assert "matching" in record["history"][-1] and "tau" in record["history"][-1]
    assert f"the first 5 reranked by the head: rsum {noted['rsum']:.1f}" in repr(trained)


def test_what_nobody_reranks_says_nothing_of_it(scenes, trained):
    config = resolve(scenes, "matching", "ntxent", given={})
    assert config.identity() != resolve(scenes, "matching", "ntxent", given={"rerank": 5}).identity()
    flat = {name: value for name, value in config.flat().items() if name != "rerank"}  # as a record of before has it
    assert icrlib.training.config.identity(flat) == config.identity()
    run = icrlib.train(scenes, "matching", updates=12, evaluate_every=6, **SMALL)
    assert "reranked" not in run.record["test"] and "val_reranked_rsum" not in run.record["chosen"]
    assert run.record["history"] == trained.record["history"], "the second stage changes nothing of the first"


@pytest.mark.parametrize("more", [{"loss": "triplet_sh"}, {"loss": "goal:con x con", "batches": "images"}])
def test_any_loss_on_scores_in_place_of_the_contrastive_term(scenes, more):
    run = icrlib.train(scenes, "matching", updates=3, evaluate_every=3, rerank=10, **more, **SMALL)
    assert math.isfinite(run.record["test"]["reranked"]["rsum"])
    assert 0.1 < run.record["history"][-1]["matching"] < 2


def test_who_cannot_rerank_is_told(scenes, trained):
    for given, message in (
        ({"method": "vse_infty"}, "VSE∞ has none"),
        ({"method": "vse_infty", "auxiliary": "matching", "rerank": None}, "matching head"),
        ({"method": "matching", **LESS}, "auxiliary='matching'"),
        ({"method": "matching", "rerank": 0}, "rerank"),
        ({"method": "matching", "negatives": "foils"}, "objective='con'"),
    ):
        with pytest.raises(ValueError, match=message):
            icrlib.train(scenes, updates=1, progress=False, **({"rerank": 5} | given))
    plain = models.build("vse_infty", 12, 30, embed_dim=8, word_dim=6)
    plain.vocabulary = trained.model.vocabulary
    with pytest.raises(ValueError, match="VSEInfty has none"):
        evaluation.rerank(plain, scenes.val)
    for option, value in (("blocks", 0), ("heads", 3), ("pool", "sum")):
        with pytest.raises(ValueError, match=option):
            made(**{option: value})

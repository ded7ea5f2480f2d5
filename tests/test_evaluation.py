"""A model and a split in, measures out: chunks, batch sizes and orders that must not matter; truth masks; folds."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

import icrlib
from icrlib import evaluation, metrics
from icrlib.data.splits import Split
from icrlib.models import VSE, BagOfWords
from icrlib.models.base import RetrievalModel

from .conftest import make_split


class Knowing(Split):
    """A split that knows more than the own pairs: every caption is also true of the next image."""

    @property
    def relevance(self):
        return (self.positives | self.positives.roll(1, 0)).T


class Exact(RetrievalModel):
    """Encodings are whole numbers, so scores are exact in any order of summing: no rounding decides over a rank."""

    def __init__(self, vocabulary) -> None:
        super().__init__()
        self.vocabulary = vocabulary
        made = torch.randint(-9, 10, (len(vocabulary), 12), generator=torch.Generator().manual_seed(0)).float()
        self.vectors = torch.nn.Parameter(made)

    def encode_images(self, features):
        return (16 * features).round()

    def encode_captions(self, words, lengths):
        place = torch.arange(1, words.shape[1] + 1) * (words > 0)
        return (place[:, :, None] * self.vectors[words]).sum(1)


@pytest.fixture
def exact(tiny):
    return Exact(tiny.vocabulary)


def uneven(split):
    """The same split with captions of one to four words, so that encoding by length changes their order."""
    texts = [" ".join(text.split()[: 1 + (5 * i) % 4]) for i, text in enumerate(split.captions)]
    return Split(split.name, split.features, texts, split.image_of, split.image_ids)


def by_hand(model, split, positives):
    """One matrix, captions one by one, no chunks: (N, C) mask in, the measures of both directions out."""
    model.eval()
    with torch.no_grad():
        images = model.encode_images(split.features)
        captions = torch.cat([model.encode_captions(*model.vocabulary.encode([c])) for c in split.captions])
    scores = images @ captions.T
    i2t, t2i = metrics.from_scores(scores, positives), metrics.from_scores(scores.T, positives.T)
    return {"i2t": i2t, "t2i": t2i, "rsum": sum(d[k] for d in (i2t, t2i) for k in ("r1", "r5", "r10"))}


def same(found, expected):
    assert found["rsum"] == pytest.approx(expected["rsum"])
    for side in ("i2t", "t2i"):
        assert found[side] == pytest.approx(expected[side])


def test_equals_one_matrix_by_hand_with_varying_numbers_of_captions(exact, tiny):
    split = uneven(make_split("test", 23, 5, fewest=1, most=7))
    assert len(set(torch.bincount(split.image_of).tolist())) > 3
    same(icrlib.evaluate(exact, split), by_hand(exact, split, split.positives))


@pytest.mark.parametrize("batch_size", [1, 7, 512])
def test_batch_sizes_do_not_matter(model, exact, tiny, batch_size):
    split = uneven(tiny.test)
    images, captions = evaluation.embed(model, split, batch_size)
    with torch.no_grad():
        alone = [model.encode_captions(*model.vocabulary.encode([text]))[0] for text in split.captions]
        torch.testing.assert_close(images, model.encode_images(split.features))
    torch.testing.assert_close(captions, torch.stack(alone))
    same(icrlib.evaluate(exact, split, batch_size=batch_size), icrlib.evaluate(exact, split))


@pytest.mark.parametrize("relevance", [False, True, "text"])
def test_scores_in_parts_equal_the_whole(exact, monkeypatch, relevance):
    """A split too large for one matrix is ranked part by part; rows must keep their own positives."""
    plain = uneven(make_split("test", 23, 5, fewest=1, most=7))
    split = Knowing("test", plain.features, plain.captions, plain.image_of, plain.image_ids)
    at_once = icrlib.evaluate(exact, split, relevance)
    monkeypatch.setattr(evaluation, "WHOLE", 0)
    monkeypatch.setattr(evaluation, "PART", 4 * 3 * len(split.captions))  # three queries, or a few more
    same(icrlib.evaluate(exact, split, relevance), at_once)


@pytest.mark.parametrize("at_once", [1, 5, 12, 1000])
def test_a_similarity_of_one_s_own_gets_so_many_scores_at_once(at_once):
    sizes = []

    def distances(images, captions):
        sizes.append(len(images) * len(captions))
        return -torch.cdist(images, captions)

    images, captions = torch.rand(6, 2), torch.rand(5, 2)
    found = evaluation.all_scores(images, captions, distances, at_once)
    torch.testing.assert_close(found, -torch.cdist(images, captions))
    assert max(sizes) <= at_once and sum(sizes) == 6 * 5


def test_relevance_widens_the_mask(exact, tiny):
    plain = make_split("test", 18, 4)
    knowing = Knowing("test", plain.features, plain.captions, plain.image_of, plain.image_ids)
    same(icrlib.evaluate(exact, knowing), by_hand(exact, plain, plain.positives))
    same(icrlib.evaluate(exact, knowing, relevance=True), by_hand(exact, plain, knowing.relevance.T))
    with pytest.raises(ValueError, match="'test' does not know which images a caption describes"):
        icrlib.evaluate(exact, plain, relevance=True)


def test_equal_texts_are_right_answers(exact):
    """A perfect model of labels that pictures share finds its own caption by chance, and the text always."""
    split = make_split("test", 18, 4, fewest=1, most=3)
    split.captions = [("A red  BOX", "a red box", "a star", "a ring", "two rings")[i % 5] for i in split.image_of]
    kind = (split.image_of % 5).clamp_min(1)
    mask = (torch.arange(18) % 5).clamp_min(1)[:, None] == kind
    same(icrlib.evaluate(exact, split, "text"), by_hand(exact, split, mask))
    vectors = torch.eye(4)[torch.tensor([0, 0, 1, 2, 3])]
    images, captions = vectors[torch.arange(18) % 5], vectors[split.image_of % 5]
    found = {r: evaluation.measure(images, captions, split, r) for r in ("own", "text")}
    assert found["text"]["t2i"]["r1"] == found["text"]["i2t"]["r1"] == 100 and found["own"]["t2i"]["r1"] == 0
    with pytest.raises(ValueError, match="relevance= is False .*; got 'texts'"):
        icrlib.evaluate(exact, split, "texts")


def test_folds_are_the_mean_of_five_parts(exact):
    split = make_split("test", 40, 6, fewest=1, most=4)
    assert "folds_1k" not in icrlib.evaluate(exact, split)
    split.folds = 5
    found = icrlib.evaluate(exact, split)
    parts = []
    for start in range(0, 40, 8):
        inside = (split.image_of >= start) & (split.image_of < start + 8)
        captions = [c for c, ok in zip(split.captions, inside.tolist(), strict=True) if ok]
        features, own = split.features[start : start + 8], split.image_of[inside] - start
        part = Split("part", features, captions, own, list("abcdefgh"))
        parts.append(by_hand(exact, part, part.positives))
    mean = {side: {k: sum(p[side][k] for p in parts) / 5 for k in metrics.KEYS} for side in ("i2t", "t2i")}
    same(found["folds_1k"], mean | {"rsum": sum(p["rsum"] for p in parts) / 5})
    split.folds = 1
    same(found, icrlib.evaluate(exact, split))  # the whole is reported beside the folds


def test_half_precision_features_are_cast(exact, tiny):
    half = replace(tiny.test, features=tiny.test.features.half())
    same(icrlib.evaluate(exact, half), icrlib.evaluate(exact, replace(half, features=half.features.float())))


@pytest.mark.parametrize("training", [True, False])
def test_the_model_is_left_as_it_was_and_dropout_is_off(tiny, training):
    class Noisy(BagOfWords):
        def encode_images(self, features):
            return super().encode_images(torch.nn.functional.dropout(features, 0.5, self.training))

    noisy = Noisy(12, len(tiny.vocabulary), embed_dim=8).train(training)
    noisy.vocabulary = tiny.vocabulary
    before = {name: value.clone() for name, value in noisy.state_dict().items()}
    first, second = (evaluation.embed(noisy, tiny.test)[0] for _ in range(2))
    assert torch.equal(first, second) and noisy.training is training
    assert all(torch.equal(value, before[name]) for name, value in noisy.state_dict().items())
    assert all(p.grad is None for p in noisy.parameters())


def test_what_cannot_be_ranked_is_refused(tiny):
    split, captions = make_split("test", 2, 0), torch.ones(8, 3)
    captions[2, 1] = torch.nan
    with pytest.raises(ValueError, match=r"scores\[0, 2\]"):
        evaluation.measure(torch.ones(2, 3), captions[: len(split.captions)], split)
    with pytest.raises(ValueError, match="query 0"):
        evaluation.measure(torch.ones(1, 3), torch.ones(2, 3), make_split("test", 1, 0, fewest=2, most=2))
    with pytest.raises(ValueError, match="vocabulary"):
        icrlib.evaluate(VSE(12, 20, 8, 4), tiny.test)

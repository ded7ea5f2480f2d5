"""The bag of words: order cannot matter, padding does not count; with pairs, which runs of words it knows."""

from __future__ import annotations

import collections

import pytest
import torch

import icrlib
from icrlib import models
from icrlib.data.text import Vocabulary, tokenize
from icrlib.training.config import resolve

CAPTIONS = ["a red disc left of a disc"] * 3 + ["a disc left of a red square", "a red disc"]


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    return models.build("bow", feature_dim=10, words=30, embed_dim=8).double()


def test_captions_by_hand(model):
    """Padding does not count, however much of it there is."""
    words = torch.tensor([[1, 5, 6, 5, 2, 0, 0], [1, 9, 2, 0, 0, 0, 0], [1, 5, 5, 6, 2, 0, 0]])
    lengths = torch.tensor([5, 3, 5])
    expected = torch.stack([model.bag.weight[row[row > 0]].mean(0) for row in words])
    for given in (words, words[:, :5], torch.nn.functional.pad(words, (0, 6))):
        result = model.encode_captions(given, lengths)
        torch.testing.assert_close(result, torch.nn.functional.normalize(expected, dim=1))
        torch.testing.assert_close(result[0], result[2], atol=1e-12, rtol=0, msg="the order of words counts")


def test_images_as_in_vse(model):
    vse = models.VSE(feature_dim=10, words=5, embed_dim=8).double()
    vse.project.load_state_dict(model.project.state_dict())
    features = torch.rand(3, 10, dtype=torch.float64)
    assert torch.equal(model.encode_images(features), vse.encode_images(features))


@pytest.fixture(scope="module")
def drawn():
    return icrlib.load_dataset("scenes", seed=1, train=60, val=20, test=20, progress=False)


@pytest.fixture(scope="module")
def run(drawn):
    return icrlib.train(drawn, "bow", ngrams=2, updates=3, embed_dim=8, progress=False)


def test_runs_are_counted_in_the_training_captions_as_words_are(drawn):
    result = drawn.vocabulary.with_runs(drawn.train.captions, 3)
    counts = collections.Counter()
    for caption in drawn.train.captions:
        words = tokenize(caption)
        for n in (2, 3):
            counts.update(" ".join(words[i : i + n]) for i in range(len(words) - n + 1))
    wanted = {run for run, n in counts.items() if n >= 4}
    assert result.words[: len(drawn.vocabulary)] == drawn.vocabulary.words
    assert set(result.words[len(drawn.vocabulary) :]) == wanted and result.longest == 3
    assert any(n == 3 for n in counts.values()), "no run at the threshold"


def test_a_caption_has_its_words_and_its_known_runs():
    vocabulary = Vocabulary.build(CAPTIONS, min_count=2).with_runs(CAPTIONS, 2, min_count=4)
    numbers, lengths = vocabulary.encode(["a disc left of a square", "a red disc"])
    first, second = ([vocabulary.words[n] for n in row[:k]] for row, k in zip(numbers, lengths, strict=True))
    words = "<start>, a, disc, left, of, a, <unk>, a disc, disc left, left of, of a, <end>"
    assert first == words.split(", ")
    assert second == ["<start>", "a", "red", "disc", "a red", "red disc", "<end>"]
    assert not numbers[1, lengths[1] :].any()


def test_an_exchanged_attribute_is_another_bag(drawn, run):
    """The point of the control: it changes which words are neighbours, and nothing else."""
    swapped = ["a red circle left of a blue square", "a blue circle left of a red square"]
    one, other = run.model.encode_captions(*run.model.vocabulary.encode(swapped))
    assert (one - other).abs().max() > 1e-3
    plain = icrlib.train(drawn, "bow", updates=3, embed_dim=8, progress=False).model
    torch.testing.assert_close(*plain.encode_captions(*plain.vocabulary.encode(swapped)))


def test_it_is_saved_and_read_with_its_runs(drawn, run, tmp_path):
    again = icrlib.load_model(run.save(tmp_path))
    words, lengths = again.vocabulary.encode(drawn.test.captions)
    assert again.vocabulary.words == run.model.vocabulary.words and len(again.vocabulary) == again.bag.num_embeddings
    torch.testing.assert_close(again.encode_captions(words, lengths), run.model.eval().encode_captions(words, lengths))


def test_word_order_does_not_ask_a_bag_of_runs_and_a_decoder_writes_its_runs(drawn, run):
    """Numbers of runs would only be moved, so that any bag of pairs would seem to know no order."""
    assert icrlib.evaluation.word_order(run.model, drawn.test)["n"] == 0
    made = icrlib.train(drawn, "bow", ngrams=2, auxiliary="tokens", objective="dual", updates=2, progress=False)
    assert made.history


def test_one_is_the_bag_of_words_as_it_was(drawn):
    plain, one, two = (resolve(drawn, "bow", "ntxent", given=given) for given in ({}, {"ngrams": 1}, {"ngrams": 2}))
    assert one.identity() == plain.identity() != two.identity()
    assert one.model_options == plain.model_options and two.model_options["ngrams"] == 2
    for method, ngrams in (("bow", 0), ("vse++", 2)):
        with pytest.raises(ValueError, match="ngrams"):
            resolve(drawn, method, "ntxent", given={"ngrams": ngrams})

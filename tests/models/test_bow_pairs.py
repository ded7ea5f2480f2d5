"""A bag of words with pairs: which runs of words it knows, what a caption is made of, and what stays as it was."""

from __future__ import annotations

import collections

import pytest
import torch

import icrlib
from icrlib.data.text import Vocabulary, tokenize
from icrlib.names import label
from icrlib.training.config import resolve

CAPTIONS = ["a red disc left of a disc"] * 3 + ["a disc left of a red square", "a red disc"]


@pytest.fixture(scope="module")
def drawn():
    return icrlib.load_dataset("scenes", seed=1, train=60, val=20, test=20, progress=False)


def test_runs_are_counted_in_the_training_captions_as_words_are(drawn):
    found = drawn.vocabulary.with_runs(drawn.train.captions, 3)
    counts = collections.Counter()
    for caption in drawn.train.captions:
        words = tokenize(caption)
        for n in (2, 3):
            counts.update(" ".join(words[i : i + n]) for i in range(len(words) - n + 1))
    wanted = {run for run, n in counts.items() if n >= 4}
    assert found.words[: len(drawn.vocabulary)] == drawn.vocabulary.words
    assert set(found.words[len(drawn.vocabulary) :]) == wanted and found.longest == 3
    assert any(n == 3 for n in counts.values()), "no run at the threshold"


def test_a_caption_has_its_words_and_its_known_runs():
    vocabulary = Vocabulary.build(CAPTIONS, min_count=2).with_runs(CAPTIONS, 2, min_count=4)
    numbers, lengths = vocabulary.encode(["a disc left of a square", "a red disc"])
    told = [[vocabulary.words[n] for n in row[:length]] for row, length in zip(numbers, lengths, strict=True)]
    assert told[0] == [
        "<start>",
        "a",
        "disc",
        "left",
        "of",
        "a",
        "<unk>",
        "a disc",
        "disc left",
        "left of",
        "of a",
        "<end>",
    ]
    assert told[1] == ["<start>", "a", "red", "disc", "a red", "red disc", "<end>"]
    assert not numbers[1, lengths[1] :].any()


def test_its_caption_is_the_mean_of_all_of_them(drawn):
    run = icrlib.train(drawn, "bow", ngrams=2, updates=3, embed_dim=8, progress=False)
    words, lengths = run.model.vocabulary.encode(drawn.test.captions[:5])
    table = run.model.bag.weight.detach()
    slow = [table[row[:length]].mean(0) for row, length in zip(words, lengths, strict=True)]
    expected = torch.stack([one / one.norm() for one in slow])
    torch.testing.assert_close(run.model.encode_captions(words, lengths).detach(), expected)


def test_an_exchanged_attribute_is_another_bag(drawn):
    """The point of the control: it changes which words are neighbours, and nothing else."""
    run = icrlib.train(drawn, "bow", ngrams=2, updates=3, embed_dim=8, progress=False)

    def vector(caption):
        return run.model.encode_captions(*run.model.vocabulary.encode([caption]))[0]

    one, other = "a red circle left of a blue square", "a blue circle left of a red square"
    assert (vector(one) - vector(other)).abs().max() > 1e-3
    plain = icrlib.train(drawn, "bow", updates=3, embed_dim=8, progress=False).model
    told = [plain.encode_captions(*plain.vocabulary.encode([caption])) for caption in (one, other)]
    torch.testing.assert_close(*told)


def test_it_is_saved_and_read_with_its_runs(drawn, tmp_path):
    run = icrlib.train(drawn, "bow", ngrams=2, updates=3, embed_dim=8, progress=False)
    run.save(tmp_path)
    again = icrlib.load_model(tmp_path)
    words, lengths = again.vocabulary.encode(drawn.test.captions)
    assert again.vocabulary == run.model.vocabulary and len(again.vocabulary) == again.bag.num_embeddings
    torch.testing.assert_close(again.encode_captions(words, lengths), run.model.eval().encode_captions(words, lengths))


def test_one_is_the_bag_of_words_as_it_was(drawn):
    plain, one, two = (resolve(drawn, "bow", "ntxent", given=given) for given in ({}, {"ngrams": 1}, {"ngrams": 2}))
    assert one.identity() == plain.identity() != two.identity()
    assert one.model_options == plain.model_options and two.model_options["ngrams"] == 2
    given = [
        icrlib.train(drawn, "bow", updates=2, progress=False, **more).record["test"] for more in ({}, {"ngrams": 1})
    ]
    assert given[0] == given[1]
    with pytest.raises(ValueError, match="ngrams"):
        resolve(drawn, "bow", "ntxent", given={"ngrams": 0})
    with pytest.raises(ValueError, match="ngrams"):
        resolve(drawn, "vse++", "ntxent", given={"ngrams": 2})


def test_its_names():
    names = [label("bow", **({"ngrams": n} if n else {})) for n in (0, 1, 2, 3, 5)]
    assert names[0] == names[1] == "bag of words"
    assert names[2:] == ["bag of words, pairs", "bag of words, pairs and triples", "bag of words, runs of up to 5"]

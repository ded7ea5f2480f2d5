"""Does the order of words count? The measure against a slow twin, on models whose answer is known."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch

import icrlib
from icrlib import evaluation
from icrlib.data.text import Words
from icrlib.models import BagOfWords, RetrievalModel

from .conftest import make_split, make_tiny


class FirstWord(RetrievalModel):
    """A caption is its first word, an image the place of its largest feature: reads order, and nothing else."""

    def __init__(self, vocabulary) -> None:
        super().__init__()
        self.options, self.words, self.vocabulary = {}, len(vocabulary), vocabulary
        self.anchor = torch.nn.Parameter(torch.zeros(1))

    def encode_images(self, features):
        return torch.nn.functional.one_hot(features.argmax(1), self.words).float()

    def encode_captions(self, words, lengths):
        return torch.nn.functional.one_hot(words[:, 1], self.words).float()


def test_a_bag_of_words_has_fifty(tiny):
    torch.manual_seed(0)
    model = BagOfWords(12, len(tiny.vocabulary), embed_dim=8)
    model.vocabulary = tiny.vocabulary
    found = evaluation.word_order(model, tiny.test)
    assert (found["own"], found["other"], found["gain"]) == (50, 50, 0) and found["n"] == len(tiny.test.captions)


def test_against_a_slow_twin(tiny):
    """Every caption and every picture by itself; ties count half. The largest feature of an image is the number of the
    first word of its first caption."""
    split, model = make_split("test", 30, 5), FirstWord(tiny.vocabulary)
    words, lengths = tiny.vocabulary.encode(split.captions)
    first = [int((split.image_of == row).nonzero()[0]) for row in range(30)]
    split.features = torch.nn.functional.one_hot(words[first, 1], model.words).float()
    found = evaluation.word_order(model, split, seed=3)
    dice = np.random.default_rng([3, len(split.captions)])
    turned, kept = evaluation.reordered(model.vocabulary.numbers(split.captions), dice)
    turned = turned[torch.arange(len(words))]
    kept = kept[torch.from_numpy(dice.permutation(len(kept)))]
    jumps = dice.integers(1, len(split), len(kept))
    wins = {"own": [], "other": []}
    for caption, jump in zip(kept.tolist(), jumps, strict=True):
        own = int(split.image_of[caption])
        for name, image in (("own", own), ("other", (own + int(jump)) % len(split))):
            picture = model.encode_images(split.features[image : image + 1])[0]
            caption_vector, mixed = (
                model.encode_captions(w[caption : caption + 1], lengths[caption : caption + 1])[0]
                for w in (words, turned)
            )
            gap = float(picture @ caption_vector - picture @ mixed)
            wins[name].append(0.5 if abs(gap) <= 1e-6 else float(gap > 0))
    assert found["own"] == pytest.approx(100 * np.mean(wins["own"]))
    assert found["other"] == pytest.approx(100 * np.mean(wins["other"]))
    assert found["own"] > 60 and found["gain"] == pytest.approx(found["own"] - found["other"])


def test_a_liking_for_captions_is_no_reading(tiny):
    """A model that likes every caption in its own order, whatever the picture, has own = other, and no gain."""

    class Fond(FirstWord):
        def encode_images(self, features):
            return torch.ones(len(features), 2)

        def encode_captions(self, words, lengths):
            known = {tuple(row) for row in self.vocabulary.encode(tiny.test.captions)[0].tolist()}
            return torch.tensor([[float(tuple(row) in known), 0.0] for row in words.tolist()])

    found = evaluation.word_order(Fond(tiny.vocabulary), tiny.test)
    assert found["own"] == found["other"] > 85 and found["gain"] == 0


def test_reordered_captions_hold_the_same_words(tiny):
    words, lengths = tiny.vocabulary.encode([*tiny.test.captions, "red", "red red", "red green"])
    turned, kept = evaluation.reordered(Words(words[words > 0], lengths), np.random.default_rng(0))
    turned = turned[torch.arange(len(words))]
    for old, new, length in zip(words.tolist(), turned.tolist(), lengths.tolist(), strict=True):
        assert Counter(old) == Counter(new) and new[0] == 1 and new[length - 1] == 2 and not any(new[length:])
    assert set(range(len(words))) - set(kept.tolist()) == {len(words) - 3, len(words) - 2}  # one word, or one twice


def test_captions_without_two_different_words_are_no_end_of_a_training():
    """Tags: there is no other order to ask about, on any evaluation, with a model that reads words one by one."""
    tiny = make_tiny()
    for split in (tiny.val, tiny.test):
        split.captions = [caption.split()[0] for caption in split.captions]
    run = icrlib.train(tiny, method="vse++", embed_dim=8, word_dim=8, epochs=1, batch_size=8, progress=False)
    nothing = {"own": None, "other": None, "gain": None, "n": 0}
    assert run.record["test"]["order"] == run.record["history"][0]["order"] == nothing
    assert evaluation.word_order(run.model.train(), tiny.test) == nothing and run.model.training

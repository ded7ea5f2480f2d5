"""What `icr data check` says about captions: words known, texts that photos share, scripts without spaces."""

from __future__ import annotations

from collections import Counter

import pytest

from icrlib.data import captions
from icrlib.data.precomputed import dataset

from ..conftest import make_split


def test_share_of_known_words():
    training = Counter(a=4, dog=4, cat=3)
    assert captions.known(captions.words_of(["a dog", "a cat"]), training) == 75
    assert captions.known(captions.words_of([]), training) is None


def test_texts_that_photos_share():
    """The same words are the same text; twice at one photo is not shared."""
    assert captions.shared([["A dog.", "a cat"], ["a dog ."], ["a cow", "a cow"]]) == (1, 2)


def test_notes():
    notes = captions.notes_on({"train": [["a dog"]] * 4, "val": [["a dog runs"], ["two dogs"]], "test": []})
    assert [line.split(" %")[0] for line in notes if "known" in line] == ["train: 100.0", "val: 40.0"]
    assert "train: 1 texts stand with several photos each (4 captions)" in notes[1] and len(notes) == 3
    notes = captions.notes_on({"train": [["一只狗"], ["犬が"]], "val": [["หมา"]]})
    assert any("Han, Hiragana, Thai" in line for line in notes) and any("min_count" in line for line in notes)


def test_a_vocabulary_without_words_says_what_helps():
    splits = {name: make_split(name, 2, 1) for name in ("train", "val", "test")}
    splits["train"].captions = ["red dog", "red cat"]
    with pytest.raises(ValueError, match="no word occurs 4 times .*'red' comes most often, 2 times"):
        dataset("own", splits, [], {"vocabulary": "train", "min_count": 4})

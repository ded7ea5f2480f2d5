"""What `icr data check` says about captions: words known, texts that come again, letters and scripts."""

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


@pytest.mark.parametrize(
    ("splits", "notes"),
    [
        (
            {"train": [["a dog"]] * 4, "val": [["a dog runs"], ["two dogs"]], "test": []},
            ["train: 100.0 %", "train: 1 texts stand with several photos each (4 captions)", "val: 40.0 %"],
        ),
        ({"train": [["a"]], "val": [["x"]]}, ["lower min_count", "lower min_count"]),
        ({"train": [["a dog"]], "val": [["A  dog", "a cow"]]}, ["%", "%", "val: 1 of 2 captions stand in training"]),
        ({"train": [["一只狗"], ["犬が"]], "val": [["หมา"]]}, ["%", "%", "between words: Han, Hiragana, Thai;"]),
        ({"train": [["a dog, \u0430 d\u03bfg"]]}, ["%", "2 words have letters that only look like .*'\u0430' for 'a'"]),
        ({"train": [["\u0430 \u0441\u043e\u043d"]]}, ["%"]),  # Russian, and nothing else beside it
    ],
)
def test_notes(splits, notes):
    found = captions.notes_on(splits)
    assert len(found) == len(notes)
    for note in notes:
        assert any(all(part in line for part in note.split(" .*")) for line in found), (note, found)


def test_a_vocabulary_without_words_says_what_helps():
    splits = {name: make_split(name, 2, 1) for name in ("train", "val", "test")}
    splits["train"].captions = ["red dog", "red cat"]
    with pytest.raises(ValueError, match="no word occurs 4 times .*'red' comes most often, 2 times"):
        dataset("own", splits, [], {"vocabulary": "train", "min_count": 4})

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


def test_what_is_told():
    assert captions.told({"train": [["a dog"]] * 4, "val": [["a dog runs"], ["two dogs"]], "test": []}) == [
        "train: 100.0 % of the words are known (4 times or more in the training captions)",
        "train: 1 texts stand with several photos each (4 captions); a search cannot tell these photos apart",
        "val: 40.0 % of the words are known (4 times or more in the training captions)",
    ]
    found = captions.told({"train": [["一只狗"], ["犬が"]], "val": [["หมา"]]})
    assert "scripts without spaces between words: Han, Hiragana, Thai; each character counts as a word" in found
    assert "val: no word is one that training captions have 4 times; lower min_count, or add captions" in found


@pytest.mark.parametrize(
    ("texts", "way"),
    [
        (["red dog", "red cat"], "'red' comes most often, 2 times; take min_count=2 or less, or more captions"),
        (["reddog", "redcat"], "each word comes once, as 'reddog' does: are words separated by spaces"),
    ],
)
def test_a_refusal_advises_what_helps(texts, way):
    splits = {name: make_split(name, 2, 1) for name in ("train", "val", "test")}
    splits["train"].captions = texts
    with pytest.raises(ValueError, match=f"no word occurs 4 times .*{way}"):
        dataset("own", splits, [], {"vocabulary": "train", "min_count": 4})

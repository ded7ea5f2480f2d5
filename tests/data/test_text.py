"""Tokenizer and vocabulary: what counts as a word, and the numbers."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from pathlib import Path

import pytest
import torch

import icrlib
from icrlib.data.text import SPECIAL, Vocabulary, plain, tokenize

# dataset_flickr8k.json.gz, where somebody says where it is: its captions may not be passed on.
FLICKR8K = Path(os.environ.get("ICR_FLICKR8K", "none"))
CAPTIONS = ["A dog runs .", "a dog sleeps", "A DOG barks", "the dog, a cat", "a cat"]


@pytest.mark.parametrize(
    ("caption", "words"),
    [
        ("A Dog runs.", ["a", "dog", "runs", "."]),
        ("two men, one dog", ["two", "men", ",", "one", "dog"]),
        ("the man's t-shirt", ["the", "man", "'s", "t-shirt"]),
        ("a man isn't here", ["a", "man", "is", "n't", "here"]),
        ("A man stands. He waves.", ["a", "man", "stands.", "he", "waves", "."]),  # the inner stop stays glued
        ("a café\tin   Zürich", ["a", "café", "in", "zürich"]),
        ("   ", []),
        ("the man\u2019s t\u2011shirt", ["the", "man", "'s", "t-shirt"]),  # as a phone writes it
        ("a man isn\u2019t \u201chere\u201d", ["a", "man", "is", "n't", "``", "here", "''"]),
        ("black\u2013and\u2014white", ["black-and-white"]),
        ("a cafe\u0301 and a \ufb01sh", ["a", "café", "and", "a", "fish"]),
        ("two\u00adfold \uff24\uff2f\uff27", ["twofold", "dog"]),
        ("一只狗。", ["一", "只", "狗", "。"]),
        ("犬がボール。a dog", ["犬", "が", "ボ", "ー", "ル", "。", "a", "dog"]),
        ("หมาน้ำ", ["ห", "ม", "า", "น้ํ", "า"]),  # a tone stands on its letter
        ("개가 달린다", ["개가", "달린다"]),  # Korean has spaces
    ],
)
def test_tokenize(caption, words):
    assert tokenize(caption) == words


def test_the_normalisation_never_leads_away_from_ascii():
    every = "".join(map(chr, range(128)))
    assert plain(every) == every
    for text in ("it\u2019s", "a\u2013b", "\ufb01", "\u2026", "\uff21"):
        assert plain(text).isascii() and plain(plain(text)) == plain(text)


def hashed(captions):
    """What all words of all captions are, in order."""
    return hashlib.sha256("".join(f"{' '.join(tokenize(caption))}\n" for caption in captions).encode()).hexdigest()


@pytest.mark.slow
@pytest.mark.skipif(not FLICKR8K.is_file(), reason="the captions of Flickr8k are not here")
def test_the_words_of_flickr8k_stay_the_same():
    images = json.loads(gzip.decompress(FLICKR8K.read_bytes()))["images"]
    found = hashed(sentence["raw"] for image in images for sentence in image["sentences"])
    assert found == "8593ab47c2a1eee36400090cd6d9cbf09b8c081667eabcc61ec4c8319da06822"


@pytest.mark.parametrize(
    ("name", "digest"),
    [
        ("scenes", "2de7c2e00cf0b5d657d1283de7cbceeb20e5b723c13b6b6d394acd4867492294"),
        ("stamps", "802ea657e988527923d2cff0bce3854aba89f2d11f0ce532497db493e9c0f365"),
    ],
)
def test_the_words_of_drawn_data_stay_the_same(name, digest):
    data = icrlib.load_dataset(name, smoke=True)
    assert hashed(text for split in (data.train, data.val, data.test) for text in split.captions) == digest


def test_special_words_then_words_in_order_of_first_sight():
    vocabulary = Vocabulary.build(CAPTIONS, min_count=2)
    assert vocabulary.words == ["<pad>", "<start>", "<end>", "<unk>", "a", "dog", "cat"]
    assert [vocabulary.number[word] for word in SPECIAL] == [0, 1, 2, 3] and len(vocabulary) == 7
    assert Vocabulary.build(["one two"] * 3 + ["one"]).words[4:] == ["one"]  # a word counts from four
    assert Vocabulary.build(["<pad> <end> a"] * 4).words.count("<pad>") == 1  # no caption brings a second one


def test_what_a_caller_does_with_the_words_of_a_caption_stays_with_the_caller():
    tokenize("a red ring.").append("more")
    assert tokenize("a red ring.") == ["a", "red", "ring", "."]


def test_encode():
    vocabulary = Vocabulary.build(CAPTIONS, min_count=2)
    words, lengths = vocabulary.encode(["a dog", "The dog sees a CAT ."])
    assert words.dtype == lengths.dtype == torch.int64
    assert words.tolist() == [[1, 4, 5, 2, 0, 0, 0, 0], [1, 3, 5, 3, 4, 6, 3, 2]]
    assert lengths.tolist() == [4, 8]
    none, empty = vocabulary.encode([])
    assert none.shape == (0, 0) and empty.shape == (0,)
    with pytest.raises(ValueError, match="caption 1 is empty"):
        vocabulary.encode(["a dog", "\t"])


@pytest.mark.parametrize(
    "words", [[], {}, SPECIAL[:3], ["a", "b"], [*SPECIAL, "a", "a"], [*SPECIAL, 7], [*SPECIAL, "<pad>"]]
)
def test_what_is_no_vocabulary_is_refused(words):
    with pytest.raises(ValueError, match="a vocabulary is a list"):
        Vocabulary(words)


def test_one_long_caption_makes_no_wide_table_for_all():
    """As many numbers as words; a batch is as wide as its own longest, with what the padded table has."""
    vocabulary = Vocabulary.build(CAPTIONS, 1)
    captions = [*CAPTIONS, "a dog " * 1000]
    words, (padded, lengths) = vocabulary.numbers(captions), vocabulary.encode(captions)
    assert words.numbers.numel() == int(lengths.sum()) and words.width == padded.shape[1] == 2002
    rows = torch.tensor([3, 0, 3])
    assert words[rows].tolist() == padded[rows, : int(lengths[rows].max())].tolist()
    assert words[rows[:0]].shape == (0, 0)

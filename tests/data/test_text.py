"""Tokenizer and vocabulary: what counts as a word, the numbers, JSON only."""

from __future__ import annotations

import json
import pickle

import pytest
import torch

from icrlib.data.text import SPECIAL, Vocabulary, tokenize

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
    ],
)
def test_tokenize(caption, words):
    assert tokenize(caption) == words


def test_special_words_then_words_in_order_of_first_sight():
    vocabulary = Vocabulary.build(CAPTIONS, min_count=2)
    assert vocabulary.words == ["<pad>", "<start>", "<end>", "<unk>", "a", "dog", "cat"]
    assert [vocabulary.number[word] for word in SPECIAL] == [0, 1, 2, 3] and len(vocabulary) == 7


def test_a_word_counts_from_four():
    vocabulary = Vocabulary.build(["one two"] * 3 + ["one"])
    assert vocabulary.words[4:] == ["one"]
    assert Vocabulary.build(["one two"] * 3 + ["one"], min_count=3).words[4:] == ["one", "two"]


def test_a_caption_cannot_bring_its_own_special_words():
    """NLTK splits the brackets off; were it to stop, a caption still could not add a second <pad>."""
    assert Vocabulary.build(["<pad> <end> a"] * 4).words.count("<pad>") == 1
    assert 0 not in Vocabulary.build(["<pad> a"] * 4).encode(["<pad> a"])[0][0].tolist()


def test_encode():
    vocabulary = Vocabulary.build(CAPTIONS, min_count=2)
    words, lengths = vocabulary.encode(["a dog", "The dog sees a CAT ."])
    assert words.dtype == lengths.dtype == torch.int64
    assert words.tolist() == [[1, 4, 5, 2, 0, 0, 0, 0], [1, 3, 5, 3, 4, 6, 3, 2]]
    assert lengths.tolist() == [4, 8]
    none, empty = vocabulary.encode([])
    assert none.shape == (0, 0) and empty.shape == (0,)


@pytest.mark.parametrize("caption", ["", "  ", "\t"])
def test_an_empty_caption_is_named(caption):
    with pytest.raises(ValueError, match="caption 1 is empty .*every caption needs a word"):
        Vocabulary.build(CAPTIONS, 1).encode(["a dog", caption])


def test_json_round_trip(tmp_path):
    vocabulary = Vocabulary.build([*CAPTIONS, 'a "café"'], 1)
    vocabulary.save(tmp_path / "vocabulary.json")
    assert Vocabulary.load(tmp_path / "vocabulary.json") == vocabulary
    assert json.loads((tmp_path / "vocabulary.json").read_text(encoding="utf-8")) == vocabulary.words
    assert [path.name for path in tmp_path.iterdir()] == ["vocabulary.json"]
    assert vocabulary != Vocabulary.build(CAPTIONS, 1) and vocabulary != vocabulary.words


def test_a_byte_order_mark_is_no_word_and_half_a_character_none_either(tmp_path):
    path, words = tmp_path / "vocabulary.json", [*SPECIAL, "dog"]
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(words).encode())
    assert Vocabulary.load(path).words == words
    path.write_text(json.dumps([*words, "\ud800"]))
    with pytest.raises(ValueError, match="vocabulary.json: not a vocabulary in JSON"):
        Vocabulary.load(path)


def test_a_missing_vocabulary(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no vocabulary here; Vocabulary.build"):
        Vocabulary.load(tmp_path / "vocabulary.json")


class Trap:
    """Writes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


def test_a_pickle_is_never_opened(tmp_path):
    (tmp_path / "vocabulary.pkl").write_bytes(pickle.dumps([*SPECIAL, Trap(tmp_path / "sprung")]))
    with pytest.raises(ValueError, match="vocabulary.pkl: not a vocabulary in JSON .*build it again"):
        Vocabulary.load(tmp_path / "vocabulary.pkl")
    assert not (tmp_path / "sprung").exists()


START = '["<pad>", "<start>", "<end>", "<unk>"'
BROKEN = ["", START, "{}", '{"a": 1}', "3", "null", '["a", "b"]', '"text"']
BROKEN += [f"{START}, {more}]" for more in ('"a", "a"', "7", '["a"]', "null", '"<pad>"')]


@pytest.mark.parametrize("content", BROKEN)
def test_broken_json_is_refused(tmp_path, content):
    (tmp_path / "vocabulary.json").write_text(content)
    with pytest.raises(ValueError, match="vocabulary.json: not a vocabulary in JSON"):
        Vocabulary.load(tmp_path / "vocabulary.json")


def test_what_a_caller_does_with_the_words_of_a_caption_stays_with_the_caller():
    tokenize("a red ring.").append("more")
    assert tokenize("a red ring.") == ["a", "red", "ring", "."]

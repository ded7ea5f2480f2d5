"""From captions to word numbers: the tokenizer and the vocabulary."""

from __future__ import annotations

import sys
import unicodedata
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import regex  # knows scripts, which Python's own re does not; nltk brings it
import torch

from icrlib.errors import at_least

PAD, START, END, UNKNOWN = "<pad>", "<start>", "<end>", "<unk>"
SPECIAL = (PAD, START, END, UNKNOWN)

# How word processors and phones write what a keyboard has: quotes, hyphens and dashes, and marks that nobody sees.
SINGLE, DOUBLE = "\u2018\u2019\u201a\u201b\u2032\u00b4\u02bc", "\u201c\u201d\u201e\u201f\u2033"
DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58"
UNSEEN = "\u00ad\u2060\ufeff"  # soft hyphen, word joiner, byte order mark; U+200B stands between words
# Scripts that put no space between words, and the marks that several of these share, such as the one of long vowels.
# A character is a word there, with the vowels and tones that stand on it.
SPACELESS = ("Han", "Hiragana", "Katakana", "Bopomofo", "Yi", "Thai", "Lao", "Khmer", "Myanmar", "Tibetan", "Tai_Tham")
SHARED = "\u3001-\u303f\u30fb\u30fc"
ONE = regex.compile("[" + "".join(rf"\p{{Script={name}}}" for name in SPACELESS) + rf"{SHARED}]\p{{M}}*")
ASCII = str.maketrans(
    dict.fromkeys(SINGLE, "'")
    | dict.fromkeys(DOUBLE, '"')
    | dict.fromkeys(DASHES, "-")
    | dict.fromkeys(UNSEEN, "")
    | {"\u200b": " "}
)


def tokenize(caption: str) -> list[str]:
    """Lower-cased words and punctuation marks of one caption.

    NLTK's Treebank rules with ``preserve_line``, which need no downloaded sentence model. A full stop inside
    a caption stays glued to its word, where the released code split sentences first; that touches about
    29 of Flickr8k's 40,000 captions. What is not ASCII is made :func:`plain` first; in scripts without spaces
    (:data:`SPACELESS`) a character is a word.
    """
    return list(_tokens(caption))


@lru_cache(1 << 16)  # captions come again, and the rules' two dozen patterns cost more than a small encoder's pass
def _tokens(caption: str) -> tuple[str, ...]:
    from nltk.tokenize import word_tokenize  # a second and a half that only who tokenizes should wait for

    return tuple(map(sys.intern, word_tokenize(plain(caption.lower()), preserve_line=True)))


def numbered(texts: Iterable[str]) -> list[int]:
    """Which text each caption is, numbered in order of first sight; equal are those with the same words, if any."""
    seen: dict[tuple[str, ...] | int, int] = {}
    return [seen.setdefault(tuple(tokenize(text)) or place, len(seen)) for place, text in enumerate(texts)]


def plain(text: str) -> str:
    """The one normalisation of all texts: other forms of the same character as one, towards ASCII, never away from it.

    Curved quotes become straight ones, dashes hyphens, ligatures and wide letters their letters, and accents one
    character with their letter (Unicode's NFKC); scripts without spaces get spaces around each character. ASCII stays
    as it is.
    """
    if text.isascii():
        return text
    text = unicodedata.normalize("NFKC", text.translate(ASCII))
    return ONE.sub(r" \g<0> ", text)


def _runs(words: Sequence[str], longest: int) -> list[str]:
    """All runs of 2 to ``longest`` neighbouring words, each as its words with blanks between them."""
    return [" ".join(words[i : i + n]) for n in range(2, longest + 1) for i in range(len(words) - n + 1)]


class Words:
    """Word numbers of captions, one caption behind the other: as many as there are, however long the longest is.

    ``numbers`` (T,) and ``lengths`` (C,), int64; ``words[rows]`` is what a model takes, (B, L) padded with 0, where L
    is the longest of these rows. ``width``: the longest of all, which some draws of chance are as wide as.
    """

    def __init__(self, numbers: torch.Tensor, lengths: torch.Tensor) -> None:
        self.numbers, self.lengths, self.starts = numbers, lengths, lengths.cumsum(0) - lengths
        self.width = int(lengths.max()) if len(lengths) else 0

    @classmethod
    def of(cls, vocabulary: Any, captions: Sequence[str]) -> Words:
        """The captions in the numbers of a ``vocabulary``, which may be another kind that only has ``encode``."""
        if isinstance(vocabulary, Vocabulary):
            return vocabulary.numbers(captions)
        padded, lengths = vocabulary.encode(captions)
        return cls(padded[torch.arange(padded.shape[1]) < lengths[:, None]], lengths)

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, rows: torch.Tensor) -> torch.Tensor:
        if not len(rows):
            return self.numbers.new_zeros(0, 0)
        places, inside = self.places(rows)
        return self.numbers[places.clamp_max(len(self.numbers) - 1)].masked_fill(~inside, 0)

    def places(self, rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Where in ``numbers`` the words of ``rows`` stand, (B, L), and which of these are words of theirs, bool."""
        lengths = self.lengths[rows][:, None]
        place = torch.arange(int(lengths.max()))
        return self.starts[rows][:, None] + place, place < lengths


class Vocabulary:
    """Word numbers: ``<pad>`` 0, ``<start>`` 1, ``<end>`` 2, ``<unk>`` 3, then the words.

    Build one with :meth:`build`; ``len(vocabulary)`` counts the special words too. A word with blanks in it, such as
    "red circle", is a *run* of words (:meth:`with_runs`); a caption has it beside its words.
    """

    def __init__(self, words: Sequence[str]) -> None:
        plain = isinstance(words, (list, tuple)) and all(isinstance(word, str) for word in words)
        if not plain or tuple(words[:4]) != SPECIAL or len(set(words)) != len(words):
            raise ValueError(
                f"a vocabulary is a list of words that starts with {SPECIAL} and names each once; "
                f"got {str(words)[:60]} …"
            )
        self.words = list(words)
        self.number = {word: i for i, word in enumerate(self.words)}
        self.longest = 1 + max(word.count(" ") for word in self.words)  # no word of a caption has a blank

    def __len__(self) -> int:
        return len(self.words)

    @classmethod
    def build(cls, captions: Iterable[str], min_count: int = 4) -> Vocabulary:
        """Every word seen at least ``min_count`` times in ``captions``, in order of first sight.

        Four is the published threshold. Pass the training captions; the published vocabularies also counted
        test captions (``load_dataset(..., vocabulary="all")`` repeats that).
        """
        at_least("min_count", min_count, 1)
        counts = Counter(word for caption in captions for word in tokenize(caption))
        return cls([*SPECIAL, *(w for w, n in counts.items() if n >= min_count and w not in SPECIAL)])

    def with_runs(self, captions: Iterable[str], longest: int, min_count: int = 4) -> Vocabulary:
        """These words, and the runs of 2 to ``longest`` of them that ``captions`` have ``min_count`` times or more."""
        counts = Counter(run for caption in captions for run in _runs(tokenize(caption), longest))
        return Vocabulary([*self.words, *(run for run, n in counts.items() if n >= min_count)])

    def encode(self, captions: Sequence[str]) -> tuple[torch.Tensor, torch.Tensor]:
        """Word numbers ``(C, L)`` int64, padded with 0, and lengths ``(C,)`` int64, of a few captions: :meth:`numbers`.

        Each caption becomes ``<start> … <end>``, known runs behind the words; the length counts all. A caption without
        a word raises.
        """
        words = self.numbers(captions)
        return words[torch.arange(len(words))], words.lengths

    def numbers(self, captions: Sequence[str]) -> Words:
        """The word numbers of many captions, without padding."""
        lengths, every = [], array("q")
        for position, caption in enumerate(captions):
            words = tokenize(caption)
            if not words:
                raise ValueError(f"caption {position} is empty ({caption!r}); every caption needs a word")
            runs = (self.number[run] for run in _runs(words, self.longest) if run in self.number)
            before = len(every)
            every.extend([1, *(self.number.get(word, 3) for word in words), *runs, 2])
            lengths.append(len(every) - before)
        return Words(torch.tensor(every, dtype=torch.int64), torch.tensor(lengths, dtype=torch.int64))

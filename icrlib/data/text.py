"""From captions to word numbers: the tokenizer, and a vocabulary that is stored as JSON."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

import torch

from icrlib import parsing
from icrlib.files import write_bytes

PAD, START, END, UNKNOWN = "<pad>", "<start>", "<end>", "<unk>"
SPECIAL = (PAD, START, END, UNKNOWN)


def tokenize(caption: str) -> list[str]:
    """Lower-cased words and punctuation marks of one caption.

    NLTK's Treebank rules with ``preserve_line``, which need no downloaded sentence model. A full stop inside
    a caption stays glued to its word, where the released code split sentences first; that touches about
    29 of Flickr8k's 40,000 captions.
    """
    return list(_tokens(caption))


@lru_cache(1 << 16)  # captions come again, and the rules' two dozen patterns cost more than a small encoder's pass
def _tokens(caption: str) -> tuple[str, ...]:
    from nltk.tokenize import word_tokenize  # a second and a half that only who tokenizes should wait for

    return tuple(map(sys.intern, word_tokenize(caption.lower(), preserve_line=True)))


def _runs(words: Sequence[str], longest: int) -> list[str]:
    """All runs of 2 to ``longest`` neighbouring words, each as its words with blanks between them."""
    return [" ".join(words[i : i + n]) for n in range(2, longest + 1) for i in range(len(words) - n + 1)]


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

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self.words == other.words

    @classmethod
    def build(cls, captions: Iterable[str], min_count: int = 4) -> Vocabulary:
        """Every word seen at least ``min_count`` times in ``captions``, in order of first sight.

        Four is the published threshold. Pass the training captions; the published vocabularies also counted
        test captions (``load_dataset(..., vocabulary="all")`` repeats that).
        """
        counts = Counter(word for caption in captions for word in tokenize(caption))
        return cls([*SPECIAL, *(w for w, n in counts.items() if n >= min_count and w not in SPECIAL)])

    def with_runs(self, captions: Iterable[str], longest: int, min_count: int = 4) -> Vocabulary:
        """These words, and the runs of 2 to ``longest`` of them that ``captions`` have ``min_count`` times or more."""
        counts = Counter(run for caption in captions for run in _runs(tokenize(caption), longest))
        return Vocabulary([*self.words, *(run for run, n in counts.items() if n >= min_count)])

    def encode(self, captions: Sequence[str]) -> tuple[torch.Tensor, torch.Tensor]:
        """Word numbers ``(C, L)`` int64, padded with 0, and lengths ``(C,)`` int64.

        Each caption becomes ``<start> … <end>``, known runs behind the words; the length counts all. A caption without
        a word raises.
        """
        rows = []
        for position, caption in enumerate(captions):
            words = tokenize(caption)
            if not words:
                raise ValueError(f"caption {position} is empty ({caption!r}); every caption needs a word")
            runs = (self.number[run] for run in _runs(words, self.longest) if run in self.number)
            rows.append([1, *(self.number.get(word, 3) for word in words), *runs, 2])
        lengths = torch.tensor([len(row) for row in rows], dtype=torch.int64)
        longest = max(map(len, rows), default=0)
        padded = [row + [0] * (longest - len(row)) for row in rows]
        return torch.tensor(padded, dtype=torch.int64).view(len(rows), longest), lengths

    def save(self, path: str | os.PathLike) -> None:
        """Write the words as a JSON list, atomically."""
        write_bytes(path, json.dumps(self.words, ensure_ascii=False, indent=0).encode())

    @classmethod
    def load(cls, path: str | os.PathLike) -> Vocabulary:
        """Read what :meth:`save` wrote. Pickles, as the original releases ship, are never opened."""
        path = Path(path)
        if not path.exists():
            raise FileNotFoundError(f"{path}: no vocabulary here; Vocabulary.build(captions).save(path) makes one")
        try:
            return cls(parsing.of_json(path, {"type": "array", "items": {"type": "string"}}))
        except ValueError as err:  # not UTF-8, not JSON, or not a vocabulary
            why = str(err).removeprefix(f"{path}: ")
            raise ValueError(f"{path}: not a vocabulary in JSON ({why}); build it again from the captions") from err

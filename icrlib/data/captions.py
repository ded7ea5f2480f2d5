"""What an owner must know of captions before training: their words, how many are known, texts that photos share."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable

from icrlib.data.text import spaceless, tokenize

# Letters of Cyrillic and Greek that look like Latin ones, in small or capital letters.
LOOKS = str.maketrans("авеёкмнорстухіјѕԁһԛԝαβεικνορτυχ", "abeekmhopctyxijsdhqwabeikvoptux")


def words_of(texts: Iterable[str]) -> Counter:
    """How often each word comes."""
    return Counter(word for text in texts for word in tokenize(text))


def known(counts: Counter, training: Counter, min_count: int = 4) -> float | None:
    """Share of the words that training captions have ``min_count`` times or more, in percent; None where none are."""
    return 100 * sum(n for w, n in counts.items() if training[w] >= min_count) / counts.total() if counts else None


def numbered(texts: Iterable[str]) -> list[int]:
    """Which text each caption is, numbered in order of first sight; equal are those with the same words, if any."""
    seen: dict[tuple[str, ...] | int, int] = {}
    return [seen.setdefault(tuple(tokenize(text)) or place, len(seen)) for place, text in enumerate(texts)]


def shared(captions: list[list[str]]) -> tuple[int, int]:
    """How many texts several photos have, and how many captions these are; equal are those with the same words."""
    photos = Counter(text for texts in captions for text in {tuple(tokenize(text)) for text in texts} if text)
    several = [n for n in photos.values() if n > 1]
    return len(several), sum(several)


def look_alikes(words: Counter) -> list[tuple[str, str]]:
    """Words with letters that only look like those of another word here, which is ASCII, and that word."""
    pairs = ((word, word.translate(LOOKS)) for word in words if not word.isascii())
    return [(word, other) for word, other in pairs if other.isascii() and other in words]


def notes_on(splits: dict[str, list[list[str]]]) -> list[str]:
    """One line for each thing to know, of the captions of each photo by split; the first split is that of training."""
    texts = {name: [text for captions in split for text in captions] for name, split in splits.items()}
    counts = {name: words_of(some) for name, some in texts.items()}
    training, lines = next(iter(counts.values())), []
    trained = {tuple(tokenize(text)) for text in next(iter(texts.values()))}
    for name, split in splits.items():
        share = known(counts[name], training)
        if share is not None:
            way = "" if share else "; lower min_count, or add captions"
            lines.append(
                f"{name}: {share:.1f} % of the words are known (4 times or more in the training captions){way}"
            )
        if training is not counts[name] and (again := sum(tuple(tokenize(text)) in trained for text in texts[name])):
            lines.append(f"{name}: {again:,} of {len(texts[name]):,} captions stand in training, too, word by word")
        number, captions = shared(split)
        if number:
            lines.append(
                f"{name}: {number:,} texts stand with several photos each ({captions:,} captions); a search cannot "
                "tell these photos apart: count equal texts as right, -p positives=text -p relevance=text"
            )
    if odd := look_alikes(sum(counts.values(), Counter())):
        word, other = odd[0]
        letter = unicodedata.name(next(one for one in word if not one.isascii()))
        lines.append(
            f"{len(odd):,} words have letters that only look like others, so they are words of their own: {word!r} for "
            f"{other!r}, with {letter}; replace these"
        )
    scripts = sorted({script for some in texts.values() for script in spaceless(" ".join(some))})
    if scripts:
        lines.append(f"scripts without spaces between words: {', '.join(scripts)}; each character counts as a word")
    return lines

"""What an owner must know of captions before training: their words, how many are known, texts that photos share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from icrlib.data.text import spaceless, tokenize


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
    photos = Counter(text for own in captions for text in {tuple(tokenize(text)) for text in own} if text)
    several = [n for n in photos.values() if n > 1]
    return len(several), sum(several)


def told(splits: dict[str, list[list[str]]]) -> list[str]:
    """One line for each thing to know, of the captions of each photo by split; the first split is that of training."""
    every = {name: [text for own in captions for text in own] for name, captions in splits.items()}
    counts = {name: words_of(texts) for name, texts in every.items()}
    training, lines = next(iter(counts.values())), []
    for name, texts in every.items():
        if share := known(counts[name], training):
            lines.append(f"{name}: {share:.1f} % of the words are known (4 times or more in the training captions)")
        elif texts and share == 0:
            lines.append(
                f"{name}: no word is one that training captions have 4 times; lower min_count, or add captions"
            )
        number, captions = shared(splits[name])
        if number:
            lines.append(
                f"{name}: {number:,} texts stand with several photos each ({captions:,} captions); a search "
                "cannot tell these photos apart"
            )
    scripts = sorted({script for texts in every.values() for script in spaceless(" ".join(texts))})
    if scripts:
        lines.append(f"scripts without spaces between words: {', '.join(scripts)}; each character counts as a word")
    return lines

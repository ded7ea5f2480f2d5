"""How much a page may ask of a reader. Held by a test for the pages that are FINISHED, a list that only grows.

Counted on the built page (tests/book/page_counts.py): every word that is no code input, maths or picture; drop-downs,
hidden outputs and tabs in full.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from page_counts import Stats

FINISHED: tuple[str, ...] = (
    *("intro", "ten-minutes"),
    *(f"search/{name}" for name in ("scores", "towers", "photos")),
    *(f"push/{name}" for name in ("triplet", "ntxent", "smoothap", "one-picture", "own-loss")),
    *(f"training/{name}" for name in ("plateau", "losses", "errors", "counting", "audit")),
    *("training/foretell", "training/which-loss"),
    *(f"systems/{name}" for name in ("reading", "pooling", "modular")),
    *(f"gradients/{name}" for name in ("goal", "fifteen")),
    *(f"information/{name}" for name in ("contrastive", "target", "constraint", "pays")),
    *(f"reproduce/{name}" for name in ("run", "hours")),
    *(f"reference/{name}" for name in ("errata", "claims", "words")),
)
WORDS, WITH_TABLES = 2000, 2600
OTHER = {  # pages with a limit of their own: words with those of tables
    "training/which-loss": 1500,
    "systems/reading": 2500,
    "training/foretell": 1800,
    "intro": 700,
    "ten-minutes": 900,
}
MOST = {"figures": 7, "tables": 4, "rows": 8, "found": 200, "lines": 600}
LOOKED_UP = ("reproduce/", "reference/")  # not on the main line: their tables are what one looks up
MAIN_LINE, WHOLE, LIBRARY = 1700, 90_000, "reference/library"  # with its pages


def over(name: str, page: Stats) -> Iterator[str]:
    """The limits that a page is over, a line each."""
    every = page.words + page.in_tables
    if name in OTHER:
        if every > OTHER[name]:
            yield f"{name}: {every} words, its limit is {OTHER[name]}"
    elif not name.startswith(LOOKED_UP):
        if page.words > WORDS:
            yield f"{name}: {page.words} words of text, the limit is {WORDS}"
        if every > WITH_TABLES:
            yield f"{name}: {every} words with its tables, the limit is {WITH_TABLES}"
    if not name.startswith(LOOKED_UP):
        for what, most in MOST.items():
            if getattr(page, what) > most:
                yield f"{name}: {getattr(page, what)} {what}, the limit is {most}"


def over_all(words: Mapping[str, int]) -> list[str]:
    """The limits of the whole book, asked once all its pages are finished."""
    if not {name for name in words if not name.startswith(LIBRARY)} <= set(FINISHED):
        return []
    main = [count for name, count in words.items() if not name.startswith(LOOKED_UP)]
    whole = sum(count for name, count in words.items() if not name.startswith(LIBRARY))
    return [
        *(
            [f"main line: {sum(main) / len(main):.0f} words a page, {MAIN_LINE}"]
            if sum(main) > MAIN_LINE * len(main)
            else []
        ),
        *([f"whole book: {whole} words, {WHOLE}"] if whole > WHOLE else []),
    ]

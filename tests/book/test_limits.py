"""Pages that are finished stay within what a page may ask of a reader, and their sentences are held by checks."""

import nbformat
import pytest

import bookstats
import limits
import sentences
from chapters import Book
from test_pages import ROOT

BOOK = Book(ROOT)


@pytest.mark.process
def test_finished_pages_stay_within_their_limits(site):
    pages = {name: bookstats.of_page(BOOK, name, site) for name in BOOK.pages()}
    assert [line for name in limits.FINISHED for line in limits.over(name, pages[name])] == []
    assert limits.over_all({name: one.words + one.in_tables for name, one in pages.items()}) == []


def test_finished_are_pages_of_the_book():
    assert set(limits.FINISHED) <= set(BOOK.pages())


@pytest.mark.parametrize("name", [name for name in limits.FINISHED if name in BOOK.chapters()])
def test_findings_of_finished_pages_are_checked(name):
    assert sentences.unsaid(nbformat.read(BOOK.path(name, ".ipynb"), as_version=4).cells) == []


CELLS = [
    nbformat.v4.new_markdown_cell("# A page\n\n**Pairs** have 440.2\nrsum."),
    nbformat.v4.new_code_cell('check("Pairs have 440.2 rsum.", number("440.2", f, runs))'),
    nbformat.v4.new_markdown_cell(
        "## What we found\n\n- It is [+8.1](x) ahead; see {numref}`Chapter {number} <ch-x>`.\n"
    ),
    nbformat.v4.new_code_cell('check("It is +8.1 ahead;", number("+8.1", f, runs))'),
    nbformat.v4.new_markdown_cell("## Exercises\n\nTake 7."),
]


def test_a_sentence_that_the_text_does_not_say_is_found():
    assert sentences.unsaid(CELLS) == []
    other = [*CELLS[:1], nbformat.v4.new_code_cell('check("Pairs have 440.3 rsum.", x)'), *CELLS[2:]]
    (wrong,) = sentences.unsaid(other)
    assert "“Pairs have 440.3 rsum.”" in wrong


def test_a_number_among_the_findings_that_nothing_holds_is_found():
    (wrong,) = sentences.unsaid([*CELLS[:3], CELLS[4]])
    assert "no check holds these numbers of “What we found”: +8.1" in wrong

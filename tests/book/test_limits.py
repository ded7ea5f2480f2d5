"""Pages that are finished stay within what a page may ask of a reader, and their sentences are held by checks."""

import nbformat
import pytest

import limits
import page_counts
import sentences
from chapters import Book
from test_pages import ROOT

BOOK = Book(ROOT)


@pytest.mark.process
def test_finished_pages_stay_within_their_limits(site):
    pages = {name: page_counts.of_page(BOOK, name, site) for name in BOOK.pages()}
    assert [line for name in limits.FINISHED for line in limits.over(name, pages[name])] == []
    assert limits.over_all({name: one.words + one.in_tables for name, one in pages.items()}) == []
    assert {name for name, one in pages.items() if one.only_asserts} == set(), "checks are folded"


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


def test_words_and_tables_are_counted_as_a_reader_meets_them():
    body = """<nav>none</nav><article class="bd-article"><p>Two words of 1,000</p><div class="cell_input">x = 1</div>
    <div class="cell_output"><div class="highlight"><pre>so it is</pre></div></div><p>see <code>one</code></p>
    <table><tbody><tr><td>a b</td></tr><tr><td>c</td></tr></tbody></table><span class="math">x</span>
    <section><h2>What we found</h2><p>one more</p></section></article>"""
    found = page_counts.of_html(body)
    assert (found.words, found.in_tables, found.tables, found.rows, found.found) == (13, 3, 1, 2, 5)


def test_a_page_over_its_limits_is_named():
    page = page_counts.Stats(words=1990, in_tables=700, tables=5, rows=9, figures=8, found=201, lines=601)
    assert len(list(limits.over("push/triplet", page))) == 6
    assert list(limits.over("training/which-loss", page_counts.Stats(words=1400, in_tables=101)))
    assert not list(limits.over("reference/errata", page)) and not list(limits.over("reproduce/run", page))

"""The counts of `make bookstats`, each on a made-up cell or page, and the command on a small book."""

from __future__ import annotations

import json
from pathlib import Path

import nbformat.v4 as v4
import pytest
from click.testing import CliRunner

import bookstats
import limits
from chapters import Book

PICTURE = {"image/png": "AAAA", "text/plain": "<Figure>"}


def code(source, *tags, outputs=()):
    return v4.new_code_cell(source, metadata={"tags": list(tags)}, outputs=list(outputs))


def shown(data):
    return v4.new_output("display_data", data)


def page(body):
    return f'<nav>no words</nav><article class="bd-article">{body}</article><footer>none</footer>'


TEXT = {
    "plain words": ("<p>A caption, and its picture.</p>", 5, 0),
    "numbers are no words": ("<p>R@5 of 1,000 is 3.5.</p>", 3, 2),
    "joined words": ("<p>a first-use isn't two</p>", 4, 0),
    "inline code": ("<p>see <code>one</code></p>", 2, 0),
    "a listing": ('<p>before</p><div class="highlight"><pre>assert this</pre></div>', 1, 0),
    "code input": ('<div class="cell_input"><div class="highlight">x = 1</div></div><p>after</p>', 1, 0),
    "what code printed": ('<div class="cell_output"><div class="highlight"><pre>so it is 7</pre></div></div>', 3, 1),
    "a folded cell's bar": ('<details class="hide"><summary>Show code cell</summary><p>counted</p></details>', 1, 0),
    "a drop-down": ("<details><summary>A title</summary><p>counted</p></details>", 3, 0),
    "maths": ('<p>before <span class="math">x + y</span></p>', 1, 0),
    "a picture": ("<p>before</p><svg><text>none</text></svg>", 1, 0),
    "a script": ("<p>before</p><script>let it = 1</script>", 1, 0),
}


@pytest.mark.parametrize(("body", "words", "numbers"), TEXT.values(), ids=TEXT)
def test_words(body, words, numbers):
    found = bookstats.of_html(page(body))
    assert (found.words, found.numbers, found.in_tables) == (words, numbers, 0)


def test_tables_are_counted_with_their_rows():
    head, row = "<thead><tr><th>loss</th></tr></thead>", "<tr><td>one word</td></tr>"
    found = bookstats.of_html(
        page(f"<p>two words</p><table>{head}<tbody>{3 * row}</tbody></table><table>{row}</table>")
    )
    assert (found.words, found.in_tables, found.tables, found.rows) == (2, 9, 2, 3)


def test_findings_are_the_section_of_that_name():
    other, found = "<h2>Other</h2><p>a b</p>", "<h2>What we found<a>#</a></h2><p>three more words</p>"
    body = f"<section>{other}</section><section>{found}</section>"
    assert bookstats.of_html(page(body)).found == 6


@pytest.mark.parametrize("tag", ["remove-cell", "hide-cell", "hide-input", "remove-input"])
def test_a_cell_with_such_a_tag_is_not_visible(tag):
    found = bookstats.of_code(code("assert True", tag))
    assert (found.code, found.only_asserts) == (0, 0)
    assert bookstats.of_code(code("assert True", "remove-output")).code == 1


ASSERTS = {
    "one": ("assert x == 1", True, True),
    "among other things": ("x = 1\nassert x == 1", True, False),
    "in a loop": ("for x in y:\n    assert x", True, True),
    "in a loop that does more": ("for x in y:\n    z = x\n    assert z", True, False),
    "in a function": ("def check(x):\n    assert x", True, False),
    "behind an import": ("import torch\nassert torch", True, True),
    "in either branch": ("if a:\n    assert b\nelse:\n    assert c", True, True),
    "in a branch that does more": ("if a:\n    assert b\nelse:\n    c = 1", True, False),
    "in a comment": ("x = 1  # assert x == 1", False, False),
    "in a string": ("print('''\nassert x\n''')", False, False),
    "a name": ("assertion = 1", False, False),
    "beside a magic": ("%pip install x\n!ls\nassert x", True, False),
    "below a cell magic": ("%%bash\nassert x", False, False),
    "help": ("torch.assert_equal?", False, False),
    "no Python": ("assert (", False, False),
    "nothing": ("", False, False),
}


@pytest.mark.parametrize(("source", "has", "only"), ASSERTS.values(), ids=ASSERTS)
def test_asserts_are_told_by_syntax(source, has, only):
    assert (bookstats.asserts(source), bookstats.only_asserts(source)) == (has, only)


def test_figures_are_outputs_with_a_picture():
    slider = {"text/html": '<div class="frames-slider"><img src="data:,"></div>', "text/plain": "slider"}
    table = {"text/html": "<table><tr><td>1</td></tr></table>"}
    two = code("plot()", outputs=[shown(PICTURE), shown(slider), shown(table), v4.new_output("stream", text="a")])
    assert bookstats.of_code(two).figures == 2
    assert bookstats.of_code(code("plot()", "hide-input", outputs=[shown(PICTURE)])).figures == 1
    assert bookstats.of_code(code("plot()", "remove-cell", outputs=[shown(PICTURE)])).figures == 0
    assert bookstats.of_text("![a picture](a.png)\n\n```{figure} b.png\nwords\n```").figures == 2


def test_exercises_and_not_their_solutions():
    text = "````{exercise-start} One\n````\n````{exercise-end}\n````\n````{solution-start} ex\n````\n:::{exercise}\n:::"
    assert bookstats.of_text(text).exercises == 2


@pytest.fixture
def small(tmp_path):
    """A book of a chapter and a page of text."""
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: one\nchapters:\n  - file: part/two\n")
    (tmp_path / "book" / "part").mkdir(parents=True)
    cells = [v4.new_markdown_cell("Two words"), code("assert True"), code("1", outputs=[shown(PICTURE)])]
    (tmp_path / "book" / "one.ipynb").write_text(json.dumps(v4.new_notebook(cells=cells)))
    (tmp_path / "book" / "one.py").write_text("# the pair\n")
    (tmp_path / "book" / "part" / "two.md").write_text("# A page\n")
    (tmp_path / "_build" / "html" / "part").mkdir(parents=True)
    for name in ("one", "part/two"):
        (tmp_path / "_build" / "html" / f"{name}.html").write_text(page("<p>Two words</p>"))
    return tmp_path


def test_the_table_and_the_file_have_every_page_and_the_total(small):
    done = CliRunner().invoke(bookstats.main, ["--root", str(small), "--json", str(small / "counts.json")])
    assert done.exit_code == 0, done.output
    written = json.loads((small / "counts.json").read_text())
    assert list(written["pages"]) == ["one", "part/two"]
    size = round((small / "book" / "one.ipynb").stat().st_size / 1000, 1)
    counts = dict.fromkeys(written["total"], 0) | {"words": 2, "code": 2, "only_asserts": 1, "figures": 1, "lines": 1}
    assert written["pages"]["one"] == counts | {"kB": size}
    assert written["total"] == written["pages"]["one"] | {"words": 4}
    lines = done.output.splitlines()
    assert lines[0].split() == list(written["total"])
    assert [line.split()[0] for line in lines[1:4]] == ["one", "part/two", "total"]


@pytest.mark.parametrize("lost, way", [("book/one.ipynb", "make notebooks"), ("_build/html/one.html", "make html")])
def test_what_is_not_there_is_named_with_the_way_out(small, lost, way):
    (small / lost).unlink()
    done = CliRunner().invoke(bookstats.main, ["--root", str(small)])
    assert done.exit_code == 1 and "one" in done.output and way in done.output


def test_a_page_over_its_limits_is_named():
    page = bookstats.Stats(words=1990, in_tables=700, tables=5, rows=9, figures=8, found=201, lines=601)
    assert [line.split(": ")[1] for line in limits.over("push/triplet", page)] == [
        "2690 words with its tables, the limit is 2600",
        "8 figures, the limit is 7",
        "5 tables, the limit is 4",
        "9 rows, the limit is 8",
        "201 found, the limit is 200",
        "601 lines, the limit is 600",
    ]
    assert list(limits.over("training/which-loss", bookstats.Stats(words=1400, in_tables=101)))
    assert not list(limits.over("reference/errata", page)) and not list(limits.over("reproduce/run", page))


def test_no_visible_cell_of_the_book_only_asserts():
    """A reader who sees a cell sees what comes of it; checks are folded."""
    book = Book(Path(__file__).resolve().parents[1])
    found = {name: bookstats.of_source(book, name).only_asserts for name in book.pages()}
    assert {name: count for name, count in found.items() if count} == {}

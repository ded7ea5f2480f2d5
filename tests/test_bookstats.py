"""The counts of `make bookstats`, each on a made-up cell or page, and the command on a small book."""

from __future__ import annotations

import json
from pathlib import Path

import nbformat.v4 as v4
import pytest
from click.testing import CliRunner

import bookstats
from chapters import Book

PICTURE = {"image/png": "AAAA", "text/plain": "<Figure>"}


def code(source, *tags, outputs=()):
    return v4.new_code_cell(source, metadata={"tags": list(tags)}, outputs=list(outputs))


def shown(data):
    return v4.new_output("display_data", data)


PROSE = {
    "plain words": ("A caption, and its picture.", 5),
    "numbers are no words": ("R@5 of 1,000 is 3.5", 3),
    "joined words": ("a first-use isn't two", 4),
    "heading, list and emphasis": ("# A title\n\n- **one** thing", 4),
    "inline code and maths": ("see `x + y` and $a_b + c$ here", 3),
    "maths over two lines": ("so $a +\nb$ is", 2),
    "display maths": ("before\n\n$$ \\log x\n+ y $$ (eq-one)\n\nafter", 2),
    "a block of code": ("before\n```python\nassert this == that\n```\nafter", 2),
    "a block in a longer fence": ("before\n````python\nhere\n```\nstill code\n````\nafter", 2),
    "a maths directive": ("```{math}\n:label: eq\nx = y\n```\nafter", 1),
    "options of a directive": ("```{exercise-start} A title\n:label: ex-one\n```\n\ntext\n```{exercise-end}\n```", 3),
    "an admonition": (":::{admonition} As printed\n:class: note\nthe paper says\n:::", 5),
    "options come first": (":::{note}\n:class: a\nthe paper says\n:so: it is\n:::", 6),
    "a line that looks like an option": ("so\n\n:label: is one", 4),
    "roles": ("see {doc}`task` and {cite:p}`someone2020paper` there", 3),
    "a link's address": ("a [link](https://example.org/page)", 2),
    "a comment": ("one <!-- not these words --> two", 2),
}


@pytest.mark.parametrize(("text", "count"), PROSE.values(), ids=PROSE)
def test_words(text, count):
    assert bookstats.words(text) == count


@pytest.mark.parametrize("tag", ["remove-cell", "hide-cell", "hide-input", "remove-input"])
def test_a_cell_with_such_a_tag_is_not_visible(tag):
    found = bookstats.of_code(code("assert True", tag))
    assert (found.code, found.silent, found.asserting, found.only_asserts) == (0, 0, 0, 0)
    assert bookstats.of_code(code("assert True", "remove-output")).code == 1


def test_silent_cells_are_visible_ones_without_any_output():
    stream = v4.new_output("stream", text="a")
    cells = [code("x = 1"), code("print('a')", outputs=[stream]), code("y = 1", "hide-input")]
    found = bookstats.of_notebook(v4.new_notebook(cells=cells))
    assert (found.code, found.silent) == (2, 1)


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
    found = bookstats.of_code(code(source))
    assert (bool(found.asserting), bool(found.only_asserts)) == (has, only)


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
    return tmp_path


def test_the_table_and_the_file_have_every_page_and_the_total(small):
    done = CliRunner().invoke(bookstats.main, ["--root", str(small), "--json", str(small / "counts.json")])
    assert done.exit_code == 0, done.output
    written = json.loads((small / "counts.json").read_text())
    assert list(written["pages"]) == ["one", "part/two"]
    size = round((small / "book" / "one.ipynb").stat().st_size / 1000, 1)
    assert written["pages"]["one"] == {
        "words": 2,
        "code": 2,
        "silent": 1,
        "asserting": 1,
        "only_asserts": 1,
        "figures": 1,
        "exercises": 0,
        "kB": size,
    }
    assert written["total"] == written["pages"]["one"] | {"words": 4}
    lines = done.output.splitlines()
    assert lines[0].split() == list(written["total"])
    assert [line.split()[0] for line in lines[1:4]] == ["one", "part/two", "total"]
    assert lines[3].split()[1:8] == ["4", "2", "1", "1", "1", "1", "0"]


def test_a_chapter_without_outputs_is_named(small):
    (small / "book" / "one.ipynb").unlink()
    done = CliRunner().invoke(bookstats.main, ["--root", str(small)])
    assert done.exit_code == 1 and "one" in done.output and "make notebooks" in done.output


def test_no_visible_cell_of_the_book_only_asserts():
    """A reader who sees a cell sees what comes of it; checks are folded."""
    book = Book(Path(__file__).resolve().parents[1])
    found = {name: bookstats.of_page(book, name).only_asserts for name in book.pages()}
    assert {name: count for name, count in found.items() if count} == {}

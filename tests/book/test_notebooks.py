"""The committed chapters, each check on each."""

import posixpath
import re
from pathlib import Path

import jupytext
import pytest

import notebook_checks as checks
from chapters import Book, setup_source

BOOK = Book(Path(__file__).resolve().parents[2])


def test_toc_and_folder_agree():
    on_disk = {
        str(p.relative_to(BOOK.source).with_suffix(""))
        for s in ("ipynb", "py", "md")
        for p in BOOK.source.rglob(f"*.{s}")
        if not {"_static", "_ext", ".ipynb_checkpoints"} & set(p.parts)
    }
    assert on_disk == set(BOOK.pages())


def test_next_follows_the_contents():
    """A chapter's last link leads to the page behind it in the table of contents."""
    pages = BOOK.pages()
    for name, follower in zip(pages, pages[1:], strict=False):
        path = BOOK.path(name, ".py")
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            linked = re.findall(r"^# Next: \{numref\}`Chapter \{number\} <ch-([\w-]+)>`", text, re.MULTILINE)
            assert linked == [posixpath.basename(follower)], name


@pytest.mark.parametrize("name", BOOK.pages()[1:])
def test_a_label_is_named_after_its_page(name):
    """So that "Chapter 12" can be linked from everywhere, and a link tells where it leads."""
    source = next(path for ending in (".py", ".md") if (path := BOOK.path(name, ending)).is_file())
    titled = re.search(r"^(?:# )?\(ch-([\w-]+)\)=\n(?:# )?# ", source.read_text(encoding="utf-8"), re.MULTILINE)
    assert titled and titled[1] == posixpath.basename(name)


@pytest.mark.parametrize("check", checks.CHECKS, ids=lambda c: c.__name__)
@pytest.mark.parametrize("name", BOOK.chapters())
def test_chapter(name, check):
    path = BOOK.path(name, ".ipynb")
    assert path.is_file(), f"{name} has no outputs yet: run `make notebooks`"
    assert check(checks.Chapter(path)) == []


@pytest.mark.parametrize("name", BOOK.chapters())
def test_setup_cell_follows_the_configured_address(name):
    source = setup_source(BOOK.config()["repository"]["url"])
    cells = jupytext.read(BOOK.path(name, ".py")).cells
    assert all(c.source == source for c in cells if "colab-setup" in c.metadata.get("tags", []))

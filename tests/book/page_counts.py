"""What a reader meets on each page of the book: words and tables as built, code and figures out of the notebook.

A code cell is visible if none of its tags hides the cell or its input.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, fields
from pathlib import Path

import nbformat
from bs4 import BeautifulSoup
from IPython.core.inputtransformer2 import TransformerManager

from chapters import Book

HIDDEN = {"remove-cell", "hide-cell", "hide-input", "remove-input"}
WITHOUT_OUTPUT = {"remove-cell", "remove-output"}  # their pictures are on no page
IMAGE = re.compile(r"<(?:img|svg|canvas)\b")


@dataclass
class Stats:
    """What one page has. ``found``: words under "What we found"; ``rows``: of the longest table."""

    words: int = 0
    in_tables: int = 0
    found: int = 0
    tables: int = 0
    rows: int = 0
    figures: int = 0
    code: int = 0
    only_asserts: int = 0
    lines: int = 0

    def __add__(self, other: Stats) -> Stats:
        both = {f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)}
        return Stats(**both | {"rows": max(self.rows, other.rows)})


# What is on a page and is no text: code (not what code printed), maths, pictures, and the bars of folded cells.
NO_TEXT = (
    "script, style, svg, canvas, img, mjx-container, .math, .cell_input, a.headerlink, details.hide > summary, "
    "div.highlight:not(.cell_output *), nav, .prev-next-area"
)
WORD = re.compile(r"\w*[^\W\d_]\w*(?:['’-]\w+)*")


def of_html(text: str) -> Stats:
    """Words, numbers and tables of a built page."""
    article = BeautifulSoup(text, "html.parser").select_one("article.bd-article")
    for part in article.select(NO_TEXT):
        part.decompose()
    everything = article.get_text(" ")
    findings = next((h.parent for h in article.find_all("h2") if h.get_text().startswith("What we found")), None)
    tables = [table for table in article.find_all("table") if table.find("td")]
    in_tables = sum(len(WORD.findall(table.get_text(" "))) for table in tables)
    return Stats(
        words=len(WORD.findall(everything)) - in_tables,
        in_tables=in_tables,
        found=len(WORD.findall(findings.get_text(" "))) if findings else 0,
        tables=len(tables),
        rows=max((len(table.select("tbody tr") or table.find_all("tr")) for table in tables), default=0),
    )


def statements(source: str) -> list[ast.stmt]:
    """The statements of a cell, with IPython's magics as calls; none where it is no Python."""
    try:
        return ast.parse(TransformerManager().transform_cell(source)).body
    except SyntaxError:
        return []


def asserts(source: str) -> bool:
    """Whether there is an assert statement, at any depth."""
    return any(isinstance(node, ast.Assert) for one in statements(source) for node in ast.walk(one))


def only_asserts(source: str) -> bool:
    """Whether all is asserts, and imports, loops, conditions and contexts for them."""

    def nothing_else(node: ast.stmt) -> bool:
        if isinstance(node, (ast.For, ast.While, ast.If, ast.With)):
            return all(map(nothing_else, [*node.body, *getattr(node, "orelse", [])]))
        return isinstance(node, (ast.Assert, ast.Import, ast.ImportFrom, ast.Pass))

    return asserts(source) and all(map(nothing_else, statements(source)))


def visible(cell: nbformat.NotebookNode) -> bool:
    """Whether a reader sees the code without unfolding it."""
    return cell.cell_type == "code" and not HIDDEN & set(cell.metadata.get("tags", []))


def pictures(cell: nbformat.NotebookNode) -> int:
    """Outputs that hold a picture: an image, or HTML with one, such as a slider."""
    if WITHOUT_OUTPUT & set(cell.metadata.get("tags", [])):
        return 0
    shown = [out.get("data", {}) for out in cell.outputs]
    return sum(
        any(kind.startswith("image/") for kind in data) or bool(IMAGE.search("".join(data.get("text/html", ""))))
        for data in shown
    )


def of_text(text: str) -> Stats:
    """Figures of a page or cell in Markdown."""
    drawn = len(re.findall(r"^\s*(?:`{3,}|:{3,})\{(?:figure|image)\}|!\[", text, re.MULTILINE))
    return Stats(figures=drawn)


def of_code(cell: nbformat.NotebookNode) -> Stats:
    """Counts of a code cell."""
    if not visible(cell):
        return Stats(figures=pictures(cell))
    return Stats(code=1, only_asserts=only_asserts(cell.source), figures=pictures(cell))


def of_source(book: Book, name: str) -> Stats:
    """Counts of what a page is made from."""
    notebook = book.path(name, ".ipynb")
    if not notebook.is_file():
        return of_text(book.path(name, ".md").read_text(encoding="utf-8"))
    counted = {"code": of_code, "markdown": lambda cell: of_text(cell.source)}
    cells = nbformat.read(notebook, as_version=4).cells
    found = sum((counted[cell.cell_type](cell) for cell in cells if cell.cell_type in counted), Stats())
    found.lines = len(book.path(name, ".py").read_text(encoding="utf-8").splitlines())
    return found


def of_page(book: Book, name: str, site: Path) -> Stats:
    """Counts of one page: its source, and the page as built in ``site``."""
    return of_source(book, name) + of_html((site / f"{name}.html").read_text(encoding="utf-8"))

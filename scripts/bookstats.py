"""Count what a reader meets on each page of the book: words, code cells, asserts, figures, exercises.

Chapters are read from their committed .ipynb. A code cell is visible if none of its tags hides the cell or its input.
"""

from __future__ import annotations

import ast
import json
import re
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import click
import nbformat
import pandas as pd
from IPython.core.inputtransformer2 import TransformerManager

from chapters import Book, write_text

ROOT = Path(__file__).resolve().parents[1]
FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)
HIDDEN = {"remove-cell", "hide-cell", "hide-input", "remove-input"}
WITHOUT_OUTPUT = {"remove-cell", "remove-output"}  # their pictures are on no page
FENCE = re.compile(r"^\s*(`{3,}|:{3,}|~{3,})\s*(.*?)\s*$")
NO_PROSE = ("math", "code", "code-block", "code-cell", "eval-rst", "bibliography", "raw", "toctree")  # directives
IMAGE = re.compile(r"<(?:img|svg|canvas)\b")


@dataclass
class Stats:
    """What one page has, or all of them; the names are the table's columns."""

    words: int = 0
    code: int = 0
    silent: int = 0
    asserting: int = 0
    only_asserts: int = 0
    figures: int = 0
    exercises: int = 0
    kB: float = 0.0

    def __add__(self, other: Stats) -> Stats:
        return Stats(**{f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)})


LEGEND = """\
words         of prose, without code, maths and the options of directives
code          visible code cells: their input is on the page and unfolded
silent        visible code cells without any output
asserting     visible code cells that contain an assert
only_asserts  visible code cells that do nothing but assert
kB            size of the .ipynb"""


def prose(text: str) -> str:
    """The text without code, maths and options; what stands in an admonition or an exercise stays."""
    return inline("\n".join(lines_of_prose(text)))


def lines_of_prose(text: str) -> list[str]:
    """The lines outside of code and of directives that hold none."""
    kept, still_open, options = [], [], False
    for line in text.splitlines():
        fence = FENCE.match(line)
        inside = still_open and still_open[-1]
        # A block ends with as many signs as it began with, or more, and nothing behind them.
        if inside and fence and not fence[2] and fence[1].startswith(inside[0]):
            still_open.pop()
        elif inside and not inside[1]:
            continue
        elif fence:
            # The signs of a directive that holds prose, and its name, are no words. Its title is.
            name, title = re.match(r"(?:\{([\w:-]+)\})?\s*(.*)", fence[2]).groups()
            options = name is not None and name not in NO_PROSE
            still_open.append((fence[1], options))
            kept += [title] if options else []
        elif not (options and re.match(r"\s*:[\w-]+:", line)):
            options = False
            kept.append(line)
    return kept


def inline(text: str) -> str:
    """Without comments, maths, roles and code inside of lines, and without addresses of links."""
    for pattern in (
        r"<!--.*?-->",
        r"\$\$.*?\$\$(?:\s*\([\w-]+\))?",
        r"\{[\w:-]+\}`[^`]*`",
        r"(`+).*?\1",
        r"(?<!\\)\$[^$\n]+(?:\n[^$\n]+)*\$",
        r"(?<=\])\([^)\s]*\)",
        r"<[^>\n]*>",
    ):
        text = re.sub(pattern, " ", text, flags=re.DOTALL)
    return text


def words(text: str) -> int:
    """Words of prose; a number is none."""
    return len(re.findall(r"\w*[^\W\d_]\w*(?:['’-]\w+)*", prose(text)))


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
    """Counts of a page or cell in Markdown."""
    drawn = len(re.findall(r"^\s*(?:`{3,}|:{3,})\{(?:figure|image)\}|!\[", text, re.MULTILINE))
    exercises = len(re.findall(r"^\s*(?:`{3,}|:{3,})\{exercise(?:-start)?\}", text, re.MULTILINE))
    return Stats(words=words(text), figures=drawn, exercises=exercises)


def of_code(cell: nbformat.NotebookNode) -> Stats:
    """Counts of a code cell."""
    if not visible(cell):
        return Stats(figures=pictures(cell))
    return Stats(
        code=1,
        silent=not cell.outputs,
        asserting=asserts(cell.source),
        only_asserts=only_asserts(cell.source),
        figures=pictures(cell),
    )


def of_notebook(notebook: nbformat.NotebookNode) -> Stats:
    """Counts of all cells."""
    cells = [
        of_code(c) if c.cell_type == "code" else of_text(c.source)
        for c in notebook.cells
        if c.cell_type in ("code", "markdown")
    ]
    return sum(cells, Stats())


def of_page(book: Book, name: str) -> Stats:
    """Counts of one page of the book."""
    notebook = book.path(name, ".ipynb")
    if not notebook.is_file():
        return of_text(book.path(name, ".md").read_text(encoding="utf-8"))
    found = of_notebook(nbformat.read(notebook, as_version=4))
    found.kB = round(notebook.stat().st_size / 1000, 1)
    return found


@click.command(help=__doc__)
@click.option("--root", type=FOLDER, default=ROOT, help="Folder with _toc.yml and book/.")
@click.option("--json", "target", type=click.Path(path_type=Path, dir_okay=False), help="Write the counts there, too.")
def main(root: Path, target: Path | None) -> None:
    book = Book(root)
    try:
        pages = {name: of_page(book, name) for name in book.pages()}
    except FileNotFoundError as err:
        raise click.ClickException(f"{err}. `make notebooks` makes the outputs of a chapter.") from err
    total = sum(pages.values(), Stats())
    rows = {name: asdict(one) for name, one in (pages | {"total": total}).items()}
    click.echo(pd.DataFrame.from_dict(rows, orient="index").to_string(float_format="{:.0f}".format))
    click.echo(f"\n{LEGEND}")
    if target:
        write_text(target, json.dumps({"pages": {n: rows[n] for n in pages}, "total": rows["total"]}, indent=2) + "\n")


if __name__ == "__main__":
    main()

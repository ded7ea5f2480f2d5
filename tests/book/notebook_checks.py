"""What a committed chapter must satisfy: one function a demand, which returns its complaints as sentences."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import jupytext
import nbformat
import papermill
from bs4 import BeautifulSoup

import sentences
from chapters import KERNEL, Book, cells_hash, normalised

LINES, COLUMNS, FOLDED, BYTES = 25, 92, 122, 1_500_000
ABSOLUTE = re.compile(r"(?<![\w.:/~-])/(?:home|work|tmp|root|Users|private|opt|mnt)/\w|[A-Z]:\\\\?Users")
ADDRESS = re.compile(r"\bat 0x[0-9a-f]{6,}")
MATHS = re.compile(r"\$[^$\n]+\$")
PICTURE = re.compile(r"data:image/[\w+]+;base64,[A-Za-z0-9+/=]*")


class Chapter:
    """A committed notebook and its pair."""

    def __init__(self, path: Path):
        self.path, self.script = Path(path), Path(path).with_suffix(".py")
        self.notebook = nbformat.read(self.path, as_version=4)
        self.code = [c for c in self.notebook.cells if c.cell_type == "code" and c.source.strip()]

    def outputs(self) -> Iterator[tuple[nbformat.NotebookNode, nbformat.NotebookNode]]:
        """(cell, output) for all outputs."""
        return ((cell, out) for cell in self.code for out in cell.outputs)


def prose(book: Book, name: str) -> str:
    """The text of a page that a person wrote: its Markdown, without code; "" for pages that are generated."""
    source = book.path(name, ".md")
    if source.is_file():
        return source.read_text(encoding="utf-8")
    if not book.path(name, ".ipynb").is_file():
        return ""
    cells = nbformat.read(book.path(name, ".ipynb"), as_version=4).cells
    return "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


def first(cell: nbformat.NotebookNode) -> str:
    """A cell is named by its first line."""
    return next(iter(cell.source.strip().splitlines()), "(empty)")[:70]


def text_of(out: nbformat.NotebookNode) -> str:
    """All text of an output, pictures left out."""
    data = out.get("data", {})
    kinds = [v for k, v in data.items() if isinstance(v, str) and not k.startswith("image/")]
    text = "\n".join([out.get("text", ""), *kinds, "\n".join(out.get("traceback", []))])
    return PICTURE.sub("", text)


def paired(chapter: Chapter) -> list[str]:
    """The .py has the same cells."""
    if not chapter.script.is_file():
        return [f"no {chapter.script.name} beside it"]
    if cells_hash(jupytext.read(chapter.script)) != cells_hash(chapter.notebook):
        return [f"its cells differ from {chapter.script.name}: run `make notebooks`"]
    return []


def executed(chapter: Chapter) -> list[str]:
    """Outputs are there, come from these very cells run in order, and hold no error."""
    found = []
    if chapter.code and not any(c.outputs for c in chapter.code):
        found.append("no outputs")
    if chapter.notebook.metadata.get("executed", {}).get("cells") != cells_hash(chapter.notebook):
        found.append("cells were changed after the outputs were made: run `make notebooks`")
    counts = [c.execution_count for c in chapter.code]
    if counts != list(range(1, len(counts) + 1)):
        found.append(f"cells were not run once each in order: {counts}")
    found += [f"an error in: {first(c)}" for c, out in chapter.outputs() if out.output_type == "error"]
    return found


def clean(chapter: Chapter) -> list[str]:
    """No warning, no smoke run, no path or address of the machine that ran it."""
    found = []
    for cell, out in chapter.outputs():
        text = text_of(out)
        if out.get("name") == "stderr":
            found.append(f"text on stderr from: {first(cell)}")
        if "smoke run" in text.lower():
            found.append(f"a smoke run's output: {first(cell)}")
        if ADDRESS.search(text):
            found.append(f"an address in memory, different in every run: {first(cell)}")
        if MATHS.search(out.get("data", {}).get("text/markdown", "")):
            found.append(f"maths in Markdown that a cell printed, which a page shows as dollars: {first(cell)}")
        if ABSOLUTE.search(text):
            found.append(f"an absolute path in the output of: {first(cell)}")
    return found + [f"an absolute path in: {first(c)}" for c in chapter.notebook.cells if ABSOLUTE.search(c.source)]


def described(chapter: Chapter) -> list[str]:
    """Every figure has alt text: by cell metadata mystnb.image.alt, or in the HTML of the output."""
    found = []
    for cell, out in chapter.outputs():
        data = out.get("data", {})
        pictures = any(kind.startswith("image/") for kind in data)
        alt = cell.metadata.get("mystnb", {}).get("image", {}).get("alt", "")
        if pictures and len(alt.strip()) < 10:
            found.append(f"a figure without alt text: {first(cell)}")
        images = BeautifulSoup(data.get("text/html", ""), "html.parser").find_all("img")
        if not all(image.get("alt", "").strip() for image in images):
            found.append(f"an HTML image without alt text: {first(cell)}")
    return found


def readable(chapter: Chapter) -> list[str]:
    """Short cells, short lines, a file that loads quickly."""
    found = []
    for cell in chapter.code:
        lines = cell.source.splitlines()
        if len(lines) > LINES:
            found.append(f"{len(lines)} lines in: {first(cell)}")
        # A page shows about 85 characters; what it folds away may be as long as the linter allows.
        folded = {"hide-input", "hide-cell", "remove-input", "remove-cell"} & set(cell.metadata.get("tags", []))
        limit = FOLDED if folded else COLUMNS
        found += [f"a line of {len(line)} characters: {line[:60]}" for line in lines if len(line) > limit]
    if (size := chapter.path.stat().st_size) > BYTES:
        found.append(f"{size / 1e6:.1f} MB; {BYTES / 1e6} are allowed")
    return found


def stable(chapter: Chapter) -> list[str]:
    """Metadata and cell ids are those that `make notebooks` writes, so a refresh changes only what changed."""
    notebook, found = chapter.notebook, []
    if dict(notebook.metadata.get("kernelspec", {})) != KERNEL:
        found.append(f"kernelspec is {dict(notebook.metadata.get('kernelspec', {}))}, not python3's")
    rewritten = normalised(nbformat.read(chapter.path, as_version=4), outputs=True)
    if nbformat.writes(rewritten) != nbformat.writes(notebook):
        found.append(
            "cell ids, time stamps, widget state or other metadata that are not as `make notebooks` writes them"
        )
    return found


def parameters(chapter: Chapter) -> list[str]:
    """papermill can list the parameters, and `smoke` is one, where there is code."""
    declared = papermill.inspect_notebook(str(chapter.path))
    if chapter.code and "smoke" not in declared:
        return [f"no parameter `smoke`; papermill sees {sorted(declared)}"]
    return [f"parameter {n} has no help" for n, p in declared.items() if not p["help"].strip()]


def sparing(chapter: Chapter) -> list[str]:
    """At most one folded cell without an output in a row: a reader should not open two bars to see nothing."""
    found, before = [], None
    for cell in chapter.notebook.cells:
        tags = set(cell.metadata.get("tags", []))
        if "remove-cell" in tags:
            continue
        folded = cell.cell_type == "code" and bool({"hide-input", "hide-cell"} & tags)
        silent = folded and (not cell.outputs or "remove-output" in tags)
        if folded and before is not None:
            found.append(f"two folded cells in a row, the first without output: {first(before)}; {first(cell)}")
        before = cell if silent else None
    return found


def not_dropped(chapter: Chapter) -> list[str]:
    """Nothing is made to be read and then dropped: only what ends a cell is shown, be it half a sentence or a table."""
    found = []
    for cell in chapter.code:
        tree = ast.parse(re.sub(r"^\s*[%!].*", "", cell.source, flags=re.M))
        blocks = [getattr(node, name, ()) for node in ast.walk(tree) for name in ("body", "orelse")]
        for block in (block for block in blocks if isinstance(block, list)):
            rest = block[:-1] if block is tree.body else block[1:]  # the first of another block may describe it
            lost = [one for one in rest if isinstance(one, ast.Expr) and _to_be_shown(one.value)]
            text = [
                one
                for one in block[1:]
                if isinstance(one, ast.Expr) and isinstance(one.value, (ast.Constant, ast.JoinedStr))
            ]
            found += [f"made and never shown, for it does not end the cell: {ast.unparse(one)[:60]}" for one in lost]
            found += [f"a string that nothing uses: {ast.unparse(one)[:60]}" for one in text if one not in lost]
    return found


def _to_be_shown(value: ast.expr) -> bool:
    """Whether an expression has no other use than its value: no call, or one of a class or of what makes tables."""
    if isinstance(value, ast.Call):
        name = ast.unparse(value.func)
        return name.split(".")[-1][:1].isupper() or name.startswith("paper.")
    return not isinstance(value, (ast.Await, ast.Yield, ast.YieldFrom))


def checked(chapter: Chapter) -> list[str]:
    """Sentences that a check holds stand in the text above it, and checks hold every number among the findings."""
    return sentences.unsaid(chapter.notebook.cells)


CHECKS = (checked, paired, executed, clean, described, readable, stable, parameters, sparing, not_dropped)

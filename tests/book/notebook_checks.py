"""What a committed chapter must satisfy: one function a demand, which returns its complaints as sentences."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from copy import deepcopy
from itertools import pairwise
from pathlib import Path

import jupytext
import nbformat
import papermill
from bs4 import BeautifulSoup

from chapters import Book, cells_hash, normalised
from icrlib.experiments.check import printed
from unchecked import MAGIC, sentences

LINES, COLUMNS, FOLDED, BYTES = 25, 92, 122, 1_500_000
ABSOLUTE = re.compile(r"(?<![\w.:/~-])/(?:home|work|tmp|root|Users|private|opt|mnt)/\w|[A-Z]:\\\\?Users")
ADDRESS = re.compile(r"\bat 0x[0-9a-f]{6,}")
MATHS = re.compile(r"\$[^$\n]+\$")
# The text of the section, up to the next heading of its level.
FOUND = re.compile(r"^## What we found[^\n]*\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
ROLE = re.compile(r"\{[\w:-]+\}`(?:([^`<]*?)\s*<[^`]*>|[^`]*)`")
LINK = re.compile(r"\[([^\]]*)\]\([^)\s]*\)")
MARKUP = re.compile(r"\*\*|[*_`$]")
PICTURE = re.compile(r"data:image/[\w+]+;base64,[A-Za-z0-9+/=]*")


class Chapter:
    """A committed notebook and its pair."""

    def __init__(self, path: Path):
        self.path = path
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
    kinds = [v for k, v in out.get("data", {}).items() if isinstance(v, str) and not k.startswith("image/")]
    return PICTURE.sub("", "\n".join([out.get("text", ""), *kinds]))


def paired(chapter: Chapter) -> list[str]:
    """The .py has the same cells."""
    if cells_hash(jupytext.read(chapter.path.with_suffix(".py"))) == cells_hash(chapter.notebook):
        return []
    return ["its cells differ from those of its .py: run `make notebooks`"]


def executed(chapter: Chapter) -> list[str]:
    """Outputs are there, come from cells run in order, and hold no error. Of these very cells: :func:`stable`."""
    found = []
    if chapter.code and not any(c.outputs for c in chapter.code):
        found.append("no outputs")
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
        faults = {
            "text on stderr from": out.get("name") == "stderr",
            "a smoke run's output": "smoke run" in text.lower(),
            "an address in memory, different in every run": ADDRESS.search(text),
            "maths in Markdown that a cell printed, which a page shows as dollars": MATHS.search(
                out.get("data", {}).get("text/markdown", "")
            ),
            "an absolute path in the output of": ABSOLUTE.search(text),
        }
        found += [f"{fault}: {first(cell)}" for fault, there in faults.items() if there]
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
    """All is as `make notebooks` writes it: metadata, cell ids, and a note that the outputs are of these very cells."""
    if nbformat.writes(normalised(deepcopy(chapter.notebook), outputs=True)) == nbformat.writes(chapter.notebook):
        return []
    return ["other cells than those that were run, or ids or metadata of others: run `make notebooks`"]


def parameters(chapter: Chapter) -> list[str]:
    """papermill can list the parameters, and `smoke` is one, where there is code."""
    declared = papermill.inspect_notebook(str(chapter.path))
    if chapter.code and "smoke" not in declared:
        return [f"no parameter `smoke`; papermill sees {sorted(declared)}"]
    return [f"parameter {n} has no help" for n, p in declared.items() if not p["help"].strip()]


def sparing(chapter: Chapter) -> list[str]:
    """At most one folded cell without an output in a row: a reader should not open two bars to see nothing."""
    tagged = [(cell, set(cell.metadata.get("tags", []))) for cell in chapter.notebook.cells]
    seen = [(c, tags, {"hide-input", "hide-cell"} & tags) for c, tags in tagged if "remove-cell" not in tags]
    return [
        f"two folded cells in a row, the first without output: {first(one)}; {first(other)}"
        for (one, tags, folded), (other, _, folded_too) in pairwise(seen)
        if folded and folded_too and (not one.get("outputs") or "remove-output" in tags)
    ]


def not_dropped(chapter: Chapter) -> list[str]:
    """Nothing is made to be read and then dropped: only what ends a cell is shown, be it half a sentence or a table."""
    found = []
    for cell in chapter.code:
        tree = ast.parse(MAGIC.sub("", cell.source))
        inner = [
            getattr(node, name, ()) for node in tree.body for node in ast.walk(node) for name in ("body", "orelse")
        ]
        # The first of another block may describe it.
        blocks = [tree.body[:-1], *(block[1:] for block in inner if isinstance(block, list))]
        lost = [one for block in blocks for one in block if isinstance(one, ast.Expr) and _to_be_shown(one.value)]
        found += [f"made and never shown, for it does not end the cell: {ast.unparse(one)[:60]}" for one in lost]
    return found


def _to_be_shown(value: ast.expr) -> bool:
    """Whether an expression has no other use than its value: no call, or one of a class or of what makes tables."""
    if isinstance(value, ast.Call):
        name = ast.unparse(value.func)
        return name.split(".")[-1][:1].isupper() or name.startswith("paper.")
    return not isinstance(value, (ast.Await, ast.Yield, ast.YieldFrom))


def plain(text: str) -> str:
    """A text without markup and with single spaces, so that a sentence may be broken and set as one likes."""
    text = LINK.sub(r"\1", ROLE.sub(lambda role: role[1] or " ", text))
    return " ".join(MARKUP.sub("", text).split())


def checked(chapter: Chapter) -> list[str]:
    """Sentences that a check holds stand in the text above it, and checks hold every number of "What we found"."""
    wrong, above, every = [], "", []
    for cell in chapter.notebook.cells:
        if cell.cell_type == "markdown":
            above += f"\n\n{cell.source}"
        elif cell.cell_type == "code":
            held = [plain(sentence) for sentence in sentences(cell.source)]
            every += held
            missing = [sentence for sentence in held if sentence not in plain(above)]
            wrong += [f"a check has a sentence that the text above does not say: “{one}”" for one in missing]
    left = plain("".join(FOUND.findall(above)))
    for sentence in sorted(every, key=len, reverse=True):
        left = left.replace(sentence, " ")
    if numbers := printed(left):
        wrong.append(f"no check holds these numbers of “What we found”: {', '.join(numbers)}")
    return wrong


CHECKS = (checked, paired, executed, clean, described, readable, stable, parameters, sparing, not_dropped)

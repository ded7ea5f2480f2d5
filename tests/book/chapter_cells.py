"""A chapter's code cells, run one after the other without a kernel."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from itertools import takewhile
from pathlib import Path

import jupytext
import matplotlib.pyplot as plt


def run(script: Path) -> tuple[dict, list[str]]:
    """The names that the cells before the exercises define, and what those that end in an expression show, as text."""
    return execute(takewhile(lambda source: "mine = ..." not in source, sources(script)))


def sources(script: Path) -> list[str]:
    """The code of a chapter's cells, without the one that is about Colab."""
    return [
        cell.source
        for cell in jupytext.read(script).cells
        if cell.cell_type == "code" and "colab-setup" not in cell.metadata.get("tags", [])
    ]


def taken(script: Path, start: str, last: int | str = 1, until: str = "\0") -> list[str]:
    """The cells from the one that begins with ``start``: so many, or to the one that begins with ``last``.

    Of each only what stands before ``until``.
    """
    cells = sources(script)
    cells = cells[next(k for k, cell in enumerate(cells) if cell.startswith(start)) :]
    end = last if isinstance(last, int) else 1 + next(k for k, cell in enumerate(cells) if cell.startswith(last))
    return [cell.split(until)[0] for cell in cells[:end]]


def execute(cells: Iterable[str], names: dict | None = None) -> tuple[dict, list[str]]:
    """The ``names`` and those that the ``cells`` define, and what cells that end in an expression show, as text."""
    names, shown = dict(names or {}), []
    for source in cells:
        tree = ast.parse(source)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, "cell", "exec"), names)
        if last is not None:
            out = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
            shown.append(str(getattr(out, "data", "")))
    plt.close("all")
    return names, shown

"""A chapter's code cells, run one after the other without a kernel."""

from __future__ import annotations

import ast
from pathlib import Path

import jupytext
import matplotlib.pyplot as plt


def run(script: Path) -> tuple[dict, list[str]]:
    """The names that the cells before the exercises define, and what those that end in an expression show, as text."""
    names, shown = {}, []
    for cell in jupytext.read(script).cells:
        if cell.cell_type != "code" or "colab-setup" in cell.metadata.get("tags", []):
            continue
        if "mine = ..." in cell.source:
            break
        tree = ast.parse(cell.source)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, "cell", "exec"), names)
        if last is not None:
            out = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
            shown.append(str(getattr(out, "data", "")))
    plt.close("all")
    return names, shown

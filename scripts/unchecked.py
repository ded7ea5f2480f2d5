"""List the numbers of a page that no check holds, for its author: settings, years, or results that were forgotten.

python scripts/unchecked.py book/training/losses.py
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter

import jupytext

from icrlib.experiments.check import printed

MAGIC = re.compile(r"^\s*[%!].*", re.MULTILINE)
NO_TEXT = re.compile(r"```.*?```|`[^`]*`|\$[^$]*\$|\{[^}]*\}|^#+ .*$", re.MULTILINE | re.DOTALL)


def main(page: str) -> None:
    cells, text, held = jupytext.read(page).cells, "", Counter()
    for cell in cells:
        if cell.cell_type == "markdown":
            text += " " + NO_TEXT.sub(" ", cell.source)
        elif cell.cell_type == "code":
            held.update(token for sentence in sentences(cell.source) for token in printed(sentence))
    for sentence in re.split(r"(?<=[.:;?!])\s+", text):
        free = Counter(printed(sentence)) - held
        held -= Counter(printed(sentence))
        if free:
            print(f"{', '.join(free)}: {' '.join(sentence.split())}")


def sentences(source: str) -> list[str]:
    """The first arguments of the calls of ``check`` in a cell of code."""
    calls = [node for node in ast.walk(ast.parse(MAGIC.sub("", source))) if isinstance(node, ast.Call)]
    checks = [call for call in calls if getattr(call.func, "id", getattr(call.func, "attr", "")) == "check"]
    return [c.args[0].value for c in checks if c.args and isinstance(c.args[0], ast.Constant) and c.args[0].value]


if __name__ == "__main__":
    main(sys.argv[1])

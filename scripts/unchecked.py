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

NO_TEXT = re.compile(r"```.*?```|`[^`]*`|\$[^$]*\$|\{[^}]*\}|^#+ .*$", re.MULTILINE | re.DOTALL)


def main(page: str) -> None:
    cells, text, held = jupytext.read(page).cells, "", Counter()
    for cell in cells:
        if cell.cell_type == "markdown":
            text += " " + NO_TEXT.sub(" ", cell.source)
        elif cell.cell_type == "code":
            code = "\n".join(line for line in cell.source.splitlines() if not line.startswith("%"))
            held.update(token for sentence in sentences(code) for token in printed(sentence))
    for sentence in re.split(r"(?<=[.:;?!])\s+", text):
        free = Counter(printed(sentence)) - held
        held -= Counter(printed(sentence))
        if free:
            print(f"{', '.join(free)}: {' '.join(sentence.split())}")


def sentences(code: str) -> list[str]:
    """The first arguments of the calls of ``check``."""
    calls = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
    checks = [call for call in calls if getattr(call.func, "id", "") == "check" and call.args]
    return [call.args[0].value for call in checks if isinstance(call.args[0], ast.Constant)]


if __name__ == "__main__":
    main(sys.argv[1])

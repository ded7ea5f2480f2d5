"""Do the sentences that a chapter checks stand in its text, and does a check hold every number of "What we found"?"""

from __future__ import annotations

import ast
import re

import nbformat
from IPython.core.inputtransformer2 import TransformerManager

from icrlib.experiments.check import printed

FINDINGS = "What we found"
ROLE = re.compile(r"\{[\w:-]+\}`(?:([^`<]*?)\s*<[^`]*>|[^`]*)`")
LINK = re.compile(r"\[([^\]]*)\]\([^)\s]*\)")
MARKUP = re.compile(r"\*\*|[*_`$]")


def plain(text: str) -> str:
    """A text without markup and with single spaces, so that a sentence may be broken and set as one likes."""
    text = LINK.sub(r"\1", ROLE.sub(lambda role: role[1] or " ", text))
    return " ".join(MARKUP.sub("", text).split())


def checked(source: str) -> list[str]:
    """The first arguments of the calls of ``check`` in a cell of code."""
    tree = ast.parse(TransformerManager().transform_cell(source))
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    named = (call for call in calls if getattr(call.func, "id", getattr(call.func, "attr", "")) == "check")
    return [c.args[0].value for c in named if c.args and isinstance(c.args[0], ast.Constant) and c.args[0].value]


def findings(cells: list[nbformat.NotebookNode]) -> str:
    """The markdown under "What we found", up to the next heading of its level."""
    text = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    section = re.search(rf"^## {FINDINGS}[^\n]*\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    return section[1] if section else ""


def unsaid(cells: list[nbformat.NotebookNode]) -> list[str]:
    """What is wrong with a chapter's sentences: checked ones that no text above says, findings that no check holds."""
    wrong, above, every = [], "", []
    for cell in cells:
        if cell.cell_type == "markdown":
            above += " " + plain(cell.source)
        elif cell.cell_type == "code":
            for sentence in map(plain, checked(cell.source)):
                every.append(sentence)
                if sentence not in above:
                    wrong.append(f"a check has a sentence that the text above does not say: “{sentence}”")
    left = plain(findings(cells))
    for sentence in sorted(every, key=len, reverse=True):
        left = left.replace(sentence, " ")
    if numbers := printed(left):
        wrong.append(f"no check holds these numbers of “{FINDINGS}”: {', '.join(numbers)}")
    return wrong

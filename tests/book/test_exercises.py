"""Self-checking cells: they pass the chapter's own answer, refuse a planted wrong one, and wait for a missing one."""

from __future__ import annotations

import ast
import inspect
import re
from contextlib import suppress
from functools import partial
from pathlib import Path

import jupytext
import numpy as np
import pytest
import torch

from answers import WRONG

BOOK = Path(__file__).parents[2] / "book"
SCRIPTS = {path: path.read_text("utf-8") for path in sorted(BOOK.rglob("*.py"))}
CHECKS = [(check, path) for path, text in SCRIPTS.items() for check in re.findall(r"^def (check_\w+)", text, re.M)]
GIVEN = re.compile(r"scores = torch\.tensor|ranks = \[")  # small examples that checks or solutions rest on


def load(function: str, chapter: Path) -> tuple:
    """The checking function, and the answer that the folded solution hands to it; nothing else of the chapter runs."""
    names, answers = {}, []
    cells = [cell for cell in jupytext.read(chapter).cells if cell.cell_type == "code"]
    for source in (cell.source for cell in cells if "colab-setup" not in cell.metadata.get("tags", [])):
        tree = ast.parse(source)
        imports = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
        exec(compile(ast.Module(imports, []), chapter, "exec"), names)
        if GIVEN.match(source):
            exec(source, names)
        if f"def {function}(" in source:
            exec(source.split(f"\n{function}(")[0], names)
        elif f"\n{function}(" in f"\n{source}":
            scope = names | {function: answers.append}
            for node in tree.body:
                with suppress(NameError):  # what shows the answer on the chapter's runs, which are not here
                    exec(compile(ast.Module([node], []), chapter, "exec"), scope)
    (right,) = answers
    return names[function], right


def of_other_precision(right) -> list:
    """The same answer as a reader may have it: in single precision, as a list, as an array."""
    if callable(right):
        return [lambda *args: next(iter(of_other_precision(right(*args))), right(*args))]
    if isinstance(right, torch.Tensor) and right.is_floating_point() and not right.requires_grad:
        return [right.float(), right.double(), right.tolist(), right.float().numpy()]
    if isinstance(right, (float, np.floating)) and not isinstance(right, bool):
        return [np.float32(right), torch.tensor(float(right))]
    numbers = isinstance(right, (list, tuple)) and all(type(x) in (int, float) for x in right)
    if numbers and any(type(x) is float for x in right):
        return [torch.tensor(right), torch.tensor(right).double(), [float(np.float32(x)) for x in right]]
    return []


@pytest.mark.parametrize(("function", "chapter"), CHECKS, ids=[check for check, _ in CHECKS])
def test_a_check_tells_right_answers_from_wrong_ones(function, chapter):
    check, right = load(function, chapter)
    assert check(...) == "your turn"
    for answer in (right, *of_other_precision(right)):
        assert check(answer) == "right", answer
    for answer in WRONG[function]:
        if callable(answer) and next(iter(inspect.signature(answer).parameters), "") == "right":
            answer = partial(answer, right) if callable(right) else answer(right)
        with pytest.raises(AssertionError, match="not yet"):
            check(answer)


def test_every_check_of_the_book_has_wrong_answers():
    assert sorted(WRONG) == sorted(check for check, _ in CHECKS)

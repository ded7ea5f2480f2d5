"""Self-checking cells: they pass a right answer, refuse a planted wrong one, and wait for one that is missing."""

from __future__ import annotations

import re
from pathlib import Path

import jupytext
import numpy as np
import pytest
import torch

import icrlib.losses
from answers import CHECKS

BOOK = Path(__file__).parents[2] / "book"


def cells(chapter: str) -> list[str]:
    return [cell.source for cell in jupytext.read(BOOK / f"{chapter}.py").cells if cell.cell_type == "code"]


def load(chapter: str, function: str) -> dict:
    """The checking function with the definitions that it uses, without the call at the end of its cell."""
    names = {"torch": torch, "np": np, **{name: getattr(icrlib.losses, name) for name in icrlib.losses.__all__}}
    for source in cells(chapter):
        if re.match(r"scores = torch\.tensor", source):
            exec(source, names)
        if f"def {function}(" in source:
            exec(source.split(f"\n{function}(")[0], names)
    return names


@pytest.mark.parametrize(("chapter", "function", "right", "wrong"), CHECKS, ids=[c[1] for c in CHECKS])
def test_a_check_can_fail(chapter, function, right, wrong):
    check = load(chapter, function)[function]
    assert check(right) == "right" and check(...) == "your turn"
    for answer in wrong:
        with pytest.raises(AssertionError, match="not yet"):
            check(answer)


def test_every_check_of_the_book_is_listed_here():
    scripts = {str(path.relative_to(BOOK).with_suffix("")): path.read_text() for path in BOOK.rglob("*.py")}
    found = {(name, check) for name, text in scripts.items() for check in re.findall(r"^def (check_\w+)", text, re.M)}
    assert found == {(chapter, function) for chapter, function, *_ in CHECKS}


@pytest.mark.parametrize("chapter", sorted({c[0] for c in CHECKS}))
def test_solutions_run_with_the_chapter(chapter):
    """A folded solution calls the check with the right answer, so executing the chapter tests it."""
    lines = "\n".join(cells(chapter)).splitlines()
    calls = [re.match(r"check_\w+", line) for line in lines if "(mine)" not in line]
    calls = {call.group() for call in calls if call}
    assert calls == {function for name, function, *_ in CHECKS if name == chapter}

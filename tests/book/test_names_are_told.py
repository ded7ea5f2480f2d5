"""Whoever meets the name of a loss or a model finds it: where a run is asked for, and among the book's words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from icrlib.losses import LOSSES
from icrlib.names import METHODS

ROOT = Path(__file__).resolve().parents[2]
ASKING = (ROOT / "book" / "reproduce" / "run.py").read_text("utf-8").split("# ## The data")[0]
WORDS = (ROOT / "book" / "reference" / "words.md").read_text("utf-8").casefold()
UNNAMED = {"alignment"}  # its label is a formula, "1 − cosine"


@pytest.mark.parametrize("name", [*LOSSES, *METHODS])
def test_the_page_of_one_run_names_it(name):
    assert re.search(rf"(?<![\w+]){re.escape(name)}(?![\w+])", ASKING)


@pytest.mark.parametrize("name", sorted({*LOSSES, *METHODS} - UNNAMED))
def test_it_is_a_word_of_the_glossary(name):
    """ "NT-Xent, hardest" is NT-Xent."""
    kind = LOSSES[name] if name in LOSSES else METHODS[name]
    assert f"\n{kind.label.split(',')[0].casefold()}\n" in WORDS

"""The ledger of GOAL's claims sends its readers to sections of two chapters: they are there."""

from __future__ import annotations

import re
from pathlib import Path

from chapters import Book

ROOT = Path(__file__).resolve().parents[2]


def test_each_section_that_the_ledger_names_exists():
    book = Book(ROOT)
    page = book.path("reproduce/goal-tables", ".py").read_text(encoding="utf-8")
    named = re.findall(r'\d+: "([^"]+)"', page.split("WHERE = {", 1)[1].split("}", 1)[0])
    pages = {}
    for chapter in ("objectives/goal", "objectives/integrate"):
        text = book.path(chapter, ".py").read_text(encoding="utf-8")
        pages[re.search(r"^# # (.+)$", text, re.M)[1]] = re.findall(r"^# ##+ (.+)$", text, re.M)
    assert len(named) == 10
    for section in named:
        assert any(heading.startswith(section) for headings in pages.values() for heading in headings), section
    for title in pages:
        assert f'"{title}"' in page  # as the ledger calls the page

"""Where the book's records are."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).parents[1]


def root() -> Path:
    """The folder of the book's records: ``records/`` of a checkout, else the copy inside the installed package."""
    checkout = PACKAGE.parent / "records"
    here = checkout.is_dir() and (PACKAGE.parent / "pyproject.toml").exists()
    return checkout if here else PACKAGE / "_records"

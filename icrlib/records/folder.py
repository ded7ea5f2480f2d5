"""The checkout that the library runs from, if it is one: where its records are, and at which commit it stands."""

from __future__ import annotations

import subprocess
from pathlib import Path

PACKAGE = Path(__file__).parents[1]


def root() -> Path:
    """The folder of the book's records: ``records/`` of a checkout, else the copy inside the installed package."""
    checkout = PACKAGE.parent / "records"
    here = checkout.is_dir() and (PACKAGE.parent / "pyproject.toml").exists()
    return checkout if here else PACKAGE / "_records"


def commit_of_code() -> str | None:
    """The commit of the checkout that the library runs from, with "+" behind it where files of the library differ.

    None for an installed library, whose version stands in the record, and where there is no git.
    """
    if not (PACKAGE.parent / ".git").exists():
        return None
    try:
        commit = _git("rev-parse", "--short=12", "HEAD")
        changed = _git("status", "--porcelain", "--untracked-files=no", "--", PACKAGE.name)
    except (OSError, subprocess.CalledProcessError):
        return None
    return commit + ("+" if changed else "")


def _git(*words: str) -> str:
    where = {"cwd": PACKAGE.parent, "text": True, "capture_output": True, "check": True, "stdin": subprocess.DEVNULL}
    return subprocess.run(["git", "--no-optional-locks", *words], **where).stdout.strip()

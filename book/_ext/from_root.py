"""`jupyter-book build .` at the repository's root, where _config.yml and _toc.yml lie: the pages are in book/."""

from __future__ import annotations

from pathlib import Path

from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict:
    """Before anything is read: the extensions are the first that Sphinx asks."""
    pages = Path(app.srcdir) / "book"
    if (pages / "intro.ipynb").is_file():
        app.srcdir = app.confdir = type(app.srcdir)(pages)
    return {"parallel_read_safe": True}

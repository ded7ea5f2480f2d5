"""Where generated data is kept."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def cache_dir() -> Path:
    """Where generated data is kept: ``$ICRLIB_CACHE``, else the user's cache folder. Safe to delete."""
    return Path(os.environ.get("ICRLIB_CACHE") or platformdirs.user_cache_dir("icrlib"))

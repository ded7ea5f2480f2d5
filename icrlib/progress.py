"""Progress bars: on by default, off where the caller or ``TQDM_DISABLE=1`` says so."""

from __future__ import annotations

import os

from tqdm.auto import tqdm


def bar(items, description: str, shown: bool = True, **options) -> tqdm:
    """A tqdm bar over ``items`` (or ``None`` with ``total=``)."""
    # tqdm's notebook bar does not read the variable itself.
    shown = shown and os.environ.get("TQDM_DISABLE", "") in ("", "0")
    return tqdm(items, desc=description, disable=not shown, **options)

"""Progress bars: on by default, off where the caller or ``TQDM_DISABLE=1`` says so."""

from __future__ import annotations

from tqdm.auto import tqdm


def bar(items, description: str, shown: bool = True, **options) -> tqdm:
    """A tqdm bar over ``items`` (or ``None`` with ``total=``)."""
    # Passing disable=False would overrule the environment, so it is passed only to switch off.
    return tqdm(items, desc=description, **({} if shown else {"disable": True}), **options)

"""One way to refuse an unknown name: say what was got, what is allowed, and what was probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def choose(got: str, allowed: Iterable[str], what: str, more: Iterable[str] = ()) -> str:
    """Return ``got`` if it is one of ``allowed``; else raise a ``ValueError`` that lists them.

    ``more``: patterns that are allowed too, for the message.
    """
    allowed = list(allowed)
    if got in allowed:
        return got
    near = difflib.get_close_matches(str(got).lower(), allowed, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise ValueError(f"unknown {what} {got!r}; allowed: {', '.join(map(repr, [*allowed, *more]))}.{hint}")

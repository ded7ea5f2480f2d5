"""What every chapter does first: look the same, and know whether this is a smoke run."""

from __future__ import annotations

import os
import warnings

from icrlib import plots


def start(smoke: bool = False) -> bool:
    """Set the book's figure style; return whether to run at smoke scale (the parameter, or ``ICR_SMOKE=1``).

    A smoke run says so in the output, so that its figures are never taken for results.
    """
    plots.style()
    warnings.filterwarnings("ignore", message="IProgress not found")
    smoke = smoke or os.environ.get("ICR_SMOKE", "") not in ("", "0")
    if smoke:
        print(
            "smoke run: tiny data and a few updates, to see that everything works; its numbers mean nothing"
        )
    return smoke

"""Memory that is given back to the system between two steps of training costs more than the arithmetic."""

from __future__ import annotations

import ctypes
import platform

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # names of malloc.h


def keep_freed() -> bool:
    """Ask the C library to keep freed memory for the next step; whether it does (only glibc has this).

    By default glibc hands matrices of some MB back to the system when they are freed and gets them anew, page by page
    and zeroed, a moment later. In a step of SmoothAP that is a third of the time, in a deep network half of it. The
    process holds on to at most 1 GB.
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    library = ctypes.CDLL(None)
    return bool(library.mallopt(MMAP_THRESHOLD, 32 << 20) and library.mallopt(TRIM_THRESHOLD, 1 << 30))

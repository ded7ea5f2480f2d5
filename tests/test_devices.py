"""Freed memory is kept where the C library can do that, and only there."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

from icrlib import devices

COUNT = """
import resource, sys, torch
from icrlib import devices

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    blocks = [torch.ones(2 << 20) for _ in range(12)]  # 8 MB each: more than the library keeps by itself
    del blocks
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

if sys.argv[1] == "keep":
    assert devices.keep_freed()
faults()
print(faults())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has these settings")
def test_freed_memory_is_not_fetched_again():
    """Matrices that are freed and made again: each page of them was a fault, and few are.

    Where the heap grew in pieces, a block that fits in none of them is fetched once more: up to 3 of the 12 were seen,
    and never the same number in all processes. Without the setting it is all 12.
    """
    plain, kept = (int(subprocess.run([sys.executable, "-c", COUNT, word], capture_output=True, check=True).stdout)
                   for word in ("plain", "keep"))  # fmt: skip
    assert kept < plain / 2


def test_elsewhere_nothing_is_done(monkeypatch):
    monkeypatch.setattr(platform, "libc_ver", lambda: ("", ""))
    assert devices.keep_freed() is False

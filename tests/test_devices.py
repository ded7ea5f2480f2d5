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
    for size in range(8, 28):  # MB; each larger than all before: a size once seen is kept anyway
        torch.ones(size << 18)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

if sys.argv[1] == "keep":
    assert devices.keep_freed()
print(faults())
"""


@pytest.mark.process
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has these settings")
def test_freed_memory_is_not_fetched_again():
    """Matrices that are freed and made again, a little larger: all their pages were faults, and only what is new is.

    One is alive at a time, so that it does not matter whether the heap grew in one piece. How much is fetched again all
    the same depends on the system (seen: a tenth to a third); without the setting it is everything.
    """
    plain, kept = (
        int(subprocess.run([sys.executable, "-c", COUNT, word], capture_output=True, check=True).stdout)
        for word in ("plain", "keep")
    )
    assert kept < plain / 2


def test_elsewhere_nothing_is_done(monkeypatch):
    monkeypatch.setattr(platform, "libc_ver", lambda: ("", ""))
    assert devices.keep_freed() is False

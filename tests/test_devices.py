"""Freed memory is kept where the C library can do that, and only there; what a device must be able to do."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest
import torch

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
    """One matrix is alive at a time, so that it does not matter whether the heap grew in one piece. How much is fetched
    again all the same depends on the system (seen: a tenth to a third); without the setting it is everything."""
    plain, kept = (
        int(subprocess.run([sys.executable, "-c", COUNT, word], capture_output=True, check=True).stdout)
        for word in ("plain", "keep")
    )
    assert kept < plain / 2


def test_elsewhere_nothing_is_done_and_nothing_fails(monkeypatch):
    """Windows has no glibc and no module `resource`."""
    assert devices.peak_memory_mb() > 50
    monkeypatch.setattr(platform, "libc_ver", lambda: ("", ""))
    monkeypatch.setitem(sys.modules, "resource", None)
    assert devices.keep_freed() is False and devices.peak_memory_mb() == 0


def test_a_device_without_float64_is_refused_before_anything_starts(monkeypatch):
    """As PyTorch answers on a Mac."""
    real = torch.empty

    def of_a_mac(*size, device=None, dtype=None):
        if device == "mps" and dtype == torch.float64:
            raise TypeError("Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64")
        return real(*size, device="cpu" if device == "mps" else device, dtype=dtype)

    monkeypatch.setattr(torch, "empty", of_a_mac)
    assert devices.device("cpu") == "cpu"
    with pytest.raises(ValueError, match="float64"):
        devices.device("mps")

"""Freed memory is kept where the C library can do that, and only there."""

from __future__ import annotations

import platform
import resource

import pytest
import torch

from icrlib import memory


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has these settings")
def test_freed_memory_is_not_fetched_again():
    """A matrix of 8 MB, freed and made again: the pages are there already (each would be a fault)."""
    assert memory.keep_freed()

    def faults() -> int:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for _ in range(20):
            torch.ones(2 << 20)
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

    faults()
    assert faults() < 20 * (8 << 20) // 4096 / 4


def test_elsewhere_nothing_is_done(monkeypatch):
    monkeypatch.setattr(platform, "libc_ver", lambda: ("", ""))
    assert memory.keep_freed() is False

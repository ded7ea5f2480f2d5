"""Freed memory is kept where the C library can do that, and only there; what a device must be able to do."""

from __future__ import annotations

import platform
import sys

import pytest
import torch

from icrlib import devices


def test_memory_is_kept_by_glibc_and_elsewhere_nothing_fails(monkeypatch):
    """Windows has no glibc and no module `resource`."""
    assert devices.peak_memory_mb() > 50 and devices.keep_freed() is (platform.libc_ver()[0] == "glibc")
    monkeypatch.setattr(platform, "libc_ver", lambda: ("", ""))
    monkeypatch.setitem(sys.modules, "resource", None)
    assert devices.keep_freed() is False and devices.peak_memory_mb() == 0


def test_a_device_without_float64_is_refused_before_anything_starts(monkeypatch):
    """As PyTorch answers on a Mac."""
    real = torch.empty

    def of_a_mac(*size, device, dtype):
        if device == "mps":
            raise TypeError("Cannot convert a MPS Tensor to float64 dtype")
        return real(*size, device=device, dtype=dtype)

    monkeypatch.setattr(torch, "empty", of_a_mac)
    assert devices.device("cpu") == "cpu"
    with pytest.raises(ValueError, match="float64"):
        devices.device("mps")

"""The machine: which device computes, in which precision, what it is, and how its memory is kept."""

from __future__ import annotations

import ctypes
import platform
import sys
from functools import cache
from pathlib import Path

import torch

PRECISIONS = ("float32", "bfloat16", "float16")
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # names of malloc.h


def device(name: str) -> str:
    """``"auto"`` is CUDA where there is one; anything else must name a device that is there and has float64.

    Measures, λ and counts are float64, which Apple's GPUs (mps) lack.
    """
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(0, device=name, dtype=torch.float64)
    except (RuntimeError, AssertionError, TypeError) as err:
        there = ["auto", "cpu", *(f"cuda:{i}" for i in range(torch.cuda.device_count()))]
        raise ValueError(f"no device {name!r} with float64 is available; allowed here: {', '.join(there)}") from err
    return name


def keep_freed() -> bool:
    """Ask the C library to keep freed memory for the next step; whether it does (only glibc has this).

    By default glibc hands matrices of some MB back to the system when they are freed and gets them anew, page by page
    and zeroed, a moment later. In a step of SmoothAP that is a third of the time, in a deep network half of it. The
    process holds on to at most 1 GB. This changes the whole process, so it is the choice of whoever owns it: the
    command line and the notebooks make it, ``icrlib.train`` does not.
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    library = ctypes.CDLL(None)
    return bool(library.mallopt(MMAP_THRESHOLD, 32 << 20) and library.mallopt(TRIM_THRESHOLD, 1 << 30))


def describe(device: str) -> dict[str, str]:
    """What computed: its name and its capability (vector units of a CPU, compute capability of a GPU).

    Two machines with other vector units add in another order, so their last digits differ, and training amplifies
    these.
    """
    if device.startswith("cuda"):
        major, minor = torch.cuda.get_device_capability(device)
        return {"name": torch.cuda.get_device_name(device), "capability": f"sm_{major}{minor}"}
    return {"name": _cpu(), "capability": torch.backends.cpu.get_cpu_capability()}


@cache
def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def peak_memory_mb() -> int:
    """The most memory that this process ever held, in MB; 0 where the system does not say so (Windows)."""
    try:
        import resource
    except ImportError:
        return 0
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit)

"""Other processes: a training that is killed for real, for tests of what is left of it, and how to wait for one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import torch

ROOT = Path(__file__).parents[1]


def die_in_step(number: int) -> None:
    """From here on this process is killed in the middle of the ``number``-th update, before the weights move."""
    real, steps = torch.nn.utils.clip_grad_norm_, 0

    def clip(*args, **kwargs):
        nonlocal steps
        steps += 1
        if steps == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args, **kwargs)

    torch.nn.utils.clip_grad_norm_ = clip


def exit_code(script: str, *words: str) -> int:
    """Run ``script`` in a process of its own; -9 if it was killed."""
    env = dict(os.environ, PYTHONPATH=str(ROOT))
    return subprocess.run([sys.executable, "-c", script, *words], cwd=ROOT, env=env).returncode


def until(happened: Callable[[], bool], *processes: subprocess.Popen) -> None:
    """Wait for an event of which nothing tells, such as a file; fail once one of the ``processes`` ended without it.

    However long it takes: how fast a machine is decides over no test. The general limit (pyproject) ends what hangs.
    """
    while not happened():
        ended = [one.args for one in processes if one.poll() is not None]
        assert not ended or happened(), f"it ended too early: {ended}"
        time.sleep(0.05)


def gone(process: psutil.Process) -> bool:
    """Whether it ended, though nobody may have asked for its exit status yet."""
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True

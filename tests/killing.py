"""Other processes: a training that is killed for real, for tests of what is left of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

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

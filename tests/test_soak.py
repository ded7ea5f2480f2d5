"""kill -9 at random moments of training, features, their replacement and the index: the end is what one go makes."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from .killing import ROOT

pytestmark = pytest.mark.process


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["training", "features", "replacing", "index"])
def test_two_of_each_kind(kind):
    words = [sys.executable, str(ROOT / "scripts" / "soak.py"), "--times", "2", "--kills", "1", "--kind", kind]
    env = dict(os.environ, OMP_NUM_THREADS="1", TQDM_DISABLE="1")
    done = subprocess.run(words, capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{kind}: 2 works, " in done.stdout and done.stdout.rstrip().endswith("0 ends differ")

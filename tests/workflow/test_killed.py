"""A grid under kill -9, of Snakemake and of a run: it completes, and nothing is trained twice."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

import icrlib
from tests.killing import ROOT, gone, until

pytestmark = pytest.mark.process

# In each notebook's kernel: the first to start is killed in its 18th update. All later ones count their updates, and
# stay in the fifth where there is a file "hold".
SITE = """
import os, signal, sys
if any("ipykernel" in word for word in sys.orig_argv):
    sys.path.append({root!r})
    import torch
    try:
        os.remove({folder!r} + "/die")
    except FileNotFoundError:
        real, mine = torch.nn.utils.clip_grad_norm_, {folder!r} + "/steps-" + str(os.getpid())
        def clip(*args, **kwargs):
            with open(mine, "a") as file:
                file.write(".")
            while os.path.getsize(mine) == 5 and os.path.exists({folder!r} + "/hold"):
                signal.pause()
            return real(*args, **kwargs)
        torch.nn.utils.clip_grad_norm_ = clip
    else:
        from tests.killing import die_in_step
        die_in_step(18)
"""


def reproduce(folder: Path, log: Path) -> subprocess.Popen:
    words = ["--smoke", "--dataset", "scenes", "--methods", "bow", "--losses", "ntxent", "--seeds", "0,1", "--runs"]
    command = [sys.executable, str(ROOT / "workflow" / "reproduce.py"), *words, str(folder / "runs")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}
    return subprocess.Popen(command, env=environment, stdout=log.open("w"), stderr=subprocess.STDOUT)


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("snakemake") is None, reason="no snakemake; make reproduce adds it")
def test_a_grid_survives_kill_9_of_snakemake_and_of_a_run(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(SITE.format(root=str(ROOT), folder=str(tmp_path)))
    for name in ("die", "hold"):
        (tmp_path / name).touch()
    # One run is killed, Snakemake starts it again, and it goes on from its checkpoint. Then Snakemake and what started
    # it are killed while two runs are under way: these end with it.
    first = reproduce(tmp_path, tmp_path / "first.log")
    until(lambda: [path.stat().st_size for path in tmp_path.glob("steps-*")] == [5, 5], first)
    ours = [child for child in psutil.Process(first.pid).children() if "snakemake" in " ".join(child.cmdline())]
    assert len(ours) == 1
    below = ours[0].children(recursive=True)
    first.kill()
    ours[0].send_signal(signal.SIGKILL)
    first.wait()
    until(lambda: all(map(gone, below)))  # none goes on after kill -9 of Snakemake
    assert "Trying to restart job" in (tmp_path / "first.log").read_text()
    (tmp_path / "hold").unlink()
    # The same again: the one goes on from its checkpoint at update 12 of 24, the other had none yet.
    second = reproduce(tmp_path, tmp_path / "second.log")
    status = second.wait()
    output = (tmp_path / "second.log").read_text()
    assert status == 0, output
    updates = sorted(path.stat().st_size for path in tmp_path.glob("steps-*"))
    assert updates == [5, 5, 12, 24], f"{updates}\n{output}"
    records = [json.loads(path.read_text()) for path in sorted((tmp_path / "runs").rglob("record.json"))]
    assert len(records) == 2
    for record in records:
        seed = record["config"]["seed"]
        unbroken = icrlib.train(
            icrlib.load_dataset("scenes", smoke=True, seed=seed), "bow", "ntxent", seed=seed, smoke=True, progress=False
        ).record
        assert (record["test"], record["identity"]) == (unbroken["test"], unbroken["identity"])
    third = subprocess.run([*second.args], env=os.environ | {"PYTHONPATH": str(ROOT)}, text=True, capture_output=True)
    assert third.returncode == 0 and "2 runs: 2 finished, 0 to train" in third.stdout

"""A page trained through Snakemake: a run that is killed goes on from its checkpoint, and ends as an unbroken one."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys

import pytest

import icrlib
from tests.killing import ROOT

SIZE = {"train": 64, "val": 32, "test": 32, "updates": 24, "evaluate_every": 6, "embed_dim": 16}
PAGE = f"""
# %% tags=["parameters"]
model: str = "vse++"
# %%
from icrlib import runs
runs("scenes", method=model, seed=[0, 1], **{SIZE})
"""
# In each process: runs lie in a folder of the test. In each notebook's kernel: the first to start is killed in its 18th
# update, and all later ones count their updates.
SITE = """
import os, sys
sys.path.append({root!r})
if any("ipykernel" in word for word in sys.orig_argv):
    import torch
    try:
        os.remove({folder!r} + "/die")
    except FileNotFoundError:
        real, mine = torch.nn.utils.clip_grad_norm_, {folder!r} + "/steps-" + str(os.getpid())
        def clip(*args, **kwargs):
            with open(mine, "a") as file:
                file.write(".")
            return real(*args, **kwargs)
        torch.nn.utils.clip_grad_norm_ = clip
    else:
        from tests.killing import die_in_step
        die_in_step(18)
elif "icrlib" in sys.orig_argv:
    from pathlib import Path
    import icrlib.cli.train
    from icrlib.experiments import store
    store.trained = lambda: Path({folder!r}) / "runs"
"""


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("snakemake") is None, reason="no snakemake; make grid adds it")
def test_a_page_is_trained_by_snakemake_though_a_run_is_killed(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(SITE.format(root=str(ROOT), folder=str(tmp_path)))
    (tmp_path / "page.py").write_text(PAGE)
    (tmp_path / "die").touch()
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    icr = [sys.executable, "-m", "icrlib", "train", str(tmp_path / "page.py"), "-p", "model=bow"]
    ended = subprocess.run([*icr, "--profile", "local"], env=environment, capture_output=True, text=True)
    assert ended.returncode == 0 and "no run is missing" in ended.stdout, ended.stderr
    assert "Trying to restart job" in ended.stderr
    # The one that was killed had a checkpoint at update 12 of 24; its later try did the rest.
    assert sorted(path.stat().st_size for path in tmp_path.glob("steps-*")) == [12, 24]
    records = [json.loads(path.read_text()) for path in (tmp_path / "runs").rglob("record.json")]
    assert sorted(record["config"]["seed"] for record in records) == [0, 1]
    settings = {name: SIZE[name] for name in ("updates", "evaluate_every", "embed_dim")}
    for record in records:
        seed = record["config"]["seed"]
        data = icrlib.load_dataset("scenes", seed=seed, train=64, val=32, test=32)
        unbroken = icrlib.train(data, "bow", "ntxent", seed=seed, progress=False, **settings).record
        assert (record["config"]["method"], record["test"]) == ("bow", unbroken["test"])

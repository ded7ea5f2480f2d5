"""`icr train PAGE` trains what a page lacks, here or by Snakefile and profile, and `icr keep` makes it the book's."""

from __future__ import annotations

import json
import shlex

import pytest

from icrlib.cli import train
from icrlib.experiments import store

from .test_cli import icr

PAGE = """
# %%
from icrlib import runs
runs("scenes", method="bow", seed=[0, 1], train=24, val=8, test=8, updates=6, evaluate_every=3, embed_dim=16)
"""


@pytest.fixture
def page(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "trained", lambda: tmp_path / "runs")
    (tmp_path / "page.py").write_text(PAGE)
    return tmp_path / "page.py"


def test_a_page_is_planned_trained_and_kept(page, tmp_path):
    assert "2 runs to train" in icr("train", page, "--plan").output and not (tmp_path / "runs").exists()
    for _ in range(2):
        assert "no run is missing" in icr("train", page).output
    assert len(list((tmp_path / "runs").rglob("record.json"))) == 2


def test_snakemake_is_given_each_run_as_a_reader_would_start_it(page, tmp_path, monkeypatch):
    calls = []
    monkeypatch.setattr(
        train.subprocess, "run", lambda words: calls.append(words) or type("Ended", (), {"returncode": 1})
    )
    result = icr("train", page, "--profile", "local")
    assert result.exit_code == 1 and "the same command goes on" in result.output
    commands = json.loads((tmp_path / "runs" / "missing.json").read_text())
    assert len(commands) == 2 and "Snakefile" in " ".join(calls[0])
    for folder, command in commands.items():
        words = shlex.split(command)
        assert "method=bow" in words and "train=24" in words and f"out={folder}" in words

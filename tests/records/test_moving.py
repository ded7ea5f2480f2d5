"""A file that moves and a function with another name cost nothing: on a copy of the repository that was tidied."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MOVED = {"models/parts/graph": "models/graph", "losses/sparse": "losses/simplex", "data/text": "data/words"}
RENAMED = {"xavier_linear": "linear_from_xavier"}
RUNS = ("scenes/vsrn/ntxent", "scenes/vse++/ntxent_sparse", "scenes/bow/ntxent")
CHAPTER = "push/triplet"  # a page with the library's own source in it and no training


def tidy(folder: Path) -> int:
    """Move the files and rename the function in a copy; returns how many files had to be touched."""
    for old, new in MOVED.items():
        (folder / f"icrlib/{old}.py").rename(folder / f"icrlib/{new}.py")
    names = {
        f"icrlib.{old.replace('/', '.')}": f"icrlib.{new.replace('/', '.')}" for old, new in MOVED.items()
    } | RENAMED
    touched = 0
    for path in [*(folder / "icrlib").rglob("*.py"), *(folder / "scripts").rglob("*.py")]:
        text = before = path.read_text(encoding="utf-8")
        for old, new in names.items():
            text = re.sub(rf"\b{re.escape(old)}\b", new, text)
        if text != before:
            path.write_text(text, encoding="utf-8")
            touched += 1
    return touched


@pytest.mark.slow
@pytest.mark.process
def test_moving_files_and_renaming_a_function_leaves_goldens_and_pages_as_they_are(tmp_path):
    for name in ("icrlib", "scripts", "book"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "_toc.yml", "_config.yml"):
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "records").symlink_to(ROOT / "records")
    assert tidy(tmp_path) > 5

    def python(*words: str, folder: Path = tmp_path) -> str:
        where = {**os.environ, "PYTHONPATH": str(folder), "TQDM_DISABLE": "1"}
        command = [sys.executable, *words]
        done = subprocess.run(command, cwd=folder, env=where, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        return done.stdout

    assert str(tmp_path) in python("-c", "import icrlib; print(icrlib.__file__)")
    assert f"{len(RUNS)} golden runs: all as they were" in python("scripts/goldens.py", *(f"{run}$" for run in RUNS))
    page = tmp_path / "book" / f"{CHAPTER}.ipynb"
    before = page.read_bytes()
    python("scripts/build_book.py", "--root", str(tmp_path), "notebooks", "--chapter", CHAPTER)
    assert page.read_bytes() == before
    count = "import icrlib.records as r; print(len(r.find(study='ecir')), r.find(study='ecir')[0]['test']['rsum'])"
    assert python("-c", count) == python("-c", count, folder=ROOT)

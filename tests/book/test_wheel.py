"""The wheel alone, in a fresh environment and an empty folder: library, data, records, and chapters from it."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from chapters import Book

ROOT = Path(__file__).resolve().parents[2]
BOOK = Book(ROOT)
pytestmark = pytest.mark.slow
SOURCES = ("pyproject.toml", "setup.py", "README.md", "LICENSE", "icrlib", "records", "book/_static")


def call(*command, cwd, **env):
    """Run without what would lead Python back to the checkout; return its words."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "ICR", "PYTEST", "MPLBACKEND"))}
    done = subprocess.run(command, cwd=cwd, env=clean | env, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Built from a copy, so that neither the checkout gets a build folder nor an old one gets into the wheel."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    ignore = shutil.ignore_patterns("__pycache__", ".*")
    for name in SOURCES:
        path = ROOT / name
        if path.is_dir():
            shutil.copytree(path, source / name, ignore=ignore)
        elif path.is_file():
            shutil.copyfile(path, source / name)
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "--no-index"]
    call(*pip, "-w", target, ".", cwd=source)
    (made,) = target.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory):
    """A fresh environment with the wheel, which sees the other installed packages but not the checkout."""
    folder = tmp_path_factory.mktemp("fresh")
    call(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder)
    fresh = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", fresh, "install", "-q", "--no-deps", "--no-index"]
    call(*pip, wheel, cwd=folder)
    (site,) = folder.glob("lib/python*/site-packages")
    # A line of a .pth file is added to the path; .pth files *there* (the editable checkout) are not read.
    (site / "others.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return fresh


def committed(folder, *suffixes):
    """Files of the checkout that belong into the wheel, as paths below ``folder``."""
    base = ROOT / folder
    return {str(path.relative_to(base)) for suffix in suffixes for path in base.rglob(f"*{suffix}")}


def test_everything_is_in_it(wheel):
    with zipfile.ZipFile(wheel) as inside:
        sizes = {one.filename: one.compress_size for one in inside.infolist()}
    code = ".py", ".json", ".csv", ".md", ".safetensors", ".pt", ".npz"
    for folder, place, *kinds in (
        ("icrlib", "", *code),
        ("records", "/_records", ".jsonl"),
        ("book/_static", "/_static", ".js"),
    ):
        assert {f"icrlib{place}/{name}" for name in committed(folder, *kinds)} <= sizes.keys()
    records = sum(size for name, size in sizes.items() if name.endswith(".jsonl.xz"))
    runs = sum(1 for _ in (ROOT / "records").glob("*/*/*/*.json"))
    assert records < 3_500 * runs  # their number grows, a record must not
    assert sum(sizes.values()) - records < 2_500_000


def test_every_record_is_in_it_and_complete(python, tmp_path):
    """As the repository has them, one file a run, the wheel gives them; and the scripts of the explorable pages."""
    code = """
import hashlib, json
from pathlib import Path
from icrlib import records, runs, toy
hashes = {}
for place in records.below():
    record = records.load(place)
    path = str(Path(record.pop("path")).relative_to(records.root()))
    hashes[path] = hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()
assert len(runs("scenes", method="bow", seed=range(3), at="searched")) == 3 and "<script>" in toy.wind_up().data
print(json.dumps([str(records.root()), hashes]))
"""
    root, hashes = json.loads(call(python, "-c", code, cwd=tmp_path, ICRLIB_CACHE=str(tmp_path)))
    assert root.endswith("_records") and str(python.parents[1]) in root and str(ROOT) not in root
    for name in (name for name in committed("records", ".json") if "/" in name):
        record = json.dumps(json.loads((ROOT / "records" / name).read_text("utf-8")), sort_keys=True)
        assert hashes.pop(name) == hashlib.sha256(record.encode()).hexdigest()
    assert not hashes


def test_the_command_and_a_chapter_from_the_wheel(python, tmp_path):
    """The chapter reads runs at searched settings and compares them."""
    assert "Usage" in call(python.with_name("icr"), "--help", cwd=tmp_path)
    shutil.copyfile(BOOK.path("training/which-loss", ".ipynb"), tmp_path / "in.ipynb")
    code = (
        "import papermill; papermill.execute_notebook('in.ipynb', 'out.ipynb', kernel_name='python3',"
        " progress_bar=False, extra_arguments=['--log-level=ERROR'], start_timeout=3600, iopub_timeout=3600)"
    )
    call(python, "-c", code, cwd=tmp_path, ICR_SMOKE="1", TQDM_DISABLE="1", OMP_NUM_THREADS="1")

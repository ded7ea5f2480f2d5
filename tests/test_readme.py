"""README's way from photos to a search, followed word for word, but for a shorter training: from an empty folder to the
page with the answers."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys

import pytest

from icrlib.experiments.named import searched

from .data.photos import make
from .killing import ROOT

SECTION = "## From your photos to a search"


def commands():
    """The commands of the section, as one would copy them: comments gone, continued lines joined."""
    text = (ROOT / "README.md").read_text(encoding="utf-8").split(SECTION)[1].split("\n## ")[0]
    blocks = re.findall(r"```bash\n(.*?)```", text, flags=re.DOTALL)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    return [shlex.split(line, comments=True) for line in lines if line.strip()]


def test_it_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 900


@pytest.mark.parametrize("place", ["README.md", "book/search/photos.py"])
def test_it_trains_what_the_searches_chose(place):
    """For a few hundred photos: the settings with which training/which-loss compares, which has the same command."""
    text = re.sub(r"\\\n[#\s]*", " ", (ROOT / place).read_text(encoding="utf-8"))
    typed = dict(
        re.findall(r"-p (\w+)=(\S+)", next(line for line in text.splitlines() if "-p method=sentence" in line))
    )
    best = searched()["flickr8k, 400, sentence, unit"].best["sentence", "ntxent"]
    wanted = {name: str(value) for name, value in best.items() if name not in ("train", "evaluate_every")}
    assert {name: typed.get(name) for name in wanted} == wanted


@pytest.mark.slow
def test_the_way(tmp_path):
    make(tmp_path / "photos", train=24, val=8, test=8)
    (tmp_path / "book").symlink_to(ROOT / "book")
    shutil.copytree(tmp_path / "photos" / "images", tmp_path / "album")
    shutil.copy(tmp_path / "album" / "test0.jpg", tmp_path / "photo.jpg")
    outputs = {}
    assert {words[1] for words in commands()} == {"data", "features", "run", "search", "index"}
    for words in commands():
        full = [sys.executable, "-m", "icrlib", *(re.sub(r"^updates=\d+", "updates=60", word) for word in words[1:])]
        done = subprocess.run(full, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout}{done.stderr}"
        outputs[" ".join(words)] = done.stdout
    page = (tmp_path / "answers.html").read_text(encoding="utf-8")
    assert page.count("data:image/jpeg;base64,") == 5 and "a dog jumps over a hoop" in page
    assert "never read" not in page  # the model that README trains has no holes in its vocabulary
    assert any("40 new, 0 changed" in text for text in outputs.values())

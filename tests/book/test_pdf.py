"""The book on paper: the pages that are asked for, with bookmarks, and nothing of this machine."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from pypdf import PdfReader

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("intro", "push/triplet")
pytestmark = pytest.mark.slow


def call(*words):
    command = [sys.executable, ROOT / "scripts" / "pdf.py", *words]
    return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)


def test_two_pages(site, tmp_path):
    output = tmp_path / "two.pdf"
    done = call("--site", site, "--output", output, *(word for name in NAMES for word in ("--chapter", name)))
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"two\.pdf: \d+ pages", done.stdout)
    reader = PdfReader(output)
    assert len(reader.outline) == 2 and len(reader.pages) > 4
    first, second = (reader.get_destination_page_number(item) for item in reader.outline)
    texts = [sheet.extract_text() for sheet in reader.pages]
    for item, sheet in zip(reader.outline, (first, second), strict=True):
        assert re.sub(r"\s", "", item.title) in re.sub(r"\s", "", texts[sheet])
    assert first == 0 < second and r"\frac" not in "".join(texts)
    content = output.read_bytes() + "".join(texts).encode()
    assert not any(str(word).encode() in content for word in (ROOT, site, "file:"))


def test_what_is_not_there_is_named(tmp_path):
    done = call("--chapter", "gradients/nothing", "--output", tmp_path / "x.pdf")
    assert done.returncode == 1 and "no such chapter: gradients/nothing. There are: intro, " in done.stderr
    done = call("--site", tmp_path, "--output", tmp_path / "x.pdf")
    assert done.returncode == 1 and "run make html first" in done.stderr and not list(tmp_path.iterdir())

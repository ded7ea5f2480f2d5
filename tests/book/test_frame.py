"""What a newcomer meets first: make's targets and errors, the search for a browser, the pins."""

import re
import shutil
import subprocess
from importlib import metadata
from pathlib import Path

import pytest

import browser

ROOT = Path(__file__).resolve().parents[2]


def make(*arguments, cwd=ROOT):
    done = subprocess.run(["make", *arguments], cwd=cwd, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout + done.stderr


def test_make_alone_lists_the_targets():
    code, text = make()
    assert code == 0
    for target in ("book", "html", "notebooks", "test", "check", "lab", "wheel", "clean", "help"):
        assert f"  make {target} " in text


@pytest.fixture
def bare(tmp_path):
    """A folder with the Makefile and a Python environment still to be made."""
    for name in ("Makefile", "requirements.txt", "pyproject.toml", "setup.py"):
        shutil.copyfile(ROOT / name, tmp_path / name)
    return tmp_path


def test_without_a_python_make_says_what_to_install(bare):
    code, text = make("venv", "PYTHON=/nowhere/python3", cwd=bare)
    assert code != 0 and "No Python 3.11 or newer" in text and "/nowhere/python3" in text
    assert not (bare / ".venv").exists()


def test_an_installation_that_failed_is_not_taken_for_done(bare):
    (bare / "requirements.txt").write_text("there-is-no-such-package-here==1.0\n")
    code, text = make("venv", cwd=bare)
    assert code != 0 and "The installation failed" in text
    assert not (bare / ".venv/.installed").exists()
    assert make("-q", "venv", cwd=bare)[0] == 1  # still to be done


def program(path):
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_browser_is_taken_from_the_variable_then_from_the_path(tmp_path, monkeypatch):
    monkeypatch.setattr(browser, "MAC", ())
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("ICR_BROWSER", raising=False)
    with pytest.raises(browser.NoBrowser, match="install-system-packages.*ICR_BROWSER"):
        browser.find()
    chrome = program(tmp_path / "google-chrome")
    assert browser.find() == str(chrome)
    chromium = program(tmp_path / "chromium")
    assert browser.find() == str(chromium)
    mine = program(tmp_path / "mine")
    monkeypatch.setenv("ICR_BROWSER", str(mine))
    assert browser.find() == str(mine)
    monkeypatch.setenv("ICR_BROWSER", "/nowhere/chrome")
    with pytest.raises(browser.NoBrowser, match="/nowhere/chrome"):
        browser.ensure()


def test_without_a_browser_the_script_is_tried_and_then_it_fails(tmp_path, monkeypatch):
    monkeypatch.setattr(browser, "MAC", ())
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("ICR_BROWSER", raising=False)
    tried = []
    monkeypatch.setattr(browser.subprocess, "run", lambda command, **_: tried.append(command[0].name))
    with pytest.raises(browser.NoBrowser):
        browser.ensure()
    assert tried == ["install-system-packages"]


def test_the_script_names_what_to_install_where_it_may_not(tmp_path):
    for name in ("bash", "id", "env"):
        (tmp_path / name).symlink_to(shutil.which(name))
    done = subprocess.run(
        [ROOT / "scripts/install-system-packages"], env={"PATH": str(tmp_path)}, capture_output=True, text=True
    )
    assert done.returncode == 1 and "chromium" in done.stderr and "ICR_BROWSER" in done.stderr


def pins():
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    return [line for line in lines if line.strip() and not line.startswith("#")]


def test_every_requirement_is_pinned_exactly():
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+(; .+)?", line) for line in pins())
    assert not re.search(r"index-url|find-links|file:|https?:", (ROOT / "requirements.txt").read_text())


def test_everything_that_the_library_needs_is_pinned():
    def plain(name):
        return re.sub(r"[-_.]+", "-", name).lower()

    pinned = {plain(re.split("==", line)[0]) for line in pins()}
    needed = {plain(re.match(r"[\w.-]+", need)[0]) for need in metadata.requires("icrlib")}
    assert needed <= pinned

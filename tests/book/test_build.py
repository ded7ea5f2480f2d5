"""The build tool on a small book: what is skipped, what is run again, a failure, and a clean git tree."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from unittest import mock

import nbformat
import pytest
from click.testing import CliRunner

import build_book

ROOT = Path(__file__).resolve().parents[2]
HEADER = "# %% [markdown]\n# # {title}\n\n# %%\n"
pytestmark = pytest.mark.slow


class Small:
    """A book of two chapters; each writes a line to a log when it is run."""

    def __init__(self, root):
        self.root, self.log = root, root.parent / "log.txt"
        for name in ("_config.yml", "book/references.bib", "book/_static/logo.svg"):
            self.write(name, (ROOT / name).read_text())
        self.write("_toc.yml", "format: jb-book\nroot: one\nchapters:\n  - file: part/two\n")
        self.write("icrlib/__init__.py", "")
        self.write("records/a.json", "{}")
        self.chapter("one")
        self.chapter("part/two")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def chapter(self, name, code=""):
        line = f"open({str(self.log)!r}, 'a').write('{name}\\n')\n{code}\nprint('{name}')\n"
        self.write(f"book/{name}.py", HEADER.format(title=name) + line)

    def files(self):
        """What git would see of the project, byte for byte."""
        below = (path for path in self.root.rglob("*") if path.is_file() and "_build" not in path.parts)
        return {path: path.read_bytes() for path in below}

    def run(self, *arguments, code=0, **env):
        """Run the tool as its command would; return (chapters that were executed, by name, and its words)."""
        self.log.write_text("")
        env = {k: v for k, v in os.environ.items() if k not in ("ICR_SMOKE", "OMP_NUM_THREADS")} | env
        with mock.patch.dict(os.environ, env, clear=True):
            done = CliRunner().invoke(build_book.main, ["--root", str(self.root), *arguments])
        assert done.exit_code == code, f"{done.output}\n{done.exception!r}"
        return sorted(self.log.read_text().split()), done.output


@pytest.fixture
def small(tmp_path):
    return Small(tmp_path / "project")


def test_only_what_changed_is_run_again(small):
    """What a chapter imported, opened or listed counts, and nothing else."""
    small.write("icrlib/used.py", "x = 1")
    records, folder = small.root / "records", str(small.root)
    small.chapter(
        "one",
        f"import os, sys\nsys.path.insert(0, {folder!r})\nimport icrlib.used\n"
        f"os.listdir({str(records / 'of')!r})\nopen({str(records / 'a.json')!r}).close()",
    )
    small.write("records/of/b.json", "{}")
    assert small.run("notebooks")[0] == ["one", "part/two"]
    assert small.run("notebooks")[0] == []
    for name in ("icrlib/used.py", "records/a.json", "records/of/c.json"):
        small.write(name, "x = 1.5")
        assert small.run("notebooks")[0] == ["one"], name
    for name in ("icrlib/other.py", "records/other.json", "README.md"):
        small.write(name, "1")
        assert small.run("notebooks")[0] == [], name
    (records / "a.json").unlink()
    assert small.run("notebooks", code=1)[0] == ["one"]
    small.write("records/a.json", "x = 1.5")
    small.chapter("part/two", "x = 1")
    ran, output = small.run("notebooks")
    assert ran == ["part/two"] and "[1/2] one: unchanged" in output and "[2/2] part/two: done in" in output
    with mock.patch.object(build_book, "build_html"):  # another scale is another result, and none that is kept
        assert small.run("book", ICR_SMOKE="1")[0] == ["one", "part/two"]
    ran, output = small.run("notebooks", code=1, ICR_SMOKE="1")
    assert ran == [] and "ICR_SMOKE" in output
    small.chapter("one", "y = 1")
    small.chapter("part/two", "y = 1")
    assert small.run("notebooks", "--chapter", "part/two")[0] == ["part/two"]
    assert "no such chapter: three" in small.run("book", "--chapter", "three", code=1)[1]


def test_pages_from_committed_outputs_change_nothing_of_the_book(small):
    """Building twice gives the same bytes: what git sees does not change."""
    small.chapter("one", "import IPython.display as d\nd.display(d.HTML('<b>x</b>'))\nprint('a', flush=True)")
    small.run("notebooks")
    cells = nbformat.read(small.root / "book/one.ipynb", as_version=4).cells
    assert [o.output_type for o in cells[1].outputs] == ["display_data", "stream"]
    before = small.files()
    ran, output = small.run("html")
    pages = small.root / "_build/html"
    assert ran == [] and (pages / "index.html").is_file() and str(pages / "index.html") in output
    # No address of a repository is configured, so no button leads to one.
    assert not re.search("colab.research|mybinder|launch-buttons|source-buttons", (pages / "one.html").read_text())
    shutil.rmtree(small.root / "_build")
    assert small.run("book")[0] == ["one", "part/two"] and small.files() == before


def test_chapters_run_at_the_same_time_in_an_empty_folder_with_one_thread_each(small):
    """One opens a FIFO that the other must open, too; one after the other they would wait for ever."""
    gate = small.root.parent / "gate"
    os.mkfifo(gate)
    alone = "import os; assert os.listdir() == [] and os.environ['OMP_NUM_THREADS'] == '1'"
    small.chapter("one", f"{alone}\nopen({str(gate)!r}, 'w').write('x')")
    small.chapter("part/two", f"{alone}\nassert open({str(gate)!r}).read() == 'x'")
    assert small.run("notebooks", "--jobs", "2")[0] == ["one", "part/two"]


def test_a_failing_chapter_is_named_and_the_others_go_on(small):
    small.run("notebooks")
    before = (small.root / "book/one.ipynb").read_bytes()
    small.chapter("one", "1 / 0")
    small.chapter("part/two", "z = 1")
    ran, output = small.run("notebooks", code=1)
    assert ran == ["one", "part/two"]
    assert "one, cell 2 (code cell 1)" in output and "ZeroDivisionError" in output
    assert "1 of 2 chapters failed: one" in output and "\x1b" not in output
    assert (small.root / "book/one.ipynb").read_bytes() == before  # what was there is kept
    assert "z = 1" in (small.root / "book/part/two.ipynb").read_text()
    small.chapter("one", "import os; os._exit(3)")
    ran, output = small.run("notebooks", code=1)
    assert ran == ["one"] and "one: DeadKernelError" in output


def test_a_warning_of_sphinx_fails_and_keeps_the_old_pages(small):
    small.run("book")
    page = small.root / "_build/html/one.html"
    before = page.read_bytes()
    small.write("book/one.py", HEADER.format(title="new\n#\n# [gone](gone.md) {ref}`nowhere`") + "1\n")
    output = small.run("book", code=1)[1]
    assert "nowhere" in output and page.read_bytes() == before


def test_jupyter_book_s_own_command_builds_the_committed_outputs(small):
    """At the root, as everybody types it first; pages are named as in the contents."""
    small.chapter("intro", '1\n\n# %% tags=["remove-output"]')
    small.write("_toc.yml", "format: jb-book\nroot: intro\nchapters:\n  - file: part/two\n")
    small.run("notebooks")
    cells = nbformat.read(small.root / "book/intro.ipynb", as_version=4).cells
    assert cells[1].outputs and not cells[2].outputs  # what is tagged for removal is not kept
    shutil.copytree(ROOT / "book/_ext", small.root / "book/_ext")
    tool = Path(sys.executable).with_name("jupyter-book")
    subprocess.run([tool, "build", "."], cwd=small.root, stdin=subprocess.DEVNULL, check=True)
    pages = small.root / "_build/html"
    assert all((pages / f"{name}.html").is_file() for name in ("intro", "part/two")) and not (pages / "book").exists()


def test_cells_that_were_added_in_the_notebook_are_not_lost(small):
    small.run("notebooks")
    path = small.root / "book/one.ipynb"
    edited = nbformat.read(path, as_version=4)
    edited.cells.append(nbformat.v4.new_code_cell("mine = 1"))
    nbformat.write(edited, path)
    newer = (small.root / "book/one.py").stat().st_mtime + 5
    os.utime(path, (newer, newer))
    ran, output = small.run("notebooks", code=1)
    assert ran == [] and "touch book/one.py" in output and "mine = 1" in path.read_text()
    os.utime(path, (newer - 10, newer - 10))
    assert small.run("notebooks")[1].count("unchanged") == 2 and "mine = 1" not in path.read_text()


def test_setup_cell_and_buttons_come_from_one_address(small):
    text = HEADER.format(title="one α") + '1\n\n# %% tags=["colab-setup"]\npass\n'
    small.write("book/one.py", text)
    small.run("notebooks")
    before, after = (t.split('# %% tags=["colab-setup"]\n') for t in (text, (small.root / "book/one.py").read_text()))
    assert "make wheel" in after[1] and after[0] == before[0]  # the rest of the file is not touched
    config = (small.root / "_config.yml").read_text()
    small.write("_config.yml", config.replace('url: ""', "url: https://github.com/owner/name"))
    small.run("notebooks")
    assert "git+https://github.com/owner/name" in (small.root / "book/one.ipynb").read_text()
    small.run("html")
    page = (small.root / "_build/html/one.html").read_text()
    assert "colab.research.google.com/github/owner/name/blob/main/book/one.ipynb" in page

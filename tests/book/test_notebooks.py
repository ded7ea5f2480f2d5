"""The committed chapters, each check on each; and each check finds the fault that it is for."""

import posixpath
import re
from pathlib import Path

import jupytext
import nbformat
import pytest

import notebook_checks as checks
from chapters import Book, normalised, setup_source

ROOT = Path(__file__).resolve().parents[2]
BOOK = Book(ROOT)


def test_toc_and_folder_agree():
    on_disk = {
        str(p.relative_to(BOOK.source).with_suffix(""))
        for s in ("ipynb", "py", "md")
        for p in BOOK.source.rglob(f"*.{s}")
        if not {"_static", "_ext", ".ipynb_checkpoints"} & set(p.parts)
    }
    assert on_disk == set(BOOK.pages())


def test_next_follows_the_contents():
    """A chapter's last link leads to the page behind it in the table of contents."""
    pages = BOOK.pages()
    for name, follower in zip(pages, pages[1:], strict=False):
        path = BOOK.path(name, ".py")
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            linked = re.findall(r"^# Next: \{numref\}`Chapter \{number\} <ch-([\w-]+)>`", text, re.MULTILINE)
            assert linked == [posixpath.basename(follower)], name


@pytest.mark.parametrize("name", BOOK.pages()[1:])
def test_a_label_is_named_after_its_page(name):
    """So that "Chapter 12" can be linked from everywhere, and a link tells where it leads."""
    source = next(path for ending in (".py", ".md") if (path := BOOK.path(name, ending)).is_file())
    titled = re.search(r"^(?:# )?\(ch-([\w-]+)\)=\n(?:# )?# ", source.read_text(encoding="utf-8"), re.MULTILINE)
    assert titled and titled[1] == posixpath.basename(name)


@pytest.mark.parametrize("check", checks.CHECKS, ids=lambda c: c.__name__)
@pytest.mark.parametrize("name", BOOK.chapters())
def test_chapter(name, check):
    path = BOOK.path(name, ".ipynb")
    assert path.is_file(), f"{name} has no outputs yet: run `make notebooks`"
    assert check(checks.Chapter(path)) == []


@pytest.mark.parametrize("name", BOOK.chapters())
def test_setup_cell_follows_the_configured_address(name):
    source = setup_source(BOOK.config()["repository"]["url"])
    cells = jupytext.read(BOOK.path(name, ".py")).cells
    assert all(c.source == source for c in cells if "colab-setup" in c.metadata.get("tags", []))


# A small sound chapter, and one fault at a time.


def small():
    new = nbformat.v4
    figure = new.new_output("display_data", data={"image/png": "aGVsbG8=", "text/plain": "<Figure>"})
    cells = [
        new.new_markdown_cell("# Title"),
        new.new_code_cell("smoke: bool = False  # tiny data", metadata={"tags": ["parameters"]}),
        new.new_code_cell("print(1)", outputs=[new.new_output("stream", name="stdout", text="1\n")]),
        new.new_code_cell("plot()", outputs=[figure]),
    ]
    cells[3].metadata["mystnb"] = {"image": {"alt": "A line that rises"}}
    for number, cell in enumerate(cells[1:], 1):
        cell.execution_count = number
    return new.new_notebook(cells=cells)


def save(folder, notebook, finish=True):
    path = folder / "small.ipynb"
    notebook = normalised(notebook, outputs=True) if finish else notebook
    nbformat.write(notebook, path)
    jupytext.write(notebook, path.with_suffix(".py"), fmt="py:percent")
    return checks.Chapter(path)


@pytest.mark.parametrize("check", checks.CHECKS, ids=lambda c: c.__name__)
def test_a_sound_chapter_passes(tmp_path, check):
    assert check(save(tmp_path, small())) == []


def stream(text, name="stdout"):
    return nbformat.v4.new_output("stream", name=name, text=text)


def markdown(text):
    return nbformat.v4.new_output("display_data", data={"text/markdown": text, "text/plain": "<Markdown>"})


def html(text):
    return nbformat.v4.new_output("display_data", data={"text/html": text})


FAULTS = {
    "error": (checks.executed, lambda n: n.cells[2].outputs.append(nbformat.v4.new_output("error")), "an error"),
    "no outputs": (checks.executed, lambda n: [c.update(outputs=[]) for c in n.cells[1:]], "no outputs"),
    "out of order": (checks.executed, lambda n: n.cells[2].update(execution_count=9), "in order"),
    "warning": (checks.clean, lambda n: n.cells[2].outputs.append(stream("Warning", "stderr")), "stderr"),
    "smoke": (checks.clean, lambda n: n.cells[2].outputs.append(stream("Smoke run")), "smoke"),
    "smoke in a table": (checks.clean, lambda n: n.cells[2].outputs.append(html("<p>smoke run")), "smoke"),
    "path": (checks.clean, lambda n: n.cells[2].outputs.append(stream("in /home/me/x.py")), "absolute path"),
    "path in source": (checks.clean, lambda n: n.cells[2].update(source="open('/tmp/x')"), "absolute path"),
    "maths": (checks.clean, lambda n: n.cells[2].outputs.append(markdown("the mean $C^q$ is 3")), "dollars"),
    "address": (checks.clean, lambda n: n.cells[2].outputs.append(stream("<A at 0x7f0012ab>")), "address"),
    "no alt": (checks.described, lambda n: n.cells[3].metadata.pop("mystnb"), "without alt"),
    "empty alt": (checks.described, lambda n: n.cells[3].metadata["mystnb"]["image"].update(alt=" "), "without alt"),
    "HTML image": (checks.described, lambda n: n.cells[2].outputs.append(html("<img src='x'>")), "without alt"),
    "long cell": (checks.readable, lambda n: n.cells[2].update(source="x = 1\n" * 26), "26 lines"),
    "wide cell": (checks.readable, lambda n: n.cells[2].update(source="x" * 120), "120 characters"),
    "large": (checks.readable, lambda n: n.cells[2].outputs.append(stream("x" * 1_600_000)), "1.6 MB"),
    "half a sentence": (checks.whole, lambda n: n.cells[2].update(source='assert x, f"{x}, "\n"yes"'), "nothing uses"),
    "paragraph before an assert": (checks.whole, lambda n: n.cells[2].update(source="Markdown(x)\nassert x"), "shown"),
    "a choice before an assert": (checks.whole, lambda n: n.cells[2].update(source="x if y else z\nassert x"), "shown"),
    "a table in a loop": (
        checks.whole,
        lambda n: n.cells[2].update(source="for x in y:\n    z()\n    paper.styled(x)"),
        "shown",
    ),
    "no smoke": (checks.parameters, lambda n: n.cells[1].update(source="scale: int = 3  # h"), "no parameter"),
    "no help": (checks.parameters, lambda n: n.cells[1].update(source="smoke: bool = False"), "no help"),
}


def folded(notebook, *silent):
    """Cells 2 and 3 folded, and those named without output."""
    for place in (2, 3):
        notebook.cells[place].metadata["tags"] = ["hide-input"]
    for place in silent:
        notebook.cells[place].outputs = []


FAULTS |= {
    "two folded": (checks.sparing, lambda n: folded(n, 2), "two folded cells"),
    "two folded, silent": (checks.sparing, lambda n: folded(n, 2, 3), "two folded cells"),
}


def test_a_folded_cell_with_an_output_stands_anywhere(tmp_path):
    notebook = small()
    folded(notebook, 3)
    assert checks.sparing(save(tmp_path, notebook)) == []


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found(tmp_path, name):
    check, spoil, says = FAULTS[name]
    notebook = small()
    spoil(notebook)
    assert says in " ".join(check(save(tmp_path, notebook)))


def test_a_cell_changed_after_execution_is_found(tmp_path):
    chapter = save(tmp_path, small())
    chapter.notebook.cells[2].source = "print(2)"
    chapter = save(tmp_path, chapter.notebook, finish=False)
    assert checks.paired(chapter) == [] and "after the outputs" in checks.executed(chapter)[0]
    assert "ids" in checks.stable(chapter)[0]


def test_pairs_that_differ_are_found(tmp_path):
    chapter = save(tmp_path, small())
    chapter.script.write_text(chapter.script.read_text().replace("print(1)", "print(2)"))
    assert "differ" in checks.paired(chapter)[0]
    chapter.script.unlink()
    assert "no small.py" in checks.paired(chapter)[0]


def test_a_stream_in_pieces_is_found_and_joined(tmp_path):
    notebook = save(tmp_path, small()).notebook
    notebook.cells[2].outputs = [stream("1"), stream("\n"), stream("w", "stderr")]
    assert "time stamps" in checks.stable(save(tmp_path, notebook, finish=False))[0]
    joined = normalised(notebook, outputs=True).cells[2].outputs
    assert [(o.name, o.text) for o in joined] == [("stdout", "1\n"), ("stderr", "w")]


def test_time_stamps_and_other_kernels_are_found(tmp_path):
    notebook = save(tmp_path, small()).notebook
    notebook.cells[2].metadata["papermill"] = {"start_time": "today"}
    assert "time stamps" in checks.stable(save(tmp_path, notebook, finish=False))[0]
    notebook.metadata["kernelspec"] = {"name": "mine", "display_name": "mine"}
    assert "kernelspec" in checks.stable(save(tmp_path, notebook, finish=False))[0]

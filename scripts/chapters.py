"""The chapters of the book: which there are, what they depend on, how they are run and cleaned.

A chapter is NAME.py (percent format, what people edit) and its pair NAME.ipynb (the same cells with outputs).
Everything here takes the folder of the book's project, so that tests can use a small book of their own.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path

import jupytext
import nbformat
import yaml

PERCENT = {"extension": ".py", "format_name": "percent"}
PAIRING = {"formats": "ipynb,py:percent", "text_representation": PERCENT}
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
SETUP_TAG = "colab-setup"
PATIENCE = 3600  # seconds for a kernel to start, or to send what a cell wrote; one that died is noticed at once
# Its standard input is a pipe that ends with the build, also with one that was killed: then papermill ends, and the
# kernel with it.
PAPERMILL = f"""
import os, sys, threading, papermill
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(1)), daemon=True).start()
given, made, empty = sys.argv[1:]
papermill.execute_notebook(given, made, kernel_name="python3", cwd=empty, progress_bar=False, log_output=False,
    request_save_on_cell_execute=False, start_timeout={PATIENCE}, iopub_timeout={PATIENCE},
    extra_arguments=["--log-level=CRITICAL"])
"""
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
# What an output depends on besides the repository. Other packages are pinned beside these.
VERSIONS = ("torch", "numpy", "pandas", "matplotlib", "seaborn")


class Book:
    """The files of the book below ``root``; what is built goes to ``root/_build``."""

    def __init__(self, root: Path):
        self.root = Path(root).resolve()
        self.source = self.root / "book"
        self.build = self.root / "_build"

    def config(self) -> dict:
        """_config.yml as it stands in the repository."""
        return yaml.safe_load((self.root / "_config.yml").read_text())

    def pages(self) -> list[str]:
        """Names of all pages in the order of _toc.yml; ``FileNotFoundError`` for one without a file."""
        names = list(named(yaml.safe_load((self.root / "_toc.yml").read_text())))
        lost = [n for n in names if not any(self.path(n, s).is_file() for s in (".py", ".ipynb", ".md"))]
        if lost:
            raise FileNotFoundError(f"_toc.yml names pages that book/ does not have: {', '.join(lost)}")
        return names

    def chapters(self) -> list[str]:
        """Names of the pages that are notebooks."""
        return [n for n in self.pages() if self.path(n, ".py").is_file() or self.path(n, ".ipynb").is_file()]

    def chosen(self, names: tuple[str, ...], known: list[str]) -> list[str]:
        """Those of the ``known`` pages that are named, all where none is (``ValueError`` for a name that is none)."""
        names = tuple(re.sub(r"^book/|\.(ipynb|py|md)$", "", name) for name in names)
        if unknown := [name for name in names if name not in known]:
            raise ValueError(f"no such chapter: {', '.join(unknown)}. There are: {', '.join(known)}")
        return [name for name in known if not names or name in names]

    def path(self, name: str, suffix: str) -> Path:
        """Where ``book/`` keeps the page."""
        return self.source / f"{name}{suffix}"

    def executed(self, name: str) -> Path:
        """Where the last successful run of the chapter lies; what it depended on lies beside it."""
        return self.build / "executed" / f"{name}.ipynb"

    def load(self, name: str) -> nbformat.NotebookNode:
        """The chapter without outputs, from NAME.py (or NAME.ipynb if that is all), with stable cell ids."""
        script = self.path(name, ".py")
        if script.is_file():
            notebook = jupytext.read(script)
        else:
            notebook = nbformat.read(self.path(name, ".ipynb"), as_version=4)
        return normalised(notebook, outputs=False)

    def in_step(self, name: str) -> bool:
        """Whether NAME.py and NAME.ipynb hold the same cells (outputs and time stamps do not count)."""
        pair = [self.path(name, s) for s in (".py", ".ipynb")]
        return all(p.is_file() for p in pair) and cells_hash(jupytext.read(pair[0])) == cells_hash(
            nbformat.read(pair[1], as_version=4)
        )

    def edited_as_notebook(self, name: str) -> bool:
        """Whether the notebook has other cells than its .py, and is the newer of the two: somebody's work."""
        pair = [self.path(name, suffix) for suffix in (".py", ".ipynb")]
        if not all(path.is_file() for path in pair) or self.in_step(name):
            return False
        return pair[1].stat().st_mtime > pair[0].stat().st_mtime

    def unchanged(self, name: str, notebook: nbformat.NotebookNode) -> bool:
        """Whether the last run had these cells, these versions, and what it imported and opened as it is now."""
        last = self._last(name)
        return (
            self.executed(name).is_file()
            and last.get("cells") == cells_hash(notebook)
            and last.get("scale") == scale()
            and all(state(self.root / path) == was for path, was in last["files"].items())
        )

    def _last(self, name: str) -> dict:
        mark = self.executed(name).with_suffix(".json")
        return json.loads(mark.read_text()) if mark.is_file() else {}

    def run(self, names: list[str], say: Callable[[str], None], jobs: int = 1) -> list[str]:
        """Execute the chapters that changed, or what they depend on; return the names of those that failed.

        ``jobs`` at a time, each in a kernel of one thread: first those of which no time is known, then the longest.
        A result is written when a chapter has succeeded. So a build that was killed goes on with the chapters in which
        it was, and a chapter that fails does not stop the others.
        """
        todo = []
        for number, name in enumerate(names, 1):
            notebook, head = self.load(name), f"[{number}/{len(names)}] {name}"
            if self.unchanged(name, notebook):
                say(f"{head}: unchanged")
            else:
                todo.append((name, notebook, head, self._last(name).get("seconds")))
        todo.sort(key=lambda one: -(one[3] or float("inf")))
        running: list[subprocess.Popen] = []
        with ThreadPoolExecutor(jobs) as pool:
            try:
                done = list(pool.map(lambda one: self._execute(*one, say, running), todo))
            except BaseException:  # Ctrl-C above all
                for one in running:
                    one.kill()  # its kernel notices, and ends
                raise
        return [name for name in names if name in {one[0] for one, well in zip(todo, done, strict=True) if not well}]

    def _execute(self, name, notebook, head: str, last: float | None, say, running: list) -> bool:
        """Execute one chapter and keep its result; whether it succeeded."""
        say(f"{head}: executing" + (f" (last time {last:.0f} s)" if last else ""))
        start = time.monotonic()
        try:
            done, opened = execute(notebook, running)
        except Failed as err:
            say(f"{head}: FAILED after {time.monotonic() - start:.0f} s\n  {name}{err}")
            return False
        seconds, mark = time.monotonic() - start, self.executed(name).with_suffix(".json")
        mark.unlink(missing_ok=True)
        write_text(self.executed(name), nbformat.writes(done) + "\n")
        files = {one: state(self.root / one) for one in sorted(self._own(opened))}
        note = {"cells": cells_hash(notebook), "scale": scale(), "files": files, "seconds": round(seconds, 1)}
        write_text(mark, json.dumps(note))
        say(f"{head}: done in {seconds:.1f} s")
        return True

    def _own(self, opened: list[str]) -> Iterator[str]:
        """Which of these files and folders are the project's: its library, records, and lists of runs."""
        for path in {Path(os.path.realpath(one)) for one in opened}:
            if path.is_relative_to(self.root):
                inside = path.relative_to(self.root)
                top = next(iter(inside.parts), "")
                of_code = top in ("icrlib", "scripts") and path.suffix != ".pyc" and not path.is_dir()
                if of_code or top == "records":  # whose folders count, too: an import lists those of code
                    yield inside.as_posix()


class Failed(Exception):
    """A chapter did not run through; says in which cell."""


def scale() -> list:
    """What every output depends on besides the repository."""
    return [*sys.version_info[:2], *(f"{d}=={metadata.version(d)}" for d in VERSIONS), os.environ.get("ICR_SMOKE", "")]


def state(path: Path) -> str:
    """What a file holds, or which files of which sizes a folder has; "" for what is gone."""
    if path.is_dir():
        inside = sorted((one.name, one.is_file() and one.stat().st_size) for one in path.iterdir())
        held = json.dumps([one for one in inside if one[0] != "__pycache__" and not one[0].startswith(".")]).encode()
    else:
        held = path.read_bytes() if path.is_file() else b""
    return hashlib.sha256(held).hexdigest()[:16] if held else ""


def execute(notebook: nbformat.NotebookNode, running: list) -> tuple[nbformat.NotebookNode, list[str]]:
    """Run all cells by papermill, in a fresh kernel and an empty folder: the cleaned result, and the files that were
    imported or opened. :class:`Failed` says in which cell it stopped; ``running`` gets the process, for whoever has to
    stop it."""
    # One thread: several chapters share the cores, and a figure should not depend on their number.
    env = {"OMP_NUM_THREADS": "1"} | {name: value for name, value in os.environ.items() if name != "MPLBACKEND"}
    env |= {"TQDM_DISABLE": "1", "JUPYTER_PREFER_ENV_PATH": "1", "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    with tempfile.TemporaryDirectory(prefix="chapter-") as folder:
        given, made, noted, empty = (Path(folder) / name for name in ("in.ipynb", "out.ipynb", "opened.txt", "empty"))
        empty.mkdir()
        nbformat.write(notebook, given)
        env |= {"PYTHONSTARTUP": str(Path(__file__).with_name("opened.py")), "ICR_OPENED": str(noted)}
        command = [sys.executable, "-c", PAPERMILL, given, made, empty]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        with subprocess.Popen(command, env=env, text=True, **pipes) as process:
            running.append(process)
            said = process.stdout.read()
            process.wait()
        if process.returncode:
            raise Failed(explain(made, said))
        return normalised(nbformat.read(made, as_version=4), outputs=True), noted.read_text().splitlines()


def normalised(notebook: nbformat.NotebookNode, outputs: bool) -> nbformat.NotebookNode:
    """The notebook without what differs from run to run: time stamps, random ids, split streams, versions."""
    seen: Counter[str] = Counter()
    for cell in notebook.cells:
        cell.metadata = {k: v for k, v in cell.metadata.items() if k in ("tags", "mystnb")}
        if not cell.metadata.get("tags"):
            cell.metadata.pop("tags", None)
        digest = hashlib.sha256(f"{cell.cell_type}\0{cell.source}".encode()).hexdigest()[:8]
        cell["id"] = f"{digest}-{seen[digest]}" if seen[digest] else digest
        seen[digest] += 1
        if cell.cell_type == "code":
            keep = outputs and "remove-output" not in cell.metadata.get("tags", [])
            cell.outputs = list(_outputs(cell.outputs)) if keep else []
            cell.execution_count = cell.execution_count if outputs else None
    notebook.metadata = {
        "jupytext": PAIRING,
        "kernelspec": KERNEL,
        "language_info": {"name": "python", "pygments_lexer": "ipython3"},
    }
    if outputs:
        notebook.metadata["executed"] = {"cells": cells_hash(notebook)}
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    return nbformat.from_dict(notebook)


def cells_hash(notebook: nbformat.NotebookNode) -> str:
    """Hash of types, sources, tags and figure settings of the cells."""
    cells = [
        [c.cell_type, c.source.rstrip(), sorted(c.metadata.get("tags", [])), c.metadata.get("mystnb", {})]
        for c in notebook.cells
    ]
    return hashlib.sha256(json.dumps(cells, sort_keys=True).encode()).hexdigest()[:16]


def write_if_new(path: Path, text: str) -> bool:
    """Write atomically; False, and no write, where ``path`` already holds the same."""
    if path.is_file() and path.read_text() == text:
        return False
    write_text(path, text)
    return True


def write_text(path: Path, text: str) -> None:
    """Write a whole file or none (not by icrlib.files: this tool must run when the library is broken)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    part.write_text(text)
    os.replace(part, path)


def setup_source(url: str) -> str:
    """What a cell tagged ``colab-setup`` says: how to get the library where it is missing."""
    if url:
        act = f'    get_ipython().run_line_magic("pip", "install -q git+{url}")'
    else:
        act = (
            "    raise ModuleNotFoundError(\n"
            '        "icrlib is missing. In a clone, `make wheel` writes icrlib-0.1.0-py3-none-any.whl; "\n'
            '        "upload it here, then run %pip install icrlib-0.1.0-py3-none-any.whl"\n    )'
        )
    return f'import importlib.util\n\nif importlib.util.find_spec("icrlib") is None:\n{act}'


def write_setup_cells(book: Book, name: str, say: Callable[[str], None]) -> None:
    """Bring the set-up cell of NAME.py in line with the address in _config.yml; all other text stays as it is."""
    script, source = book.path(name, ".py"), setup_source(book.config()["repository"]["url"])
    cell = re.compile(rf'^(# %%[^\n]*"{SETUP_TAG}"[^\n]*\n).*?(?=^# %%|\Z)', re.MULTILINE | re.DOTALL)
    if write_if_new(script, cell.sub(lambda m: f"{m[1]}{source}\n\n", script.read_text()).rstrip() + "\n"):
        say(f"{name}: set-up cell written anew")


def explain(made: Path, said: str) -> str:
    """Which cell of the chapter failed, and the last lines of the error."""
    cells = nbformat.read(made, as_version=4).cells if made.is_file() else []
    cells = [c for c in cells if "papermill-error-cell-tag" not in c.metadata.get("tags", [])]
    for place, cell in enumerate(cells, 1):
        for error in [out for out in cell.get("outputs", []) if out.output_type == "error"]:
            first = next(iter(cell.source.strip().splitlines()), "")
            where = f", cell {place} (code cell {cell.execution_count}): {first}"
            tail = "\n".join(error.traceback).splitlines() or [f"{error.ename}: {error.evalue}"]
            return "\n".join([where, *(f"  | {COLOUR.sub('', line)}" for line in tail[-12:])])
    tail = said.strip().splitlines() or ["it ended without a word"]
    return f": {tail[-1].rpartition(': ')[0].rpartition('.')[2]}\n" + "\n".join(f"  | {line}" for line in tail[-12:])


def copy_tree(book: Book, notebooks: Callable[[str], Path], target: Path) -> None:
    """Assemble in ``target`` what Sphinx reads: pages, static files, configuration and chosen notebooks."""
    shutil.rmtree(target, ignore_errors=True)
    ignore = shutil.ignore_patterns("*.py", "*.ipynb", ".*", "__pycache__")
    shutil.copytree(book.source, target, ignore=ignore)
    # Extensions of Sphinx belong to this tool and not to the chapters: a small book of a test gets them, too.
    own = Path(__file__).resolve().parents[1] / "book" / "_ext"
    shutil.copytree(own, target / "_ext", ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
    for name in book.chapters():
        place = target / f"{name}.ipynb"
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(notebooks(name), place)


def _outputs(outputs: list) -> Iterator[nbformat.NotebookNode]:
    """Outputs with neighbouring pieces of one stream joined, and without random widget views."""
    stream = None
    for out in outputs:
        if out.output_type == "stream":
            if stream is not None and stream.name == out.name:
                stream.text += out.text
                continue
            stream = out
        else:
            stream = None
            out.metadata = {}
            out.get("data", {}).pop("application/vnd.jupyter.widget-view+json", None)
        yield out


def named(node: object) -> Iterator[str]:
    """The pages that _toc.yml, or a part of it, names."""
    if isinstance(node, dict):
        for key in ("root", "file"):
            if key in node:
                yield re.sub(r"\.(md|ipynb|py)$", "", node[key])
        for key in ("parts", "chapters", "sections", "entries", "subtrees"):
            yield from named(node.get(key))
    elif isinstance(node, list):
        for item in node:
            yield from named(item)

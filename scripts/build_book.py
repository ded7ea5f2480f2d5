"""Build the book: execute chapters, refresh committed outputs, write the pages."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import yaml

from chapters import Book, copy_tree, write_if_new, write_setup_cells

JUPYTEXT = f"{os.path.relpath(Path(sys.executable).with_name('jupytext'))} --to py:percent"
ROOT = Path(__file__).resolve().parents[1]
FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)


def say(line: str) -> None:
    """One line of progress, at once, also into a pipe."""
    click.echo(line)
    sys.stdout.flush()


def chosen(book: Book, names: tuple[str, ...]) -> list[str]:
    """The chapters to run: all, or those named."""
    try:
        return book.chosen(names, book.chapters())
    except (ValueError, FileNotFoundError) as err:
        raise click.ClickException(str(err)) from err


def site_config(book: Book) -> str:
    """_config.yml for Sphinx: launch and source buttons only where an address is configured."""
    config = book.config()
    config["sphinx"]["local_extensions"] = dict.fromkeys(config["sphinx"]["local_extensions"], "_ext")
    if url := config["repository"]["url"]:
        config["launch_buttons"]["colab_url"] = "https://colab.research.google.com"
        config["html"]["use_repository_button"] = True
        config["repository"]["url"] = url.removesuffix("/").removesuffix(".git")
    else:
        del config["repository"]
    return yaml.safe_dump(config, sort_keys=False)


def build_html(book: Book, notebooks: Callable[[str], Path], target: Path, scratch: Path) -> None:
    """Write the pages to ``target``; on a warning or missing reference ``target`` stays as it was.

    Always from nothing: an incremental build would not repeat the warnings of the pages that it keeps.
    """
    source, site = scratch / "book", scratch / "site"
    copy_tree(book, notebooks, source)
    shutil.copyfile(book.root / "_toc.yml", source / "_toc.yml")
    (source / "_config.yml").write_text(site_config(book))
    shutil.rmtree(site, ignore_errors=True)
    site.mkdir(parents=True)
    say("building the pages")
    tool = Path(sys.executable).with_name("jupyter-book")
    command = [tool, "build", source, "--path-output", site, "-q", "-W", "-n", "--keep-going"]
    made = site / "_build" / "html"
    result = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if result.returncode or not (made / "index.html").is_file():
        say(result.stdout + result.stderr)
        raise click.ClickException(f"the pages have errors (above); what was made of them is in {made}")
    shutil.rmtree(target, ignore_errors=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    os.replace(made, target)
    say(f"the book is in {target / 'index.html'}")


@click.group(help=__doc__)
@click.option("--root", type=FOLDER, default=ROOT, help="Folder with _config.yml, _toc.yml and book/.")
@click.pass_context
def main(context: click.Context, root: Path) -> None:
    context.obj = Book(root)


ONE = click.option("--chapter", "names", multiple=True, metavar="NAME", help="Only this chapter (repeatable).")
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
JOBS = click.option(
    "--jobs", type=click.IntRange(1), default=min(2, CORES), show_default="2, or 1 core", help="Chapters at a time."
)


@main.command("book")
@ONE
@JOBS
@click.pass_obj
def make_book(book: Book, names: tuple[str, ...], jobs: int) -> None:
    """Execute what changed into _build/executed, then write the pages. Committed notebooks stay."""
    todo = chosen(book, names)
    for name in todo:
        if all(book.path(name, s).is_file() for s in (".py", ".ipynb")) and not book.in_step(name):
            say(f"{name}: .py and .ipynb differ; the .py is taken (`make notebooks` brings them in step)")
    if failed := book.run(todo, say, jobs):
        raise click.ClickException(f"{len(failed)} of {len(todo)} chapters failed: {', '.join(failed)}")
    # With --chapter, the others come as they were last executed or committed.
    best = {n: next(p for p in (book.executed(n), book.path(n, ".ipynb")) if p.is_file()) for n in book.chapters()}
    build_html(book, best.__getitem__, book.build / "html", book.build)


@main.command("html")
@click.option("--output", type=click.Path(path_type=Path), help="Where the pages go; default _build/html.")
@click.pass_obj
def make_html(book: Book, output: Path | None) -> None:
    """Write the pages from the committed outputs; nothing is executed."""
    missing = [n for n in book.chapters() if not book.path(n, ".ipynb").is_file()]
    if missing:
        raise click.ClickException(f"no outputs yet: {', '.join(missing)}. `make notebooks` makes them.")
    scratch = output.resolve().parent / "scratch" if output else book.build
    build_html(book, lambda n: book.path(n, ".ipynb"), output or book.build / "html", scratch)


@main.command("notebooks")
@ONE
@JOBS
@click.pass_obj
def make_notebooks(book: Book, names: tuple[str, ...], jobs: int) -> None:
    """Execute what changed at full scale and write NAME.ipynb (cells of NAME.py, fresh outputs)."""
    if os.environ.get("ICR_SMOKE", "0") not in ("", "0"):
        raise click.ClickException("ICR_SMOKE is set: outputs of smoke runs are not kept. Unset it first.")
    todo = chosen(book, names)
    if newer := [name for name in todo if book.edited_as_notebook(name)]:
        files = " ".join(str(book.path(name, ".ipynb").relative_to(book.root)) for name in newer)
        scripts = files.replace(".ipynb", ".py")
        raise click.ClickException(
            f"newer than their .py, with other cells: {files}. To keep what was edited there: {JUPYTEXT} {files}. "
            f"To drop it, and take the .py: touch {scripts}"
        )
    for name in todo:
        if book.path(name, ".py").is_file():
            write_setup_cells(book, name, say)
    failed = book.run(todo, say, jobs)
    for name in [n for n in todo if n not in failed]:
        if write_if_new(book.path(name, ".ipynb"), book.executed(name).read_text()):
            say(f"{name}: outputs refreshed")
    if failed:
        raise click.ClickException(f"{len(failed)} of {len(todo)} chapters failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()

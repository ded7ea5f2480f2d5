"""Print the book: its built pages in Chromium, merged into one PDF with a bookmark for each page.

The pages come from _build/html: run `make html` or `make book` first. No network is used.
"""

from __future__ import annotations

import io
from pathlib import Path

import click
from bs4 import BeautifulSoup
from pypdf import PdfReader, PdfWriter
from tqdm import tqdm

import browser
from build_book import FOLDER, ROOT
from chapters import Book
from icrlib.files import atomic_path

PAPER = {"format": "A4", "margin": dict.fromkeys(("top", "bottom", "left", "right"), "18mm"), "print_background": True}
NUMBERS = '<span style="font-size:8px;margin:auto"><span class="pageNumber"></span></span>'
# Solutions are printed open and folded cells stay folded; MathJax sets what it has to set before the page is printed.
READY = """async () => { await window.MathJax?.startup?.promise; await document.fonts.ready;
  document.documentElement.dataset.theme = document.documentElement.dataset.mode = 'light';
  document.querySelectorAll('.toggle.toggle-hidden button.toggle-button').forEach(b => b.click());
  for (const image of document.images) { image.loading = 'eager'; await image.decode().catch(() => 0); } }"""


@click.command(help=__doc__)
@click.option("--chapter", "names", multiple=True, metavar="NAME", help="Only this page (repeatable).")
@click.option("--site", type=FOLDER, help="Folder of the built pages [_build/html].")
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), help="The file [_build/book.pdf].")
def main(names: tuple[str, ...], site: Path | None, output: Path | None) -> None:
    book = Book(ROOT)
    site, output = site or book.build / "html", output or book.build / "book.pdf"
    try:
        pages = book.chosen(names, book.pages())
    except ValueError as err:
        raise click.ClickException(str(err)) from err
    if lost := [name for name in pages if not (site / f"{name}.html").is_file()]:
        raise click.ClickException(f"{site}: no page {', '.join(lost)}; run make html first")
    writer = PdfWriter()
    with browser.launch() as chrome:
        page = browser.context(chrome, offline=True).new_page()
        page.emulate_media(media="print", color_scheme="light")
        for name in tqdm(pages, desc="printing", unit="page"):
            path = site / f"{name}.html"
            page.goto(path.resolve().as_uri(), wait_until="load")
            page.evaluate(READY)
            printed = page.pdf(display_header_footer=True, header_template="<i></i>", footer_template=NUMBERS, **PAPER)
            title = BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser").select_one("article h1")
            begins = len(writer.pages)
            for sheet in PdfReader(io.BytesIO(printed)).pages:
                sheet.pop("/Annots", None)  # links to files of this machine
                writer.add_page(sheet)
            writer.add_outline_item(title=title.get_text().removesuffix("#") if title else name, page_number=begins)
    writer.add_metadata({"/Title": book.config()["title"], "/Author": str(book.config()["author"])})
    writer.compress_identical_objects(remove_duplicates=True, remove_unreferenced=True)
    with atomic_path(output) as part:
        writer.write(part)
    click.echo(f"{output}: {len(writer.pages)} pages")


if __name__ == "__main__":
    main()

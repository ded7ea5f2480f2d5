"""Print the book: its built pages in Chromium, one PDF with title page, contents, bookmarks and page numbers.

The pages come from _build/html, which is built first where it is missing or older than the notebooks. No network is
used. Folded cells are left out, solutions are printed open, and a slider shows its middle position.
"""

from __future__ import annotations

import html
import io
import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

import click
import yaml
from pypdf import PageObject, PdfReader, PdfWriter
from pypdf.annotations import Link
from pypdf.generic import Fit
from tqdm import tqdm

import browser
from build_book import FOLDER, ROOT, make_html
from chapters import Book, named
from icrlib.files import atomic_path

# A4 less its margins, in the pixels of CSS: what is laid out at this width is printed without being scaled.
MARGIN = "20mm 20mm 19mm 20mm"
WIDTH, HEIGHT = 642, 975
# Chromium sets titles and numbers in the margins of a page, and takes the first number from a counter, since this one.
OLDEST = 131

# What print.css cannot do, for it has to be measured or moved. Returns headings and faults.
PREPARE = """async () => {
  const all = (query, root = document) => [...root.querySelectorAll(query)];
  await window.MathJax?.startup?.promise;
  document.documentElement.dataset.theme = document.documentElement.dataset.mode = 'light';
  all('.toggle.toggle-hidden button.toggle-button').forEach(b => b.click());
  for (const slider of all('.frames-slider')) {
    const range = slider.querySelector('input'), note = document.createElement('span');
    const values = JSON.parse(slider.querySelector('script[type="application/json"]').textContent).value;
    range.value = Math.floor(values.length / 2);
    range.dispatchEvent(new Event('input'));
    note.className = 'print-note';
    note.textContent = `(on the page: a slider with ${values.length} values, ${values[0]} to ${values.at(-1)})`;
    slider.querySelector('.frames-control').append(note); }
  for (const summary of all('article details:not(.hide, [open]) > summary')) {
    const note = document.createElement('span');
    note.className = 'print-note';
    note.textContent = ' (unfolds on the page)';
    summary.append(note); }
  for (const image of document.images) { image.loading = 'eager'; await image.decode().catch(() => 0); }
  await document.fonts.ready;
  // Nothing beside the article: boxes without a content of their own would add an empty sheet, and then Chromium
  // forgets where the numbers begin.
  for (let e = document.querySelector('.bd-article, article'); e && e !== document.body; e = e.parentElement)
    for (const other of [...e.parentElement.children].filter(o => o !== e && !o.matches('script, style, link')))
      other.remove();
  all('mjx-assistive-mml').forEach(e => e.remove());  // a second, unseen copy, which would count as width
  const room = e => { const s = getComputedStyle(e.parentElement);
    return e.parentElement.clientWidth - parseFloat(s.paddingLeft) - parseFloat(s.paddingRight); };
  const shrink = (e, wide) => { if (wide > room(e) + 1) e.style.zoom = .99 * room(e) / wide; };
  for (const table of all('article table').filter(t => !t.closest('.score-table'))) {
    if (table.offsetWidth > room(table)) table.classList.add('print-tight');
    if (table.offsetWidth * .72 > room(table)) table.classList.add('print-wrap');
    shrink(table, table.offsetWidth);
    if (table.getBoundingClientRect().height > innerHeight * .9) table.classList.add('print-long'); }
  // Tall drawings leave large gaps where they do not fit; half a page is enough, as long as their words can be read.
  for (const image of all('article .cell_output img').filter(i => !i.closest('.score-table')))
    image.style.maxHeight = Math.min(.83 * innerHeight, Math.max(.47 * innerHeight, .72 * image.offsetHeight)) + 'px';
  all('article mjx-container[display="true"]').forEach(e => shrink(e, e.scrollWidth));
  for (const code of all('article pre').filter(e => e.offsetHeight < 300)) {  // with its frame, else cut alone
    const frame = code.closest('.cell_input') || code.closest('.output, div[class*="highlight-"]') || code;
    frame.classList.add('print-whole'); }
  // Chromium notes only those places of a page to which it has a link; other pages have links to any of them.
  for (const place of all('article [id]')) {
    const link = document.createElement('a');
    link.href = '#' + encodeURIComponent(place.id);
    document.body.append(link); }
  return {sections: all('article section[id] > h2').map(h => { const copy = h.cloneNode(true);
            all('.headerlink', copy).forEach(e => e.remove());
            return [h.parentElement.id, copy.textContent.trim()]; }),
          raw: all('article .math').filter(e => !e.querySelector('mjx-container')).length,
          broken: [...document.images].filter(i => !i.naturalWidth).length}; }"""

FRONT = """<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>
body {{ font: 14px/1.5 sans-serif; margin: 0 }} a {{ color: inherit; text-decoration: none }}
.cover {{ height: 930px; display: flex; flex-direction: column; justify-content: center; break-after: page }}
.cover svg {{ width: 110px; margin-bottom: 36px }}
.cover h1 {{ font-size: 42px; line-height: 1.2; margin: 0 0 32px }}
.cover p {{ max-width: 460px; margin: 0 0 12px }}
.cover .note {{ color: #444; margin-top: 90px; font-size: 12.5px }} h2 {{ font-size: 27px; margin: 0 0 10px }}
h3 {{ font-size: 12.5px; margin: 9px 0 1px; break-after: avoid }}
.line {{ display: flex; align-items: baseline; font-size: 12.5px; line-height: 1.36; break-inside: avoid }}
.line i {{ flex: 1; border-bottom: 1px dotted #888; margin: 0 7px }} .line b {{ font-weight: 400 }}
</style><section class="cover">{logo}<h1>{title}</h1><p>{author}</p><p>{year}</p><p class="note">
These are the pages of an executable book, printed as they were built. What is folded on the pages is left out, but for
the solutions to exercises. What moves on the pages stands still here: each slider shows its middle position, and each
table of scores its first state.</p></section><section><h2>Contents</h2>{lines}</section></html>"""


@dataclass
class Chapter:
    """A page of the book: its name in _toc.yml, title and part, and once it is printed, its PDF."""

    name: str
    title: str
    part: str | None
    path: Path
    first: int = 0  # number of its first page in the book, counted from 1
    reader: PdfReader | None = None
    sections: list[tuple[str, str]] = field(default_factory=list)


def parts(book: Book) -> dict[str, str]:
    """The part of each page that _toc.yml puts into one."""
    toc = yaml.safe_load((book.root / "_toc.yml").read_text())
    return {name: part["caption"] for part in toc.get("parts", []) for name in named(part)}


def outdated(book: Book, site: Path) -> bool:
    """Whether a page of the book is missing, or older than what the pages are made of."""
    pages = [site / f"{n}.html" for n in book.pages()]
    if not all(p.is_file() for p in pages):
        return True
    passing = {"__pycache__", ".ipynb_checkpoints"}
    files = [p for p in book.source.rglob("*") if p.is_file() and not passing & set(p.parts)]
    made_of = [p for p in files if p.suffix != ".py" or not p.with_suffix(".ipynb").is_file()]  # else: by way of that
    made_of += [book.root / "_toc.yml", book.root / "_config.yml"]
    return max(p.stat().st_mtime for p in made_of) > min(p.stat().st_mtime for p in pages)


def title_of(path: Path, book_title: str) -> str:
    """The chapter's title in plain text, from the page's <title>, which ends with that of the book."""
    found = re.search(r"<title>(.*?)</title>", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    return html.unescape(found[1]).removesuffix(book_title).rstrip(" \u2014") if found else path.stem


def margins(title: str, chapter: str, first: int) -> str:
    """Style of the paper: A4, running titles above, and the number below, counted on from ``first``."""

    def text(words: str) -> str:
        return '"' + re.sub(r'(["\\])', r"\\\1", words) + '"'

    small = "font: 10.5px sans-serif; color: #444"
    return f"""@page {{ size: A4; margin: {MARGIN};
  @top-left {{ content: {text(title)}; {small} }} @top-right {{ content: {text(chapter)}; {small} }}
  @bottom-center {{ content: counter(page); {small} }} }}
html {{ counter-reset: page {first - 1}; }}"""


def prepare(page, path: Path) -> dict:
    """Open a page as it will be printed; ``ValueError`` where mathematics or a picture is missing."""
    page.emulate_media(media="print", color_scheme="light")
    page.goto(path.resolve().as_uri(), wait_until="load")
    found = page.evaluate(PREPARE)
    for fault, words in (("raw", "equations are not typeset"), ("broken", "pictures are not loaded")):
        if found[fault]:
            raise ValueError(f"{path.name}: {found[fault]} {words}")
    return found


def printed(page, style: str) -> PdfReader:
    """The open page on paper."""
    page.add_style_tag(content=style)
    return PdfReader(io.BytesIO(page.pdf(prefer_css_page_size=True, print_background=True)))


def front_matter(page, book: Book, chapters: list[Chapter]) -> PdfReader:
    """Title page and contents, with the page numbers as far as they are known."""
    config, lines, part = book.config(), [], None
    for chapter in chapters:
        if chapter.part not in (None, part):
            lines.append(f"<h3>{html.escape(chapter.part)}</h3>")
        part = chapter.part
        lines.append(
            f'<a class="line" href="{chapter.path.as_uri()}">{html.escape(chapter.title)}<i></i>'
            f"<b>{chapter.first or 100}</b></a>"
        )
    logo = book.source / config["logo"]
    logo = logo.read_text(encoding="utf-8") if logo.suffix == ".svg" else ""
    words = {key: html.escape(str(config[key])) for key in ("title", "author")}
    page.set_content(FRONT.format(**words, year=config["copyright"], logo=logo, lines="".join(lines)))
    no_margins = "@page :first { @top-left { content: none } @top-right { content: none } @bottom-center "
    return printed(page, margins(config["title"], "Contents", 1) + no_margins + "{ content: none } }")


def print_chapters(page, book: Book, chapters: list[Chapter]) -> PdfReader:
    """Print them one after the other, each numbered on from the one before; returns what comes before them."""
    title, number = book.config()["title"], len(front_matter(page, book, chapters).pages) + 1
    for chapter in tqdm(chapters, desc="printing", unit="chapter"):
        chapter.first = number
        chapter.sections = prepare(page, chapter.path)["sections"]
        chapter.reader = printed(page, margins(title, chapter.title, number))
        number += len(chapter.reader.pages)
    return front_matter(page, book, chapters)


def places(chapters: list[Chapter]) -> dict[tuple[str, str], tuple[int, float | None]]:
    """Where a link may lead: (page's name, place on it) to (number of the sheet from 0, height on it)."""
    found = {}
    for chapter in chapters:
        found[chapter.name, ""] = (chapter.first - 1, None)
        for name, target in chapter.reader.named_destinations.items():
            sheet = chapter.reader.get_destination_page_number(target)
            if sheet is not None:
                found[chapter.name, unquote(name.lstrip("/"))] = (chapter.first - 1 + sheet, target.top)
    return found


def take_links(sheet: PageObject) -> list[tuple[list, str]]:
    """Take all links off a sheet: their rectangles, and their addresses (``#place`` within the page)."""
    found = []
    for reference in sheet.pop("/Annots", None) or []:
        link = reference.get_object()
        if "/Dest" in link:
            address = "#" + str(link["/Dest"]).lstrip("/")
        else:
            address = str(link.get("/A", {}).get("/URI", ""))
        found.append(([float(x) for x in link["/Rect"]], address))
    return found


def resolved(address: str, name: str, site: Path, known: dict) -> tuple[int, float | None] | None:
    """The place in the book that an address in page ``name`` means; None for one that is not printed."""
    link = urlsplit(address)
    if link.scheme == "file":
        path = Path(unquote(link.path))
        name = path.relative_to(site).with_suffix("").as_posix() if path.is_relative_to(site) else ""
    return known.get((name, unquote(link.fragment)), known.get((name, "")))


def put_links(writer: PdfWriter, number: int, links: list, name: str, site: Path, known: dict) -> None:
    """Links of a sheet anew: into this PDF, or to an address of the web. Others would name folders of this machine."""
    for rectangle, address in links:
        if urlsplit(address).scheme in ("http", "https", "mailto"):
            link = Link(rect=rectangle, url=address)
        elif target := resolved(address, name, site, known):
            sheet, top = target
            link = Link(rect=rectangle, target_page_index=sheet, fit=Fit.xyz(None, top, None))
        else:
            continue
        writer.add_annotation(number, link)


def bookmarks(writer: PdfWriter, chapters: list[Chapter], known: dict) -> None:
    """Parts, in them chapters, in these sections."""
    writer.add_outline_item(title="Contents", page_number=1)
    part, above = None, None
    for chapter in chapters:
        if chapter.part != part:
            part = chapter.part
            above = part and writer.add_outline_item(title=part, page_number=chapter.first - 1)
        own = writer.add_outline_item(title=chapter.title, page_number=chapter.first - 1, parent=above, is_open=False)
        for place, title in chapter.sections:
            sheet, top = known.get((chapter.name, place), known[chapter.name, ""])
            writer.add_outline_item(title=title, page_number=sheet, parent=own, fit=Fit.xyz(None, top, None))


def bound(front: PdfReader, chapters: list[Chapter], config: dict, site: Path) -> PdfWriter:
    """All sheets in one document, with links and bookmarks."""
    writer, known, links = PdfWriter(), places(chapters), []
    for name, reader in [("", front), *((c.name, c.reader) for c in chapters)]:
        for sheet in reader.pages:
            links.append((name, take_links(sheet)))
            writer.add_page(sheet)
    for number, (name, taken) in enumerate(links):
        put_links(writer, number, taken, name, site, known)
    bookmarks(writer, chapters, known)
    writer.page_mode = "/UseOutlines"
    writer.add_metadata({"/Title": config["title"], "/Author": str(config["author"])})
    writer.compress_identical_objects(remove_duplicates=True, remove_unreferenced=True)
    return writer


def make_pdf(book: Book, names: list[str], site: Path, output: Path) -> int:
    """Print the pages ``names`` of the built book in ``site``; returns the number of sheets."""
    config, part_of, site = book.config(), parts(book), site.resolve()
    chapters = [
        Chapter(n, title_of(site / f"{n}.html", config["title"]), part_of.get(n), site / f"{n}.html") for n in names
    ]
    with browser.launch() as chrome:
        if int(chrome.version.split(".")[0]) < OLDEST:
            raise ValueError(f"this browser is version {chrome.version}; page numbers need {OLDEST} or newer.")
        context = browser.context(chrome, viewport={"width": WIDTH, "height": HEIGHT}, offline=True)
        front = print_chapters(context.new_page(), book, chapters)
    writer = bound(front, chapters, config, site)
    with atomic_path(output) as part:
        writer.write(part)
    return len(writer.pages)


@click.command(help=__doc__)
@click.option("--chapter", "names", multiple=True, metavar="NAME", help="Only this chapter (repeatable).")
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), help="Default: _build/book.pdf.")
@click.option("--site", type=FOLDER, help="Print the pages in this folder as they are, without building any.")
@click.option("--root", type=FOLDER, default=ROOT, help="Folder with _config.yml, _toc.yml and book/.")
@click.pass_context
def main(context: click.Context, names: tuple[str, ...], output: Path | None, site: Path | None, root: Path) -> None:
    context.obj = book = Book(root)
    output = output or book.build / "book.pdf"
    try:
        todo = book.chosen(names, book.pages())
        if site is None and outdated(book, site := book.build / "html"):
            context.invoke(make_html, output=None)
        sheets = make_pdf(book, todo, site, output)
    except (ValueError, OSError) as err:
        raise click.ClickException(str(err)) from err
    click.echo(f"{output}: {sheets} pages, {output.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()

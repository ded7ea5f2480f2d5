"""How much a page may ask of a reader, counted on the built page.

Words are all that is no code, maths or picture; drop-downs, hidden outputs and tabs in full. Pages of `reproduce` and
`reference` are looked up, not read: they may have the words that they need, and those of the library do not count.
"""

import re
from pathlib import Path

from bs4 import BeautifulSoup

from chapters import Book
from notebook_checks import Chapter, prose

BOOK = Book(Path(__file__).resolve().parents[2])
MOST = {
    "words of text": 1600,
    "words with tables": 1700,
    "words of What we found": 150,
    "figures": 6,
    "tables": 4,
    "rows of a table": 8,
    "lines of source": 400,
}
OF_TABLES = ("reproduce/tables", "reference/claims", "reference/errata", "reference/words")  # they consist of tables
OWN = {  # words with tables, of pages with a limit of their own
    "intro": 600,
    "ten-minutes": 800,
    "training/which-loss": 1400,
    "training/foretell": 1300,
    "systems/reading": 2000,
}
MAIN_LINE, ALL_PAGES = 45_000, 60_000  # words with tables: of what is read from page to page, and in all

NO_TEXT = (  # code, but not what code printed; and the bars of folded cells
    "script, style, svg, canvas, img, mjx-container, .math, .cell_input, a.headerlink, details.hide > summary, "
    "div.highlight:not(.cell_output *), nav, .prev-next-area"
)
WORD = re.compile(r"\w*[^\W\d_]\w*(?:['’-]\w+)*")
IMAGE = re.compile(r"<(?:img|svg|canvas)\b")
DRAWN = re.compile(r"^\s*(?:`{3,}|:{3,})\{(?:figure|image)\}|!\[", re.MULTILINE)


def looked_up(name):
    return name.startswith(("reproduce/", "reference/"))


def limits(name):
    """What of ``MOST`` holds for a page."""
    if not looked_up(name):
        return MOST | dict.fromkeys(("words of text", "words with tables"), OWN[name]) if name in OWN else MOST
    tables = () if name in OF_TABLES else ("tables", "rows of a table")
    return {what: MOST[what] for what in (*tables, "lines of source")}


def words(element):
    return len(WORD.findall(element.get_text(" "))) if element else 0


def figures(name):
    """Pictures in the text, and outputs that hold one: an image, or HTML with one, such as a slider."""
    count, notebook = len(DRAWN.findall(prose(BOOK, name))), BOOK.path(name, ".ipynb")
    for cell, out in Chapter(notebook).outputs() if notebook.is_file() else ():
        if not {"remove-cell", "remove-output"} & set(cell.metadata.get("tags", [])):
            data = out.get("data", {})
            count += any(kind.startswith("image/") for kind in data) or bool(IMAGE.search(data.get("text/html", "")))
    return count


def counts(name, site):
    """What of ``MOST`` a page has."""
    article = BeautifulSoup((site / f"{name}.html").read_text(encoding="utf-8"), "html.parser").select_one("article")
    for part in article.select(NO_TEXT):
        part.decompose()
    tables = [table for table in article.find_all("table") if table.find("td")]
    headings = (h for h in article.find_all("h2") if h.get_text().startswith("What we found"))
    source = next(path for ending in (".py", ".md") if (path := BOOK.path(name, ending)).is_file())
    return {
        "words of text": words(article) - sum(map(words, tables)),
        "words with tables": words(article),
        "words of What we found": words(next((h.parent for h in headings), None)),
        "figures": figures(name),
        "tables": len(tables),
        "rows of a table": max((len(table.select("tbody tr") or table.find_all("tr")) for table in tables), default=0),
        "lines of source": len(source.read_text(encoding="utf-8").splitlines()),
    }


def test_pages_stay_within_their_limits(site):
    names = [name for name in BOOK.pages() if not name.startswith("reference/library")]
    pages = {name: counts(name, site) for name in names}
    over = [
        f"{name}: {pages[name][what]} {what}, {most} at most"
        for name in names
        for what, most in limits(name).items()
        if pages[name][what] > most
    ]
    assert over == []
    main = [pages[name]["words with tables"] for name in names if not looked_up(name)]
    assert sum(main) <= MAIN_LINE
    assert sum(page["words with tables"] for page in pages.values()) <= ALL_PAGES

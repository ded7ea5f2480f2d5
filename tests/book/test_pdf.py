"""The book on paper: two chapters printed from the built pages, and every page measured as it will be printed."""

import base64
import contextlib
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from bs4 import BeautifulSoup
from click.testing import CliRunner
from PIL import Image
from pypdf import PdfReader

import browser
import pdf
from chapters import Book

ROOT = Path(__file__).resolve().parents[2]
BOOK = Book(ROOT)
NAMES = ("intro", "push/triplet")  # links to one another and to others, sliders, exercises, mathematics
SHEET_WIDTH, SHEET_HEIGHT = 642, 971  # A4 less margins, in pixels
NAVIGATION = (
    "Skip to main content",
    "Back to top",
    "Search",
    "previous",
    "next page",
    "Show code",
    "Hide code",
    "Click to",
    "By The icrlib maintainers",
    "Toggle",
    "Download",
)
pytestmark = [pytest.mark.slow, pytest.mark.process]


@pytest.fixture(scope="module")
def printed(site, tmp_path_factory):
    """The path of a PDF of the two chapters, which went through the command."""
    output = tmp_path_factory.mktemp("pdf") / "two.pdf"
    chapters = [word for name in reversed(NAMES) for word in ("--chapter", name)]
    command = [sys.executable, ROOT / "scripts" / "pdf.py", "--site", site, "--output", output, *chapters]
    env = {name: value for name, value in os.environ.items() if name != "TQDM_DISABLE"}  # as a user has it
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"two\.pdf: \d+ pages", done.stdout) and "2/2" in done.stderr  # the progress bar
    return output


@pytest.fixture(scope="module")
def reader(printed):
    return PdfReader(printed)


@pytest.fixture(scope="module")
def texts(reader):
    return [page.extract_text() for page in reader.pages]


@pytest.fixture(scope="module")
def paper(chrome):
    """A browser's page with the size of the paper."""
    context = browser.context(
        chrome, viewport={"width": pdf.WIDTH, "height": pdf.HEIGHT}, offline=True, color_scheme="dark"
    )
    yield context.new_page()
    context.close()


def plain(text):
    return re.sub(r"\s+", "", text)


def first_sheets(reader):
    """Titles and sheets (from 0) of the chapters, by the bookmarks: beside parts, or in them."""
    found = {}
    for item, below in zip(reader.outline, [*reader.outline[1:], None], strict=True):
        if not isinstance(item, list):
            for one in [item, *(below if isinstance(below, list) else [])]:
                if not isinstance(one, list):
                    found.setdefault(one.title, reader.get_destination_page_number(one))
    return found


def titles(site):
    soups = [BeautifulSoup((site / f"{name}.html").read_text(), "html.parser") for name in NAMES]
    return [soup.select_one("article h1").get_text().removesuffix("#") for soup in soups]


def test_sheets_are_a4_and_numbered_through(reader, texts):
    assert len(texts) > 10
    for number, (sheet, text) in enumerate(zip(reader.pages, texts, strict=True), 1):
        assert [round(float(x)) for x in sheet.mediabox[2:]] == [595, 842]
        numbers = re.findall(r"^(\d+)$", text, flags=re.M)
        if number == 1:
            assert numbers == [BOOK.config()["copyright"]], "the title page has a year, and no number"
        else:
            assert numbers[:1] == [str(number)], f"sheet {number}: {text[:200]}"


def test_every_sheet_names_book_and_chapter(reader, site, texts):
    title = BOOK.config()["title"]
    assert plain(title) in plain(texts[0]) and "maintainers" in texts[0]
    starts = [first_sheets(reader)[t] for t in titles(site)] + [len(texts)]
    for chapter, start, end in zip(titles(site), starts, starts[1:], strict=False):
        for text in texts[start:end]:
            assert plain(title) in plain(text[:250]) and plain(chapter) in plain(text[:250])


def test_bookmarks_and_contents_lead_to_the_chapters(reader, site, texts):
    found = first_sheets(reader)
    assert list(found)[:2] == ["Contents", titles(site)[0]] and "Three papers, three questions" in found
    assert plain(texts[found["Contents"]]).count("Contents") == 2, "in the margin and as heading"
    for title in titles(site):
        sheet = found[title]
        assert plain(texts[sheet]).count(plain(title)) >= 2, "in the margin and as heading"
        assert re.search(re.escape(title) + rf"\s*{sheet + 1}\b", texts[1]), "in the contents, with its number"


def test_headings_and_mathematics_are_in_the_text(site, texts):
    whole = plain("".join(texts))
    for name in NAMES:
        soup = BeautifulSoup((site / f"{name}.html").read_text(), "html.parser")
        headings = [h.get_text().removesuffix("#") for h in soup.select("article h2, article h3")]
        assert len(headings) > 2
        assert [h for h in headings if plain(h) not in whole] == []
    assert r"\frac" not in whole and "max" in whole


def test_nothing_of_this_machine_is_in_the_file(printed, reader, site, texts):
    content = [printed.read_bytes(), "".join(texts).encode(), str(reader.metadata).encode()]
    for number in range(1, int(reader.trailer["/Size"])):
        if (found := reader.get_object(number)) is not None:
            content.append(str(found).encode())
            if hasattr(found, "get_data") and found.get("/Subtype") != "/Image":
                content.append(found.get_data())
    for word in ("file:", str(ROOT), str(site), str(Path.home()) + "/"):
        assert not any(word.encode() in part for part in content), word


def test_nothing_to_press_is_printed(texts):
    whole = "\n".join(text for text in texts)
    assert [words for words in NAVIGATION if words in whole] == []


def links(reader):
    for number, sheet in enumerate(reader.pages):
        for reference in sheet.get("/Annots") or []:
            yield number, reference.get_object()


def test_links_stay_in_the_file_or_lead_to_the_web(reader, site):
    starts = first_sheets(reader)
    first, second = (starts[title] for title in titles(site))
    inside, outside = [], set()
    for number, link in links(reader):
        if "/Dest" in link:
            target = link["/Dest"][0]
            inside.append((number, target if isinstance(target, int) else reader.get_page_number(target.get_object())))
        else:
            outside.add(str(link["/A"]["/URI"]))
    assert (1, first) in inside and (1, second) in inside, "from the contents"
    assert any(first <= a < second and b == second for a, b in inside), "from the map to the second chapter"
    assert any(a >= second and first <= b < second for a, b in inside), "and back"
    assert len({b for a, b in inside if a >= second and b > second}) > 1, "to equations of the same chapter"
    assert outside == set() or all(address.startswith(("http", "mailto")) for address in outside)


def test_a_slider_is_printed_at_its_middle(reader, site):
    soup = BeautifulSoup((site / f"{NAMES[1]}.html").read_text(), "html.parser")
    sliders = [json.loads(s.string) for s in soup.select('.frames-slider script[type="application/json"]')]
    printed = [np.asarray(i.image.convert("RGB")) for sheet in reader.pages for i in sheet.images]
    assert len(sliders) >= 1
    for slider in sliders:
        frames = [base64.b64decode(png.split(",")[1]) for png in slider["png"]]
        frames = [np.asarray(Image.open(io.BytesIO(frame)).convert("RGB")) for frame in frames]
        there = [any(p.shape == f.shape and np.array_equal(p, f) for p in printed) for f in frames]
        assert there == [k == len(frames) // 2 for k in range(len(frames))]


MEASURE = """() => { const all = q => [...document.querySelectorAll('article ' + q)].filter(e => e.offsetParent);
  const high = e => Math.round(e.getBoundingClientRect().height), bad = [];
  if (document.documentElement.scrollWidth > innerWidth) bad.push('wider than the paper');
  if (getComputedStyle(document.body).backgroundColor !== 'rgb(255, 255, 255)') bad.push('not on white');
  for (const e of all('figure, .frames-slider, .score-table, img, svg'.replaceAll(', ', ', article '))) {
    if (high(e) > %d) bad.push(`${e.className} is ${high(e)} px high`);
    if (e.getBoundingClientRect().right > innerWidth + 1) bad.push(`${e.className} is cut at the right`);
    if (!e.closest('svg svg') && getComputedStyle(e).breakInside !== 'avoid') bad.push(`${e.className} may be cut`); }
  for (const e of all('table')) {
    if (e.getBoundingClientRect().right > innerWidth + 1) bad.push(`table ${e.id} is cut at the right`);
    const cut = getComputedStyle(e).breakInside !== 'avoid';
    if (cut !== high(e) > .9 * innerHeight) bad.push(`table ${e.id}, ${high(e)} px: may it be cut? ${cut}`);
    if (parseFloat(e.style.zoom || 1) < .5) bad.push(`table ${e.id} is too small to read`); }
  for (const e of all('pre')) if (e.scrollWidth > e.clientWidth + 1) bad.push(`code: ${e.textContent.slice(0, 60)}`);
  for (const e of all('.cell_input').filter(e => e.offsetHeight < 250))
    if (getComputedStyle(e).breakInside !== 'avoid') bad.push(`frame of code cut: ${e.textContent.slice(0, 60)}`);
  for (const e of all('.frames-slider input, details.hide')) bad.push(`shown: ${e.className}`);
  for (const e of document.querySelectorAll('nav, .bd-sidebar-primary, header, footer'))
    if (e.offsetHeight) bad.push(`shown: ${e.tagName} ${e.className}`);
  return bad; }"""


@pytest.mark.parametrize("name", BOOK.pages())
def test_everything_fits_the_paper(site, paper, name):
    found = pdf.prepare(paper, site / f"{name}.html")
    assert paper.evaluate(MEASURE % SHEET_HEIGHT) == []
    assert found["raw"] == found["broken"] == 0
    assert paper.locator("article h1").first.is_visible()
    texts = [sheet.extract_text() for sheet in pdf.printed(paper, pdf.margins("book", "chapter", 7)).pages]
    assert [number for number, text in enumerate(texts, 7) if not re.search(rf"^{number}$", text, flags=re.M)] == []
    assert len(re.sub(r"\s", "", texts[-1])) > 30, "the last sheet is empty"


def write_page(folder, body):
    style = "".join(f"<style>{(ROOT / 'book/_static' / f'{n}.css').read_text()}</style>" for n in ("print", "book"))
    (folder / "page.html").write_text(f'<!doctype html><meta charset="utf-8">{style}<article class="bd-article">{body}')
    return folder / "page.html"


def test_wide_tall_and_long_things_are_fitted(paper, tmp_path):
    row = "".join(f"<td>{n} words</td>" for n in range(12))
    picture = "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' width='300' height='3000'/>"
    cell = '<div class="cell_output"><div class="output">{}</div></div>'
    body = cell.format(f'<table class="dataframe">{f"<tr>{row}</tr>" * 3}</table>')
    body += cell.format(f'<figure><img alt="" src="{picture}"></figure>')
    body += cell.format(f"<table>{'<tr><td>x</td></tr>' * 90}</table>")
    body += f"<div class='highlight'><pre>{'x' * 300}</pre></div><details><summary>all parts</summary>secret</details>"
    body += "<details class='hide'><summary>Show</summary><pre>folded</pre></details>"
    pdf.prepare(paper, write_page(tmp_path, body))
    assert paper.evaluate(MEASURE % SHEET_HEIGHT) == []
    text = pdf.printed(paper, pdf.margins('A "book"', "a \\ chapter", 7)).pages[0].extract_text()
    assert 'A "book"' in text and "a \\ chapter" in text and re.search(r"^7$", text, flags=re.M)
    whole = paper.locator("article").inner_text()
    assert "all parts (unfolds on the page)" in whole and "secret" not in whole and "folded\n" not in whole


@pytest.mark.parametrize(
    "body, words",
    [
        ('<img alt="" src="gone.png">', "1 pictures are not loaded"),
        ('<p class="math">\\(x\\)</p>', "1 equations are not typeset"),
    ],
)
def test_what_is_missing_stops_the_printing(paper, tmp_path, body, words):
    with pytest.raises(ValueError, match=f"page.html: {words}"):
        pdf.prepare(paper, write_page(tmp_path, body))


def test_mathematics_is_waited_for(paper, tmp_path):
    late = """<p class="math">x</p><script>window.MathJax = {startup: {promise: new Promise(done => setTimeout(() => {
      document.querySelector('.math').innerHTML = '<mjx-container>set</mjx-container>'; done(); }, 1500))}}</script>"""
    pdf.prepare(paper, write_page(tmp_path, late))
    assert paper.locator("article").inner_text() == "set"


def test_a_chapter_that_does_not_exist_is_answered_with_those_that_do(tmp_path):
    done = CliRunner().invoke(pdf.main, ["--chapter", "gradients/nothing", "--output", str(tmp_path / "x.pdf")])
    assert done.exit_code == 1 and "no such chapter: gradients/nothing. There are: intro, " in done.output
    assert all(name in done.output for name in BOOK.pages()) and not list(tmp_path.iterdir())
    assert BOOK.chosen(("book/push/triplet.ipynb", "intro"), BOOK.pages()) == list(NAMES)
    assert BOOK.chosen((), BOOK.pages()) == BOOK.pages()


def test_an_old_browser_is_named_and_the_old_file_stays(site, tmp_path, monkeypatch):
    (tmp_path / "x.pdf").write_text("old")
    old = contextlib.nullcontext(SimpleNamespace(version="130.0.1"))
    monkeypatch.setattr(pdf.browser, "launch", lambda: old)
    done = CliRunner().invoke(pdf.main, ["--site", str(site), "--output", str(tmp_path / "x.pdf")])
    assert done.exit_code == 1 and "page numbers need 131 or newer" in done.output
    assert (tmp_path / "x.pdf").read_text() == "old" and len(list(tmp_path.iterdir())) == 1


def test_pages_are_built_where_they_are_missing_or_older(tmp_path):
    book, site = Book(tmp_path), tmp_path / "html"
    times = dict.fromkeys(("_toc.yml", "_config.yml", "book/one.ipynb", "book/_ext/own.py"), 10)
    for name, time in (times | {"book/one.py": 99, "html/one.html": 20}).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("format: jb-book\nroot: one\n")
        os.utime(tmp_path / name, (time, time))
    assert not pdf.outdated(book, site), "a .py that is edited is not in the pages before its notebook is made"
    for name in times:
        os.utime(tmp_path / name, (30, 30))
        assert pdf.outdated(book, site), name
        os.utime(tmp_path / name, (10, 10))
    (site / "one.html").unlink()
    assert pdf.outdated(book, site)

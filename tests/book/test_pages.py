"""The pages, built from the committed outputs, in a real browser from disk with the network blocked."""

import re
from pathlib import Path

import pytest

import browser
import page_checks as checks
from chapters import Book
from notebook_checks import prose

pytestmark = pytest.mark.process

ROOT = Path(__file__).resolve().parents[2]
BOOK = Book(ROOT)
PAGES = [*BOOK.pages(), "search", "genindex"]


def has_mathematics(name):
    """Whether the prose of the page has $...$ or a math directive outside code."""
    text = prose(BOOK, name)
    text = re.sub(r"```(?!\{math).*?```|`[^`\n]*`", "", text, flags=re.S)
    return "$" in text or "{math}" in text


def test_every_page_was_built(site):
    built = {str(p.relative_to(site).with_suffix("")) for p in browser.pages(site)}
    assert set(PAGES) <= built


@pytest.mark.parametrize("name", PAGES)
def test_page(site, chrome, name):
    with checks.Visit(chrome, site / f"{name}.html") as visit:
        faults = [*checks.quiet(visit), *checks.offline(visit), *checks.images(visit)]
        faults += checks.equations(visit, expected=has_mathematics(name))
        faults += [*checks.markup(visit), *checks.sliders(visit)]
        configured = bool(BOOK.config()["repository"]["url"])
        if name in BOOK.chapters():
            faults += checks.launch_buttons(visit, configured)
        faults += [*checks.readable(visit), *checks.fits_desktop(visit), *checks.fits_phone(visit)]
        faults += checks.quiet(visit)
    assert sorted(set(faults)) == []


@pytest.mark.parametrize("name", PAGES)
def test_links_inside_the_book(site, name):
    assert list(checks.links(site / f"{name}.html")) == []


def test_index_leads_to_the_first_page(site, chrome):
    page = browser.context(chrome).new_page()
    page.goto((site / "index.html").as_uri())
    page.wait_for_url(f"**/{PAGES[0]}.html")
    page.context.close()


def test_phone_shows_text_of_readable_size(site, chrome):
    with checks.Visit(chrome, site / f"{PAGES[0]}.html") as visit:
        visit.page.set_viewport_size({"width": 390, "height": 844})
        size = visit.page.evaluate("() => parseFloat(getComputedStyle(document.querySelector('article p')).fontSize)")
        assert size >= 14

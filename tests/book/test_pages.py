"""The pages, built from the committed outputs, in a real browser from disk with the network blocked."""

from pathlib import Path

import pytest

import browser
import page_checks as checks
from chapters import Book

BOOK = Book(Path(__file__).resolve().parents[2])
PAGES = [*BOOK.pages(), "search", "genindex"]


@pytest.mark.parametrize("name", PAGES)
def test_page(site, chrome, name):
    with checks.Visit(chrome, site / f"{name}.html") as visit:
        assert [fault for check in checks.CHECKS for fault in check(visit)] == []


@pytest.mark.parametrize("name", PAGES)
def test_links_inside_the_book(site, name):
    assert list(checks.links(site / f"{name}.html")) == []


@pytest.mark.parametrize(
    ("address", "place"),
    [("index.html", f"{PAGES[0]}.html"), ("gradients/triplet.html#corners", "push/triplet.html#corners")],
)
def test_the_index_and_an_old_address_lead_on(site, chrome, address, place):
    page = browser.context(chrome).new_page()
    page.goto(f"{site.as_uri()}/{address}")
    page.wait_for_url(f"**/{place}")
    page.context.close()


def test_phone_shows_text_of_readable_size(site, chrome):
    with checks.Visit(chrome, site / f"{PAGES[0]}.html") as visit:
        visit.page.set_viewport_size({"width": 390, "height": 844})
        size = visit.page.evaluate("() => parseFloat(getComputedStyle(document.querySelector('article p')).fontSize)")
        assert size >= 14


def test_code_goes_and_the_choice_is_remembered(site, chrome):
    """By the switch "Code: on/off" of every page with cells."""
    page = browser.context(chrome).new_page()
    page.goto((site / "push/triplet.html").as_uri())
    inputs, outputs = page.locator("article div.cell_input:visible"), page.locator("article div.cell_output:visible")
    before = outputs.count()
    assert inputs.count() and before
    page.get_by_role("button", name="Code: on").click()
    assert inputs.count() == 0 and outputs.count() == before
    page.goto((site / "search/scores.html").as_uri())
    switch = page.get_by_role("button", name="Code: off")
    assert switch.get_attribute("aria-pressed") == "false" and inputs.count() == 0
    switch.click()
    assert inputs.count()
    page.goto((site / "reference/library.html").as_uri())
    assert page.locator(".code-switch").count() == 0  # a page without cells has none
    page.context.close()

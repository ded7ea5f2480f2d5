"""The switch "Code: on/off" of every page, in a real browser."""

import pytest

import browser

pytestmark = pytest.mark.process

PAGE = "push/triplet"


def test_code_goes_and_the_choice_is_remembered(site, chrome):
    context = browser.context(chrome)
    page = context.new_page()
    page.goto((site / f"{PAGE}.html").as_uri())
    inputs, outputs = page.locator("article div.cell_input:visible"), page.locator("article div.cell_output:visible")
    before = outputs.count()
    assert inputs.count() and before
    page.get_by_role("button", name="Code: on").click()
    assert inputs.count() == 0 and outputs.count() == before
    page.goto((site / "search/scores.html").as_uri())
    assert page.get_by_role("button", name="Code: off").get_attribute("aria-pressed") == "false"
    assert page.locator("article div.cell_input:visible").count() == 0
    page.get_by_role("button", name="Code: off").click()
    assert page.locator("article div.cell_input:visible").count()
    context.close()


def test_a_page_without_cells_has_no_switch(site, chrome):
    page = browser.context(chrome).new_page()
    page.goto((site / "reference/library.html").as_uri())
    assert page.locator(".code-switch").count() == 0
    page.context.close()


def test_an_old_address_leads_on(site, chrome):
    page = browser.context(chrome).new_page()
    page.goto((site / "gradients/triplet.html").as_uri() + "#corners")
    page.wait_for_url("**/push/triplet.html#corners")
    page.context.close()

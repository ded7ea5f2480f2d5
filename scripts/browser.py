"""The browser that opens the built pages: find it, install it where that is allowed, start it."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome")
MAC = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-dev-shm-usage",
]


PATIENCE = 600_000  # ms for anything that a page is asked for: how fast a machine is decides over nothing


class NoBrowser(FileNotFoundError):
    """No Chromium or Chrome on this machine."""


def find() -> str:
    """Path of $ICR_BROWSER, Chromium or Chrome; :class:`NoBrowser` where there is none."""
    if wanted := os.environ.get("ICR_BROWSER"):
        if path := shutil.which(wanted):
            return path
        raise NoBrowser(f"ICR_BROWSER is {wanted!r}, which is not a program.")
    for name in (*NAMES, *MAC):
        if path := shutil.which(name):
            return path
    raise NoBrowser(
        "No Chromium or Chrome found, which the tests of the built pages need. Install one (Debian, Ubuntu: "
        "scripts/install-system-packages; macOS: brew install --cask google-chrome), "
        "or set ICR_BROWSER to its path."
    )


def ensure() -> str:
    """Like :func:`find`, but tries scripts/install-system-packages before it gives up."""
    try:
        return find()
    except NoBrowser:
        if os.environ.get("ICR_BROWSER"):
            raise
        script = Path(__file__).with_name("install-system-packages")
        subprocess.run([script], stdin=subprocess.DEVNULL, check=False)
        return find()


def pages(site: Path) -> list[Path]:
    """The pages of a built book in order of their names, without index.html, which only leads to the first."""
    found = [p for p in sorted(site.rglob("*.html")) if not {"_static", "_sources"} & set(p.relative_to(site).parts)]
    return [p for p in found if 'http-equiv="Refresh"' not in p.read_text()]


@contextlib.contextmanager
def launch() -> Iterator:
    """A headless browser (Playwright's object)."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find(), args=ARGUMENTS, timeout=PATIENCE)
        try:
            yield browser
        finally:
            browser.close()


def context(browser, **options):
    """A new context of ``browser`` (Playwright's) that waits for what its pages do, however long it takes."""
    made = browser.new_context(**options)
    made.set_default_timeout(PATIENCE)
    return made


if __name__ == "__main__":
    try:
        print(f"browser: {ensure()}")
    except NoBrowser as err:
        sys.exit(str(err))

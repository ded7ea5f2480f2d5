"""What a built page must satisfy: one function a demand, which returns its complaints as sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

from bs4 import BeautifulSoup

import browser

PHONE = 390
_MARKUP = re.compile(r"\{(?:doc|ref|numref|eq|term|cite:?[pt]?)\}|\((?:eq|fig)-[\w-]+\)")
LOCAL = ("file:", "data:", "blob:", "about:")

# Text that a reader sees, without code, where a dollar or a backslash may stand for itself.
_VISIBLE = """() => { const copy = (document.querySelector('article') || document.body).cloneNode(true);
  const skip = 'pre, code, script, style, mjx-container, .cell_input';
  copy.querySelectorAll(skip).forEach(e => e.remove());
  return copy.textContent; }"""
# A frame and a pause; a browser that draws no frame, as happens once in thousands of pages, is not waited for.
_SETTLED = """() => new Promise(done => { setTimeout(done, 3000);
  requestAnimationFrame(() => requestIdleCallback(done, {timeout: 2000})); })"""
_OUTPUTS = "() => [...document.querySelectorAll('.cell_output pre')].map(e => e.textContent)"
_OBJECT = re.compile(r"<[\w.]+ object[^>]*>")
_IMAGES = """async () => { const bad = [];
  for (const i of document.images) {
    i.loading = 'eager';
    await i.decode().catch(() => 0);  // reported below
    const name = (i.getAttribute('src') || '').slice(0, 80);
    if (!i.naturalWidth) bad.push(`an image is not loaded: ${name}`);
    if (!i.hasAttribute('alt')) bad.push(`an image has no alt text: ${name}`); }
  return bad; }"""
_UNTYPESET = """() => [...document.querySelectorAll('.math')].filter(e => !e.querySelector('mjx-container'))
  .map(e => e.textContent.slice(0, 80))"""
_WIDE = """width => [...document.querySelectorAll('article *')]
  .filter(e => e.getBoundingClientRect().right > width + 1)
  .filter(e => !e.closest('pre, mjx-container, .cell_output, table, .pst-scrollable-table-container, svg'))
  .slice(0, 4).map(e => `${e.tagName.toLowerCase()}.${e.className}`).join(', ')"""

_CODE_WIDE = """() => [...document.querySelectorAll('pre')]
  .filter(e => !e.closest('details, .tag_hide-input .cell_input') && e.offsetParent)  // folded: long lines may scroll
  .filter(e => e.scrollWidth > e.clientWidth + 2)
  .map(e => e.textContent.split('\\n').reduce((a, b) => b.length > a.length ? b : a).trim().slice(0, 70))"""

# The contrast of WCAG 2: (L1 + 0.05) / (L2 + 0.05) of two relative luminances. A browser's canvas reads any CSS colour.
_FAINT = """([theme, least]) => { document.documentElement.dataset.theme = theme;
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const rgba = c => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = c; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data]; };
  const linear = v => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
  const light = c => .2126 * linear(c[0]) + .7152 * linear(c[1]) + .0722 * linear(c[2]);
  const ground = e => { for (; e; e = e.parentElement) {
    const c = rgba(getComputedStyle(e).backgroundColor); if (c[3] > 127) return c; } return [255, 255, 255]; };
  const skip = 'script, style, svg, mjx-assistive-mml, .headerlink, kbd, [class*=kbd]';
  const found = new Set(), walk = document.createTreeWalker(document.querySelector('article') || document.body, 4);
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement, box = e.getBoundingClientRect();
    const text = walk.currentNode.textContent.trim();
    if (!text || box.width < 2 || box.height < 2 || e.closest(skip)) continue;
    const [a, b] = [light(rgba(getComputedStyle(e).color)), light(ground(e))].sort((x, y) => y - x);
    if ((a + .05) / (b + .05) < least) found.add(`${theme}: ${text.slice(0, 40)}`); }
  return [...found]; }"""


class Visit:
    """A page opened from disk without a network, with everything that it complained about or asked of others."""

    def __init__(self, chrome, path: Path):
        self.messages = []
        self.context = browser.context(chrome, viewport={"width": 1280, "height": 900})
        self.context.route("**/*", self._route)
        self.page = self.context.new_page()
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda err: self.messages.append(f"page error: {err}"))
        self.page.goto(path.resolve().as_uri())
        self.page.wait_for_load_state("load")
        self.page.evaluate("() => window.MathJax && MathJax.startup && MathJax.startup.promise")
        self.settled()

    def settled(self) -> None:
        """Wait until the page was drawn and has nothing more to do."""
        self.page.evaluate(_SETTLED)

    def __enter__(self) -> Visit:
        return self

    def __exit__(self, *_) -> None:
        self.context.close()

    def _route(self, route) -> None:
        if route.request.url.startswith(LOCAL):
            route.continue_()
        else:
            self.messages.append(f"external request: {route.request.url}")
            route.abort()

    def _console(self, message) -> None:
        if message.type in ("error", "warning"):
            self.messages.append(f"console {message.type}: {message.text[:200]} ({message.location['url']})")


def quiet(visit: Visit) -> list[str]:
    """No error or warning in the console, no exception, no missing file, and nothing is asked of any other machine."""
    return list(visit.messages)


def images(visit: Visit) -> list[str]:
    """Every image is there and has an alt attribute."""
    return visit.page.evaluate(_IMAGES)


def equations(visit: Visit) -> list[str]:
    """All mathematics is typeset, without an error, and none is left as it was typed."""
    found = [f"not typeset: {text}" for text in visit.page.evaluate(_UNTYPESET)]
    if count := visit.page.locator("mjx-merror, [data-mjx-error]").count():
        found.append(f"{count} equations with a TeX error")
    text = visit.page.evaluate(_VISIBLE)
    return found + [f"raw mathematics in the text: {sign}" for sign in ("$", r"\(", r"\[", r"\begin{") if sign in text]


def markup(visit: Visit) -> list[str]:
    """No role ({doc}, {ref}, ...) and no label of an equation stands in the text as it was typed, and no output is the
    bare name of an object, as of a Markdown that was given no text."""
    objects = (name for text in visit.page.evaluate(_OUTPUTS) for name in _OBJECT.findall(text))
    return [
        *(f"raw markup in the text: {sign}" for sign in _MARKUP.findall(visit.page.evaluate(_VISIBLE))),
        *(f"an output shows an object's name: {name}" for name in objects),
    ]


def sliders(visit: Visit) -> list[str]:
    """Every slider changes its picture, alt text and value when an arrow key is pressed."""
    found = []
    for number, slider in enumerate(visit.page.locator(".frames-slider").all()):
        control, image, value = (slider.locator(s) for s in ("input[type=range]", "img", "output"))
        control.focus()
        states = []
        for key in ("Home", "ArrowRight"):
            control.press(key)
            states.append((image.get_attribute("src"), image.get_attribute("alt"), value.inner_text()))
        named = zip(("picture", "alt text", "value"), *states, strict=True)
        found += [f"slider {number}: its {name} does not move" for name, before, after in named if before == after]
    return found


def readable(visit: Visit) -> list[str]:
    """Text stands out from its ground by a contrast of 4 or more, in light and in dark mode (drawings aside)."""
    visit.page.add_style_tag(content="*, *::before, *::after {transition: none !important}")  # no colour on its way
    faint = [line for theme in ("dark", "light") for line in visit.page.evaluate(_FAINT, [theme, 4.0])]
    return [f"too little contrast, {line}" for line in faint]


def fits_desktop(visit: Visit) -> list[str]:
    """At 1280 px no unfolded code, command or output has to be scrolled sideways. Asked before :func:`fits_phone`."""
    return [f"code that scrolls at 1280 px: {line}" for line in visit.page.evaluate(_CODE_WIDE)]


def fits_phone(visit: Visit) -> list[str]:
    """At 390 px the page does not scroll sideways (wide tables and equations do, in their own boxes), and the captions
    of wide tables are read without moving the table."""
    visit.page.set_viewport_size({"width": PHONE, "height": 844})
    visit.settled()
    width = visit.page.evaluate("() => document.documentElement.scrollWidth")
    cut = visit.page.evaluate(
        """width => [...document.querySelectorAll('table caption')]
      .filter(e => e.getBoundingClientRect().right > width).map(e => e.textContent.trim().slice(0, 40))""",
        PHONE,
    )
    faults = [f"a caption that leaves a {PHONE} px phone: {text}" for text in cut]
    if width > PHONE:
        faults.append(f"{width} px wide on a {PHONE} px phone: {visit.page.evaluate(_WIDE, PHONE)}")
    return faults


# The phone behind the desktop, whose width it changes; what a page complained about comes last.
CHECKS = (images, equations, markup, sliders, readable, fits_desktop, fits_phone, quiet)


@cache
def _anchors(path: Path) -> tuple[list[str], set[str]]:
    """(addresses that a page links to, names of its places)."""
    page = BeautifulSoup(path.read_text(), "html.parser")
    return [one["href"] for one in page.select("a[href]")], {
        value for one in page.select("[id], [name]") for value in (one.get("id"), one.get("name"))
    }


def links(path: Path) -> Iterator[str]:
    """Links of the page into the book that lead nowhere: a missing file, or a missing place in it."""
    for link in _anchors(path)[0]:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        if not target.is_file():
            yield f"dead link: {link}"
        elif parts.fragment and target.suffix == ".html" and unquote(parts.fragment) not in _anchors(target)[1]:
            yield f"dead link: {link} (no such place on that page)"

"""Each check of page_checks finds its fault on a small page that has it, and nothing on one that has not."""

import matplotlib.pyplot as plt
import pytest

import page_checks as checks
from icrlib.widgets import frames_slider

PIXEL = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
HEAD = '<!doctype html><meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">'
SLIDER = """<div class="frames-slider"><input type="range" min="0" max="1" value="0"><output>1</output>
<img src="a" alt="one"></div><script>
const q = s => document.querySelector(s); %s</script>"""
MOVES = "q('input').oninput = e => { q('img').src = 'b'; q('img').alt = 'two'; q('output').textContent = '2'; };"

LONG = "x = 1; " * 90
FAULTS = {
    "console error": (checks.quiet, "<script>console.error('broken')</script>", "broken"),
    "console warning": (checks.quiet, "<script>console.warn('theme')</script>", "theme"),
    "exception": (checks.quiet, "<script>nothing.there()</script>", "page error"),
    "missing script": (checks.quiet, '<script src="gone.js"></script>', "gone.js"),
    "external script": (checks.offline, '<script src="https://cdn.example/x.js"></script>', "cdn.example"),
    "external fetch": (
        checks.offline,
        "<script>fetch('https://a.example').catch(() => 0)</script>",
        "a.example",
    ),
    "missing image": (checks.images, '<img src="gone.png" alt="a">', "not loaded"),
    "broken lazy image": (
        checks.images,
        '<img loading="lazy" src="data:image/png;base64,AAAA" alt="a">',
        "not loaded",
    ),
    "image without alt": (checks.images, f'<img src="{PIXEL}">', "no alt"),
    "untypeset": (checks.equations, r'<span class="math">\(x\)</span>', "not typeset"),
    "raw dollars": (checks.equations, "<article><p>so $x^2$ is</p></article>", "raw"),
    "raw dollars of a cell": (checks.equations, "<article><div class='cell_output'><p>$B$</p></div></article>", "raw"),
    "raw display": (checks.equations, r"<article>\begin{align} x \end{align}</article>", "raw"),
    "TeX error": (checks.equations, "<mjx-container><mjx-merror>?</mjx-merror></mjx-container>", "TeX error"),
    "a role in an output": (checks.markup, "<article><p>see {doc}<code>../task</code>.</p></article>", "{doc}"),
    "a cited key": (checks.markup, "<article><p>as {cite:p} <code>key</code></p></article>", "{cite:p}"),
    "a label on a line of its own": (checks.markup, "<article><p>(eq-infonce)</p></article>", "(eq-infonce)"),
    "an empty Markdown": (
        checks.markup,
        "<article><div class='cell_output'><pre>&lt;IPython.core.display.Markdown object&gt;</pre></div></article>",
        "shows an object's name: <IPython.core.display.Markdown object>",
    ),
    "still slider": (checks.sliders, SLIDER % "", "picture does not move"),
    "slider moves only its number": (
        checks.sliders,
        SLIDER % "q('input').oninput = e => { q('output').textContent = e.target.value; };",
        "picture does not move",
    ),
    "too wide": (checks.fits_phone, '<article><div style="width:600px">wide</div></article>', "px wide"),
    "caption cut off": (
        checks.fits_phone,
        f'<div style="overflow-x:auto"><table><caption>{"mean " * 30}</caption><td><pre>{LONG}</pre></table></div>',
        "caption that leaves",
    ),
    "long line of code": (checks.fits_desktop, f'<pre style="overflow-x:auto">{LONG}</pre>', "scrolls at 1280"),
    "orange on white": (checks.readable, '<p style="color:#de8f05;background:#fff">Triplet</p>', "light: Triplet"),
    "ink that stays black": (
        checks.readable,
        "<style>html[data-theme=dark] body { background: #121212; color: #ddd }</style><p style='color:#000'>gone</p>",
        "dark: gone",
    ),
    "launch button": (
        lambda visit: checks.launch_buttons(visit, configured=False),
        '<div class="dropdown dropdown-launch-buttons">go</div>',
        "without a configured",
    ),
    "no launch button": (lambda visit: checks.launch_buttons(visit, configured=True), "<p>x", "no launch"),
    "mathematics lost": (lambda visit: checks.equations(visit, expected=True), "<p>x", "has none"),
}
SOUND = f"""<article><p>x costs <code>$5</code>, a role is <code>{{doc}}</code>, a set {{a}}</p>
<img src="{PIXEL}" alt="a dot">
<span class="math"><mjx-container>x</mjx-container></span>
<div style="overflow-x:auto;max-width:100%"><div style="width:600px">scrolls by itself</div></div>
<details><summary>folded</summary><pre style="overflow-x:auto">{LONG}</pre></details>
<div class="tag_hide-input"><div class="cell_input"><pre style="overflow-x:auto">{LONG}</pre></div></div>
<pre style="white-space:pre-wrap">{LONG}</pre></article>"""


@pytest.fixture
def visit(chrome, tmp_path):
    def open_page(body):
        path = tmp_path / "page.html"
        path.write_text(f"{HEAD}<title>t</title><body>{body}</body>")
        return checks.Visit(chrome, path)

    return open_page


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found(visit, name):
    check, body, says = FAULTS[name]
    with visit(body) as page:
        assert says in " ".join(check(page))


def test_a_sound_page_passes(visit):
    with visit(SOUND) as page:
        checked = (checks.quiet, checks.offline, checks.images, checks.equations, checks.markup)
        for check in (*checked, checks.readable, checks.fits_desktop, checks.fits_phone):
            assert check(page) == []
        assert checks.equations(page, expected=True) == []
        assert checks.launch_buttons(page, configured=False) == []


def test_a_working_slider_passes(visit):
    with visit(SLIDER % MOVES) as page:
        assert checks.sliders(page) == []


def test_the_librarys_slider_passes(visit):
    def draw(value):
        figure, axes = plt.subplots(figsize=(2, 1))
        axes.plot([0, value])
        return figure

    both = [frames_slider(draw, [1, 2, 3], label=f"slider {n}", alt="line to {}".format, start=n) for n in (0, 1)]
    with visit("".join(s.data for s in both)) as page:
        faults = [*checks.quiet(page), *checks.offline(page), *checks.images(page), *checks.sliders(page)]
        assert faults + checks.fits_phone(page) == []
        assert page.page.get_by_label("slider 1", exact=True).count() == 2  # the group and its control
        # The pointer moves it as the keys do.
        control = page.page.locator("input[type=range]").last
        control.fill("2")
        assert page.page.locator(".frames-slider img").last.get_attribute("alt") == "line to 3"


def test_links(tmp_path):
    (tmp_path / "there.html").write_text('<h1 id="here">x</h1>')
    page = tmp_path / "page.html"
    page.write_text('<a id="top" href="there.html#here">a</a><a href="#top">b</a><a href="https://a.example">c</a>')
    assert list(checks.links(page)) == []
    page.write_text('<a href="gone.html">a</a><a href="there.html#gone">b</a><a href="#gone">c</a>')
    assert len(list(checks.links(page))) == 3

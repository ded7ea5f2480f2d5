"""The glossary, and the links to it that are made when the pages are built (book/_ext/first_use.py)."""

from __future__ import annotations

import posixpath
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import nbformat
import nbformat.v4 as v4
import pytest
from bs4 import BeautifulSoup

from chapters import Book
from icrlib.losses import LOSSES
from icrlib.names import METHODS
from notebook_checks import prose

BOOK = Book(Path(__file__).resolve().parents[2])
EXTENSIONS = BOOK.source / "_ext"
sys.path.insert(0, str(EXTENSIONS))
import first_use  # noqa: E402  (it lies beside the chapters and not in a package)

CONF = f"""
import sys
sys.path.insert(0, {str(EXTENSIONS)!r})
extensions = ["myst_nb", "sphinx_exercise", "first_use"]
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
nb_execution_mode = "off"
html_theme = "basic"
first_use_skip = ["skipped"]
first_use_forms = {{"score": "scores?(?! high)", "R@k": "R@(?:k|5)", "Lagrange's rule": "Lagrange's (?:rule|law)"}}
first_use_not = {{"other-sense": ["query"]}}
"""
ENTRIES = {
    "bag of words": "A model without order. It is simple.",
    "hard negative\nhardest negative": 'One that is near (Eq. 5 of "a paper", $x$). See {doc}`plain`.',
    "Lagrange's rule": "A rule.",
    "loss": "What is trained. It has a query.",
    "LTD": "A paper.",
    "negative": "No match.",
    "query": "What is asked.",
    "query plan": "How it is answered.",
    "R@k": "A measure.",
    "score": "A number.",
    "Triplet": "A name.",
    "VSE++": "A model.",
}
LISTED = "\n\n".join(f"{names}\n  {definition}" for names, definition in ENTRIES.items())
GLOSSARY = f"# Words\n\nA query and a hard negative.\n\n```{{glossary}}\n{LISTED}\n```\n"
# Each page: its text, and the words that should be linked.
PAGES = {
    "plain": ("A query, and a query.\n\nAnd *one* query more.", ["query"]),
    "parts": ("## The query\n\n- this\n  - a *query*\n\n> a **hard negative**", ["query", "hard negative"]),
    "twice-in-a-line": ("A query has a negative, and a loss has a query.", ["query", "negative", "loss"]),
    "link": ("[a query](plain.md), [query](https://example.org) and {doc}`the query <plain>`", []),
    "code": ("`query` and\n\n```python\nquery = 1\n```\n", []),
    "maths": ("$query$ and\n\n$$ query $$\n\n```{math}\nquery\n```", []),
    "figure": ("```{figure} a.png\nA query.\n\nA negative in the legend.\n```", []),
    "table": ("| query | b |\n| --- | --- |\n| negative | c |", []),
    "admonition": (":::{admonition} A negative\nThis query.\n:::\n\n:::{note}\nA loss.\n:::", ["query", "loss"]),
    "exercise": ("```{exercise} On a negative\n:label: ex\nA query.\n```\n\n```{solution} ex\nA loss.\n```", ["query"]),
    "skipped": ("A query.", []),
    "other-sense": ("A query and a negative.", ["negative"]),
    "parts-of-words": ("An inquery is queryable, query-free, non-query and a query_2.", []),
    "hyphen": ("Triplet-SH and then Triplet.", ["Triplet"]),
    "longest-from-one-start": ("A query plan.", ["query plan"]),
    "two-names": ("The hardest negative is a hard negative.", ["hardest negative"]),
    "two-lines": ("A hard\nnegative, and *a bag\nof words*.", ["hard\nnegative", "bag\nof words"]),
    "plural": (
        "Queries, negatives, losses, hard negatives, bags of words.",
        ["Queries", "negatives", "losses", "hard negatives", "bags of words"],
    ),
    "case": ("Query, NEGATIVE, Bag of Words.", ["Query", "NEGATIVE", "Bag of Words"]),
    "case-of-abbreviations": ("ltd, r@k, a triplet, vse++.", []),
    "abbreviations": ("LTD's R@k, and VSE++'s.", ["LTD", "R@k", "VSE++"]),
    "apostrophe": ("By Lagrange's law.", ["Lagrange’s law"]),
    "by-hand": ("{term}`query`. A query and a negative.", ["negative"]),
    "by-hand-later": ("A query.\n\n- see {term}`this <query>`", []),
    "forms": ("It scores high. A score.", ["score"]),
    "part/deep": ("A query.", ["query"]),
}
SHOWN = {"text/markdown": "A query in an output.", "text/html": "<p>a query</p>", "text/plain": "a query"}
CELLS = [
    v4.new_code_cell("query = 1", outputs=[v4.new_output("display_data", {kind: SHOWN[kind]}) for kind in SHOWN]),
    v4.new_markdown_cell("# A notebook\n\nA loss, after the cell."),
]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """All made-up pages, built once, with warnings as errors."""
    root = tmp_path_factory.mktemp("glossary")
    (root / "part").mkdir()
    (root / "conf.py").write_text(CONF)
    (root / "a.png").write_bytes(b"")
    texts = {"index": "# Start\n", "words": GLOSSARY} | {
        name: f"# Title\n\n{text}\n" for name, (text, _) in PAGES.items()
    }
    for name, text in texts.items():
        (root / f"{name}.md").write_text(f"---\norphan: true\n---\n{text}")
    about = {"orphan": True, "language_info": {"name": "python", "pygments_lexer": "ipython3"}}
    nbformat.write(v4.new_notebook(cells=CELLS, metadata=about), root / "notebook.ipynb")
    command = [sys.executable, "-m", "sphinx", "-W", "-n", "--keep-going", "-q", "-b", "html", root, root / "html"]
    subprocess.run(command, stdin=subprocess.DEVNULL, check=True)
    return root / "html"


@cache
def read(path: Path) -> BeautifulSoup:
    return BeautifulSoup(path.read_text(), "html.parser")


def links(site: Path, name: str) -> list:
    return read(site / f"{name}.html").select("a.first-use")


@pytest.mark.parametrize("name", PAGES)
def test_first_uses_are_linked_to_their_definitions(site, name):
    assert [link.get_text() for link in links(site, name)] == PAGES[name][1]
    for link in links(site, name):
        page, anchor = link["href"].split("#")
        assert posixpath.normpath(posixpath.join(posixpath.dirname(name), page)) == "words.html"
        term = read(site / "words.html").find(id=anchor)
        assert term.name == "dt" and term.get_text()[:2].lower() == link.get_text()[:2].lower()


def test_cells_their_outputs_and_the_glossary_itself_stay(site):
    assert [link.get_text() for link in links(site, "notebook")] == ["loss"] and links(site, "words") == []
    assert "A query in an output" in read(site / "notebook.html").get_text()
    text = read(site / "twice-in-a-line.html").select_one("div.body p").get_text()
    assert text == PAGES["twice-in-a-line"][0]


def test_the_tooltip_is_the_first_sentence(site):
    link = links(site, "two-names")[0]
    assert link["title"].startswith("One that is near (Eq. 5 of “a paper”, ") and link["title"].endswith(").")
    assert links(site, "two-lines")[1]["title"] == "A model without order."


def entries() -> list[tuple[list[str], str]]:
    """Names and definition of each entry of the book's own glossary, as they stand in the file."""
    text = BOOK.path("reference/words", ".md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```\{glossary\}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    found = re.findall(r"((?:^\S.*\n)+)((?:^  .*\n)+)", block, re.MULTILINE)
    assert "".join(f"{names}{definition}" for names, definition in found) == block.replace("\n\n", "\n")
    return [(names.splitlines(), " ".join(definition.split())) for names, definition in found]


NAMES = [name for names, _ in entries() for name in names]
UNNAMED = {"alignment"}  # its label is a formula, "1 − cosine"


def test_entries_are_sorted_and_each_name_is_defined_once():
    first = [names[0].casefold() for names, _ in entries()]
    assert first == sorted(first) and 30 <= len(first) <= 55
    assert len({name.casefold() for name in NAMES}) == len(NAMES)


@pytest.mark.parametrize(("names", "definition"), entries(), ids=lambda one: one[0] if isinstance(one, list) else "")
def test_a_definition_is_short_and_leads_to_a_chapter(names, definition):
    targets = re.findall(r"\{doc\}`(?:[^`<]*<)?([^`>]+)>?`", definition)
    pages = [posixpath.normpath(posixpath.join("reference", target)) for target in targets]
    assert pages and set(pages) <= set(BOOK.pages())
    sentences = re.split(r"(?<=[.!?]) (?=[A-Z])", definition)
    assert len(sentences) <= 3 and definition.endswith(".")
    # It becomes a tooltip, which shows neither maths nor links.
    assert not re.search(r"[$`{*]", sentences[0]) and len(sentences[0]) <= 140


@pytest.mark.parametrize("name", sorted({*LOSSES, *METHODS} - UNNAMED))
def test_every_loss_and_model_is_a_word_of_the_glossary(name):
    """ "NT-Xent, hardest" is NT-Xent."""
    kind = LOSSES[name] if name in LOSSES else METHODS[name]
    assert kind.label.split(",")[0].casefold() in {name.casefold() for name in NAMES}


def test_every_entry_is_used_in_the_book():
    forms = BOOK.config()["sphinx"]["config"]["first_use_forms"]
    listed = [first_use.Entry(names, [], "") for names, _ in entries()]
    search, groups = first_use.expression(listed, forms)
    used = set()
    for name in (page for page in BOOK.pages() if not page.startswith(("reference/words", "reference/library"))):
        text = prose(BOOK, name)
        used |= {groups[match.lastgroup][0] for match in search.finditer(first_use.plain(text))}
    assert [listed[k].names[0] for k in range(len(listed)) if k not in used] == []


def test_the_settings_of_the_book_name_what_is_there():
    sphinx = BOOK.config()["sphinx"]
    config = sphinx["config"]
    assert "first_use" in config["extensions"] and (BOOK.root / sphinx["local_extensions"]["first_use"]).is_dir()
    assert set(config["first_use_forms"]) <= set(NAMES)
    assert all(re.compile(form).groups == 0 for form in config["first_use_forms"].values())
    assert set(config["first_use_not"]) | set(config["first_use_skip"]) <= set(BOOK.pages())
    assert {name for names in config["first_use_not"].values() for name in names} <= set(NAMES)

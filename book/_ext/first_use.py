"""Link the first use of each glossary term on a page to the glossary, when the pages are written.

No chapter is edited. It works on the resolved document of a page, when all pages have been read, so that every term is
known and links by hand, {term}`...`, can be told from plain text. Settings of conf.py (or of _config.yml, under
``sphinx: config:``):

``first_use_skip``
    Pages that stay as they are, beside those that hold a glossary.
``first_use_forms``
    For a term that is also an everyday word: a regular expression of the forms that mean the term. "Positive" is an
    adjective more often than not, "positives" is not. Without capturing groups.
``first_use_not``
    Names that mean something else on a page: page -> list of names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

# A paragraph below one of these is no running text. (Headings, captions and titles are no paragraphs to begin with.)
CLOSED = (nodes.table, nodes.figure, nodes.legend, nodes.footnote, nodes.citation, nodes.topic, nodes.reference,
          addnodes.glossary, addnodes.desc, addnodes.compact_paragraph)
# The same, told by class: a cell of a notebook with its outputs, and the solution of an exercise.
CLOSED_CLASSES = {"cell", "cell_input", "cell_output", "solution"}
# Text may stand in these inside of a paragraph. In all else, such as links, code and maths, it stays as it is.
INLINE = (nodes.emphasis, nodes.strong)


class Entry(NamedTuple):
    """A definition of the glossary: its names, where each of them is, and the definition's first sentence."""

    names: list[str]
    places: list[tuple[str, str]]
    sentence: str


class Terms(NamedTuple):
    """All entries, and one expression that finds any of them: its group t7 is a name of entry 7."""

    entries: list[Entry]
    pages: set[str]
    search: re.Pattern[str]
    groups: dict[str, tuple[int, int]]


def plain(text: str) -> str:
    """The text with one kind of space and apostrophe; as long as it was, so that places in it stay."""
    return re.sub(r"\s", " ", text).replace("’", "'")


def forms(name: str) -> str:
    """An expression for a name and its plural. A name with capitals, digits or signs is an abbreviation: no change
    of case."""
    if name != name.lower() or re.search(r"[^a-z' -]", name):
        return f"{re.escape(name)}s?"
    head, of, rest = name.partition(" of ")  # the plural of "bag of words" is in its head
    head = f"{re.escape(head[:-1])}(?:y|ies)" if re.search(r"[^aeiou]y$", head) else f"{re.escape(head)}(?:s|es)?"
    return f"(?i:{head}{re.escape(of + rest)})"


def expression(entries: list[Entry], special: dict[str, str]) -> tuple[re.Pattern[str], dict[str, tuple[int, int]]]:
    """One expression, long names before short ones, so that "hard negative" is not taken for a "negative"."""
    named = [(name, (k, n)) for k, entry in enumerate(entries) for n, name in enumerate(entry.names)]
    groups, parts = {}, []
    for number, (name, place) in enumerate(sorted(named, key=lambda one: -len(one[0]))):
        own = f"(?i:{special[name]})" if name == name.lower() and name in special else special.get(name)
        parts.append(f"(?P<t{number}>{own or forms(name)})")
        groups[f"t{number}"] = place
    # A hyphen belongs to the word: "Triplet" is not in "Triplet-SH".
    return re.compile(rf"(?<![\w-])(?:{'|'.join(parts)})(?![\w-])"), groups


def first_sentence(definition: nodes.Element) -> str:
    """For the tooltip: up to the first full stop that ends a sentence."""
    text = plain(next(iter(definition.findall(nodes.paragraph)), nodes.paragraph()).astext())
    return re.split(r"(?<=[.!?]) (?=[A-Z])", text, maxsplit=1)[0]


def read_entries(app: Sphinx) -> tuple[list[Entry], set[str]]:
    """The entries of all glossaries, and the pages that hold them."""
    objects = app.env.get_domain("std").objects
    pages = {page for (kind, _), (page, _) in objects.items() if kind == "term"}
    entries = []
    for page in sorted(pages):
        for glossary in app.env.get_doctree(page).findall(addnodes.glossary):
            for item in glossary.findall(nodes.definition_list_item):
                terms = [child for child in item.children if isinstance(child, nodes.term)]
                places = [(page, term["ids"][0]) for term in terms]
                entries.append(Entry([plain(t.astext()) for t in terms], places, first_sentence(item[-1])))
    return entries, pages


def terms_of(app: Sphinx) -> Terms:
    """Read once a build, when the first page is written."""
    if not hasattr(app, "_first_use_terms"):
        entries, pages = read_entries(app)
        search, groups = expression(entries, app.config.first_use_forms)
        app._first_use_terms = Terms(entries, pages, search, groups)
    return app._first_use_terms


def closed(node: nodes.Node) -> bool:
    """Whether the node lies in something that is no running text."""
    while node is not None:
        if isinstance(node, CLOSED) or (isinstance(node, nodes.Element) and CLOSED_CLASSES & set(node["classes"])):
            return True
        node = node.parent
    return False


def running_text(doctree: nodes.document) -> Iterator[nodes.Text]:
    """Text of paragraphs and list items, in reading order."""
    for paragraph in list(doctree.findall(nodes.paragraph)):
        if closed(paragraph):
            continue
        join_lines(paragraph)
        for text in list(paragraph.findall(nodes.Text)):
            around = text.parent
            while isinstance(around, INLINE):
                around = around.parent
            if around is paragraph:
                yield text


def join_lines(paragraph: nodes.paragraph) -> None:
    """MyST makes a node of each line and of each line break; a term may go over two lines."""
    for part in [paragraph, *(inner for kind in INLINE for inner in paragraph.findall(kind))]:
        joined: list[nodes.Node] = []
        for child in part.children:
            if joined and isinstance(child, nodes.Text) and isinstance(joined[-1], nodes.Text):
                joined[-1] = nodes.Text(joined[-1] + child)
            else:
                joined.append(child)
        part.children = []
        part.extend(joined)


def linked_by_hand(doctree: nodes.document, uris: dict[str, int]) -> set[int]:
    """Entries that the page links to already."""
    return {uris[link["refuri"]] for link in doctree.findall(nodes.reference) if link.get("refuri") in uris}


def link_first_uses(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Put a link around the first use of each term that the page does not link to by hand."""
    if app.builder.format != "html":
        return
    terms = terms_of(app)
    if not terms.entries or page in terms.pages or page in app.config.first_use_skip:
        return
    uri = {(k, n): f"{app.builder.get_relative_uri(page, target)}#{anchor}"
           for k, entry in enumerate(terms.entries) for n, (target, anchor) in enumerate(entry.places)}
    done = linked_by_hand(doctree, {address: k for (k, _), address in uri.items()})
    unwanted = app.config.first_use_not.get(page, ())
    done |= {k for k, entry in enumerate(terms.entries) if set(entry.names) & set(unwanted)}
    for text in running_text(doctree):
        pieces, end = [], 0
        # A use that has its link already is passed over as a whole: the "negative" in a second "hard negative" is none.
        for match in terms.search.finditer(plain(text)):
            place = terms.groups[match.lastgroup]
            if place[0] in done:
                continue
            done.add(place[0])
            word = text[match.start() : match.end()]
            link = nodes.reference(word, word, internal=True, refuri=uri[place], classes=["first-use"])
            link["reftitle"] = terms.entries[place[0]].sentence
            pieces += [nodes.Text(text[end : match.start()]), link]
            end = match.end()
        if pieces:
            text.parent.replace(text, [*pieces, nodes.Text(text[end:])])


def setup(app: Sphinx) -> dict:
    app.add_config_value("first_use_skip", [], "env", [list])
    app.add_config_value("first_use_forms", {}, "env", [dict])
    app.add_config_value("first_use_not", {}, "env", [dict])
    app.connect("doctree-resolved", link_first_uses)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}

"""Answers as a page: a grid of photos, with what was searched and how. One file without requests, or served locally."""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from icrlib.data.pictures import BadPicture
from icrlib.files import write_bytes
from icrlib.search.index import Hit, Index, names_picture, picture

MARK = '<meta name="generator" content="icr search">'
STYLE = """
:root{color-scheme:light dark;--ink:#1c1c1e;--paper:#fff;--soft:#666;--line:#ddd;--warn:#8a4b00}
@media(prefers-color-scheme:dark){:root{--ink:#eee;--paper:#161618;--soft:#aaa;--line:#3a3a3c;--warn:#ffb454}}
*{box-sizing:border-box}
body{font:16px/1.45 system-ui,sans-serif;color:var(--ink);background:var(--paper);margin:0 auto;padding:1rem;
max-width:75rem}
h1{font-size:1.35rem;margin:.2rem 0;overflow-wrap:anywhere}
p{margin:.3rem 0;color:var(--soft);overflow-wrap:anywhere}
p.warn{color:var(--warn)}
form{display:flex;gap:.5rem;margin-bottom:1rem}
input{flex:1;min-width:0;font:inherit;padding:.5rem .7rem;border:1px solid var(--line);border-radius:.4rem;
color:inherit;background:inherit}
button{font:inherit;padding:.5rem 1rem}
main{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(13rem,42vw),1fr));gap:1rem;margin-top:1rem}
figure{margin:0;border:1px solid var(--line);border-radius:.5rem;overflow:hidden}
img,.gone{width:100%;aspect-ratio:4/3;object-fit:cover;display:block;background:var(--line)}
figcaption{padding:.5rem .6rem;font-size:.85rem;overflow-wrap:anywhere}
figcaption span{color:var(--soft);display:block}
a{color:inherit}
main.one{display:block}
main.one img{width:auto;max-width:100%;aspect-ratio:auto;object-fit:contain;background:none}
"""


@dataclass(frozen=True)
class About:
    """What a page says beside the answers: the model's name, how many photos were searched, words it never read."""

    model: str = ""
    photos: int = 0
    unknown: tuple[str, ...] = ()

    @classmethod
    def of(cls, index: Index, query: str = "") -> About:
        named = names_picture(query)
        return cls(index.encoder.name, len(index), () if named or not query else tuple(index.unknown(query)))


def warning(unknown: tuple[str, ...] | list[str], query: str) -> str:
    """A sentence about words that the model has never read; empty where it knows all."""
    if not unknown:
        return ""
    words = ", ".join(f"“{word}”" for word in unknown)
    alone = len(unknown) >= len(query.split())
    found = (
        "it knows no word of this, so the answers mean nothing."
        if alone
        else "the answers go by the other words, and each unknown one is read as the same placeholder."
    )
    return f"The model has never read {words}: {found}"


def is_page(text: str) -> bool:
    """Whether a file's text is what :func:`write_page` wrote."""
    return MARK in text[:200]


def write_page(path: str | Path, query: str, hits: list[Hit], about: About | None = None) -> None:
    """The hits as one HTML page with the pictures in it."""
    write_bytes(path, page(query, hits, about or About(), lambda hit: picture(hit.file)).encode("utf-8", "replace"))


def page(
    query: str,
    hits: list[Hit],
    about: About,
    shown: Callable[[Hit], str],
    form: bool = False,
    title: str = "",
    like: bool = False,
    alike: dict[int, int] | None = None,
    order: str = "",
) -> str:
    """The page's HTML. ``shown``: the image of a hit; ``form``: with a box for the next query; ``like``: with links to
    photos like each; ``alike``: how many more nearly the same a row stands for; ``order``: how the hits are sorted,
    where there are dates to sort by."""
    heading = title or (Path(query).name if names_picture(query) else query)
    told = [f"{about.photos:,} photos searched" if about.photos else "", f"model: {about.model}" if about.model else ""]
    said = warning(about.unknown, query)
    box = (
        '<form action="/" method="get"><input name="q" type="search" autofocus aria-label="What to look for" '
        f'placeholder="a dog jumps over a hoop" value="{html.escape(query, quote=True)}"><button>Search</button>'
        "</form>"
    )
    cells = "".join(_cell(hit, shown, like, (alike or {}).get(hit.row, 0)) for hit in hits)
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8">{MARK}<meta name="viewport" '
        f'content="width=device-width,initial-scale=1"><title>{html.escape(heading) or "Search"}</title>'
        f"<style>{STYLE}</style><body>{box if form else ''}<h1>{html.escape(heading)}</h1>"
        f"<p>{html.escape(' · '.join(part for part in told if part))}</p>"
        + (f'<p class="warn">{html.escape(said)}</p>' if said else "")
        + (_sorted(query, order) if order and hits else "")
        + f"<main>{cells}</main></body></html>"
    )


def _sorted(query: str, order: str) -> str:
    """The two orders of the answers, the other one as a link."""
    asked = quote(query, errors="replace")
    names = {"score": "best first", "date": "latest first"}
    links = (
        f"<b>{told}</b>" if name == order else f'<a href="/?q={asked}&amp;sort={name}">{told}</a>'
        for name, told in names.items()
    )
    return f"<p>{' · '.join(links)}</p>"


def linked(hit: Hit) -> str:
    """The small picture of a hit on a served page; a click opens the picture itself."""
    name = html.escape(Path(hit.file).name, quote=True)
    return f'<a href="/picture?n={hit.row}"><img src="/photo?n={hit.row}" alt="{name}" loading="lazy"></a>'


def one(row: int, file: str, date: str) -> str:
    """The page of one picture: whole, with its folder and date."""
    name, folder = html.escape(Path(file).name, quote=True), html.escape(str(Path(file).parent)) if file else ""
    told = " · ".join(part for part in (folder, html.escape(date)) if part)
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8">{MARK}<meta name="viewport" '
        f'content="width=device-width,initial-scale=1"><title>{name}</title><style>{STYLE}</style><body><h1>{name}</h1>'
        f'<p>{told} · <a href="/like?n={row}">more like this</a> · <a href="/">search</a></p>'
        f'<main class="one"><img src="/whole?n={row}" alt="{name}"></main></body></html>'
    )


def _cell(hit: Hit, shown: Callable[[Hit], str], like: bool, alike: int = 0) -> str:
    try:
        image = shown(hit) if hit.file else ""
    except (BadPicture, OSError):  # moved or damaged since it was indexed: the answer still says which
        image = '<div class="gone" role="img" aria-label="the photo is not there any more"></div>'
    name = f"<span>{html.escape(Path(hit.file).name)}</span>" if hit.file else ""
    told = "more like this" + (f" ({alike} nearly the same)" if alike else "")
    more = f'<a href="/like?n={hit.row}">{told}</a>' if like else ""
    return (
        f"<figure>{image}<figcaption>{hit.rank}. {hit.score:.3f} {html.escape(hit.caption)}{name}{more}"
        "</figcaption></figure>"
    )

"""Answers as a page: a grid of photos, with what was searched and how. One file that asks for no other."""

from __future__ import annotations

import html
from dataclasses import dataclass
from pathlib import Path

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
main{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(13rem,42vw),1fr));gap:1rem;margin-top:1rem}
figure{margin:0;border:1px solid var(--line);border-radius:.5rem;overflow:hidden}
img,.gone{width:100%;aspect-ratio:4/3;object-fit:cover;display:block;background:var(--line)}
figcaption{padding:.5rem .6rem;font-size:.85rem;overflow-wrap:anywhere}
figcaption span{color:var(--soft);display:block}
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


def is_page(path: Path) -> bool:
    """Whether a file is what :func:`write_page` wrote."""
    return path.is_file() and MARK.encode() in path.read_bytes()[:300]


def write_page(path: str | Path, query: str, hits: list[Hit], about: About | None = None) -> None:
    """The hits as one HTML page with small pictures in it, each a link to its file."""
    about = about or About()
    heading = html.escape(Path(query).name if names_picture(query) else query)
    told = [f"{about.photos:,} photos searched" if about.photos else "", f"model: {about.model}" if about.model else ""]
    said = warning(about.unknown, query)
    text = (
        f'<!doctype html><html lang="en"><meta charset="utf-8">{MARK}<meta name="viewport" '
        f'content="width=device-width,initial-scale=1"><title>{heading or "Search"}</title>'
        f"<style>{STYLE}</style><body><h1>{heading}</h1>"
        f"<p>{html.escape(' · '.join(part for part in told if part))}</p>"
        + (f'<p class="warn">{html.escape(said)}</p>' if said else "")
        + f"<main>{''.join(map(_cell, hits))}</main></body></html>"
    )
    write_bytes(path, text.encode("utf-8", "replace"))


def _cell(hit: Hit) -> str:
    image = name = ""
    if hit.file:
        name = f"<span>{html.escape(Path(hit.file).name)}</span>"
        try:
            link = html.escape(Path(hit.file).resolve().as_uri(), quote=True)
            image = f'<a href="{link}">{picture(hit.file)}</a>'
        except (BadPicture, OSError):  # moved or damaged since it was indexed: the answer still says which
            image = '<div class="gone" role="img" aria-label="the photo is not there any more"></div>'
    return (
        f"<figure>{image}<figcaption>{hit.rank}. {hit.score:.3f} {html.escape(hit.caption)}{name}</figcaption></figure>"
    )

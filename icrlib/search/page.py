"""Answers as a page: a grid of photos, with what was searched and how. One file that asks for no other."""

from __future__ import annotations

import base64
import html
import io
import os
from pathlib import Path

from icrlib.data.pictures import BadPicture, open_picture
from icrlib.files import write_bytes
from icrlib.search.index import Hit, Index

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


def is_page(path: Path) -> bool:
    """Whether a file is what :func:`write_page` wrote."""
    return path.is_file() and MARK.encode() in path.read_bytes()[:300]


def write_page(path: str | Path, query: str, hits: list[Hit], index: Index) -> None:
    """The hits as one HTML page with small pictures in it, each a link to its file."""
    heading = html.escape(os.path.basename(query) if os.path.isfile(query) else query)
    about = f"{len(index):,} photos searched" + (f" · model: {index.encoder.name}" if index.encoder.name else "")
    warning = index.warning(query)
    text = (
        f'<!doctype html><html lang="en"><meta charset="utf-8">{MARK}<meta name="viewport" '
        f'content="width=device-width,initial-scale=1"><title>{heading}</title><style>{STYLE}</style>'
        f"<body><h1>{heading}</h1><p>{html.escape(about)}</p>"
        + (f'<p class="warn">{html.escape(warning)}</p>' if warning else "")
        + f"<main>{''.join(map(_cell, hits))}</main></body></html>"
    )
    write_bytes(path, text.encode("utf-8", "replace"))


def _cell(hit: Hit) -> str:
    image = name = ""
    if hit.file:
        name = f"<span>{html.escape(Path(hit.file).name)}</span>"
        try:
            link = html.escape(Path(hit.file).resolve().as_uri(), quote=True)
            image = f'<a href="{link}">{_thumbnail(hit.file)}</a>'
        except (BadPicture, OSError):  # moved or damaged since it was indexed: the answer still says which
            image = '<div class="gone" role="img" aria-label="the photo is not there any more"></div>'
    return (
        f"<figure>{image}<figcaption>{hit.rank}. {hit.score:.3f} {html.escape(hit.caption)}{name}</figcaption></figure>"
    )


def _thumbnail(file: str | Path, side: int = 320) -> str:
    """A photo as a small HTML image that needs no other file."""
    small, buffer = open_picture(file, 2 * side), io.BytesIO()
    small.thumbnail((side, side))
    small.save(buffer, "JPEG", quality=85)
    data = base64.b64encode(buffer.getvalue()).decode()
    return f'<img src="data:image/jpeg;base64,{data}" alt="{html.escape(Path(file).name, quote=True)}">'

"""A search page on this machine only: Python's own web server, no script, everything escaped."""

from __future__ import annotations

import html
import os
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from icrlib.data.pictures import BadPicture
from icrlib.search.index import Hit, Index, thumbnail
from icrlib.search.page import About, page

HOST = "127.0.0.1"
LONGEST = 2000  # letters of a query
POLICY = "default-src 'none'; img-src 'self'; style-src 'unsafe-inline'; form-action 'self'"


def server(index: Index, port: int = 0, top: int = 24) -> ThreadingHTTPServer:
    """A server for ``index`` on 127.0.0.1; port 0 takes a free one. ``ValueError`` where the port is taken.

    ``/?q=words`` searches, ``/like?n=row`` shows photos like one, ``/photo?n=row`` is its small picture.
    """
    shown = lru_cache(maxsize=512)(thumbnail)

    class Handler(BaseHTTPRequestHandler):
        server_version = "icr"
        sys_version = ""

        def do_GET(self) -> None:
            # A page elsewhere that points its own name at this machine must not read the album.
            if self.headers.get("Host", "").rpartition(":")[0] not in (HOST, "localhost"):
                return self._send(403, b"this page is for this machine only", "text/plain")
            parts = urlsplit(self.path)
            asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
            try:
                if parts.path == "/":
                    return self._answer(asked.get("q", "")[:LONGEST])
                if parts.path in ("/like", "/photo"):
                    row = int(asked.get("n", ""))
                    if not 0 <= row < len(index):
                        raise ValueError(f"there is no photo {row}")
                    return self._like(row) if parts.path == "/like" else self._photo(row)
            except ValueError as err:
                return self._page("", [], title=str(err), status=400)
            return self._page("", [], title="There is no such page", status=404)

        def _answer(self, query: str) -> None:
            hits = index.by_text(query, top) if query.split() else []
            self._page(query, hits, title="" if hits else "What are you looking for?")

        def _like(self, row: int) -> None:
            name = Path(index.files[row]).name
            self._page("", index.like(row, top), title=f"Photos like {name}")

        def _photo(self, row: int) -> None:
            try:
                self._send(200, shown(index.file(row)), "image/jpeg")
            except (BadPicture, OSError):
                self._send(404, b"this photo is not there any more", "text/plain")

        def _page(self, query: str, hits: list[Hit], title: str = "", status: int = 200) -> None:
            made = page(query, hits, About.of(index, query), _image, form=True, title=title, like=True)
            self._send(status, made.encode("utf-8", "replace"), "text/html; charset=utf-8")

        def _send(self, status: int, content: bytes, kind: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Content-Security-Policy", POLICY)
            self.send_header("X-Content-Type-Options", "nosniff")
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Nobody reads them, and queries are private."""

    try:
        return ThreadingHTTPServer((HOST, port), Handler)
    except OSError as err:
        raise ValueError(
            f"port {port} is taken ({os.strerror(err.errno)}); choose another with --port, or 0 for any free one"
        ) from err


def _image(hit: Hit) -> str:
    name = html.escape(Path(hit.file).name, quote=True)
    return f'<a href="/like?n={hit.row}"><img src="/photo?n={hit.row}" alt="{name}" loading="lazy"></a>'

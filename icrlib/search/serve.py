"""A search page on this machine only: tornado, which Jupyter brings along, no script, everything escaped."""

from __future__ import annotations

import asyncio
import contextlib
import io
import logging
import os
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any

from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.web import Application, RequestHandler

from icrlib.data.pictures import BadPicture, open_picture
from icrlib.names import died
from icrlib.search import page
from icrlib.search.index import Hit, Index, thumbnail

HOST, PORTS = "127.0.0.1", 1 << 16
LONGEST = 2000  # letters of a query
WHOLE = 4096  # pixels of the longer side of a picture that is opened
ORDERS = ("score", "date")
# A page elsewhere must neither read the album nor show it: not by another name for this machine, not in a frame, not as
# a picture of its own.
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; img-src 'self'; style-src 'unsafe-inline'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class Server:
    """``index`` on 127.0.0.1 until :meth:`shutdown` or Ctrl-C. Pages and addresses:

    ``/?q=words&sort=date`` searches, ``/like?n=row`` shows photos like one, ``/picture?n=row`` the photo itself, and
    ``/photo?n=row``, ``/whole?n=row`` are its small and its whole picture.
    """

    def __init__(self, index: Index, port: int = 0, top: int = 24) -> None:
        if not 0 <= port < PORTS:
            raise ValueError(f"--port {port}: ports go from 1 to {PORTS - 1}; 0 takes any free one")
        try:
            self.sockets = bind_sockets(port, HOST)
        except OSError as err:
            raise ValueError(
                f"port {port} is taken ({os.strerror(err.errno)}); choose another with --port, or 0 for any free one"
            ) from err
        self.server_address = self.sockets[0].getsockname()[:2]
        # One picture is decoded at a time: a dozen large ones would take all memory. Queries wait for none of them.
        self.decoding, self.asking = ThreadPoolExecutor(1), ThreadPoolExecutor(1)
        small = lru_cache(maxsize=512)(thumbnail)
        routes = {
            "/": (Search, {}),
            "/like": (Like, {}),
            "/picture": (One, {}),
            "/photo": (Picture, {"made": small}),
            "/whole": (Picture, {"made": whole}),
        }
        about = {"index": index, "top": top, "server": self}
        self.application = Application(
            [(path, handler, about | more) for path, (handler, more) in routes.items()],
            default_handler_class=Nothing,
            default_handler_args=about,
            log_function=lambda handler: None,  # nobody reads it, and queries are private
        )
        self.loop: asyncio.AbstractEventLoop | None = None
        self.stopped = False

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        for pool in (self.decoding, self.asking):
            pool.shutdown(wait=False, cancel_futures=True)
        for socket in self.sockets:
            socket.close()

    def serve_forever(self) -> None:
        """Answer until somebody ends it; an open connection or a large picture does not hold that up."""
        for name in ("tornado.general", "tornado.application"):  # malformed requests are the sender's affair
            logging.getLogger(name).setLevel(logging.CRITICAL)
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self.loop, self.ended = asyncio.get_running_loop(), asyncio.Event()
        web = HTTPServer(self.application, max_header_size=1 << 16, max_body_size=1 << 16, idle_connection_timeout=60)
        web.add_sockets(self.sockets)
        try:
            if not self.stopped:
                await self.ended.wait()
        finally:
            web.stop()
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(web.close_all_connections(), 1)

    def shutdown(self) -> None:
        """End :meth:`serve_forever`; from any thread."""
        self.stopped = True
        if self.loop is not None:
            self.loop.call_soon_threadsafe(lambda: self.ended.set())


server = Server


class Handler(RequestHandler):
    """What all addresses have in common: who may ask, what a wrong question gets, and how a page is written."""

    def initialize(self, index: Index, top: int, server: Server, made: Callable[[str], bytes] | None = None) -> None:
        self.index, self.top, self.server, self.made = index, top, server, made

    def set_default_headers(self) -> None:
        self.clear_header("Server")
        for name, value in HEADERS.items():
            self.set_header(name, value)

    def prepare(self) -> None:
        host = re.fullmatch(rf"({re.escape(HOST)}|localhost)(:\d{{1,5}})?", self.request.headers.get("Host", ""))
        site = self.request.headers.get("Sec-Fetch-Site", "none")
        if host is None or site not in ("none", "same-origin"):
            self.set_status(403)
            self.finish("this page is for this machine only")

    def asked(self, name: str) -> str:
        """An argument of the address as text, whatever bytes it holds."""
        found = self.request.query_arguments.get(name, [b""])[-1]
        return found.decode("utf-8", "replace").replace("\0", "")[:LONGEST]

    def row(self) -> int:
        """The photo that ``n=`` names; ``ValueError`` where there is none."""
        number = self.asked("n")
        if not re.fullmatch("[0-9]{1,12}", number, re.ASCII) or int(number) >= len(self.index):
            raise ValueError(f"there is no photo {number!r}")
        return int(number)

    async def compute(self, work: Callable, *args: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self.server.asking, work, *args)

    def show(self, query: str, hits: list[Hit], title: str = "", status: int = 200, **more: Any) -> None:
        about = page.About.of(self.index, query)
        made = page.page(query, hits, about, page.linked, form=True, title=title, like=True, **more)
        self.set_status(status)
        self.finish(made.encode("utf-8", "replace"))

    def write_error(self, status_code: int, **more: Any) -> None:
        err = more.get("exc_info", (None, None))[1]
        if isinstance(err, ValueError):
            return self.show("", [], title=str(err), status=400)
        if status_code == 500 and err is not None:  # an encoder of somebody's own, above all
            return self.show("", [], title=f"{self.index.encoder.name}: {died(err)}", status=500)
        return self.show("", [], title="There is no such page", status=status_code)


class Nothing(Handler):
    def get(self) -> None:
        self.show("", [], title="There is no such page", status=404)


class Search(Handler):
    async def get(self) -> None:
        query, order = self.asked("q"), self.asked("sort")
        order = order if order in ORDERS else ORDERS[0]
        hits = await self.compute(self.index.by_text, query, self.top) if query.split() else []
        hits, alike = self.index.collapsed(hits)
        if order == "date":  # the latest first; those without a date behind them
            hits = sorted(hits, key=lambda hit: self.index.notes.get(hit.row, ""), reverse=True)
        title = "" if hits else "What are you looking for?"
        self.show(query, hits, title=title, alike=alike, order=order if self.index.notes else "")


class Like(Handler):
    async def get(self) -> None:
        row = self.row()
        hits = await self.compute(self.index.like, row, self.top)
        self.show("", hits, title=f"Photos like {Path(self.index.files[row]).name}")


class One(Handler):
    """A photo itself, whole and upright, with its folder and date."""

    def get(self) -> None:
        row = self.row()
        made = page.one(row, self.index.file(row), self.index.notes.get(row, ""))
        self.finish(made.encode("utf-8", "replace"))


class Picture(Handler):
    async def get(self) -> None:
        file = self.index.file(self.row())
        loop = asyncio.get_running_loop()
        try:
            content = await loop.run_in_executor(self.server.decoding, self.made, file)
        except (BadPicture, OSError):
            self.set_status(404)
            self.set_header("Content-Type", "text/plain")
            return await self.finish("this photo is not there any more")
        self.set_header("Content-Type", "image/jpeg")
        self.set_header("Cache-Control", "private, max-age=60")
        return await self.finish(content)


def whole(file: str) -> bytes:
    """A picture as it is, turned right, as a JPEG."""
    made, buffer = open_picture(file, WHOLE), io.BytesIO()
    made.thumbnail((WHOLE, WHOLE))
    made.save(buffer, "JPEG", quality=92)
    return buffer.getvalue()

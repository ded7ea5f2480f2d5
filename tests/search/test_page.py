"""What a search shows: in the shell, as a page, and served on this machine only; nothing that it shows can act."""

from __future__ import annotations

import io
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import pytest
import torch
from PIL import Image

from icrlib.search.index import Hit, Index, names_picture, plain
from icrlib.search.page import About, is_page, page, warning, write_page
from icrlib.search.serve import server
from tests.killing import ROOT

pytestmark = pytest.mark.process

EVIL = '<script>alert("1")</script>&"\'\x1b[31m'


class Numbers:
    """Photo k has the k-th unit vector; a text names numbers."""

    name, key, at_once = "num<b>ers", "numbers", 1 << 20

    def ready(self):
        pass

    def texts(self, texts):
        return torch.tensor([[float(str(row) in text) for row in range(4)] for text in texts])

    def similarity(self, images, captions):
        return images @ captions.T

    def unknown(self, query):
        return [word for word in query.split() if not word.isdigit()]


@pytest.fixture
def index(tmp_path):
    names = ["a.jpg", "b<i>.jpg", "größe.jpg", "gone.jpg"]
    for name in names[:3]:
        Image.new("RGB", (900, 300), (10, 200, 30)).save(tmp_path / name)
    images = torch.eye(4) + 0.1
    return Index(
        Numbers(), images, [str(tmp_path / name) for name in names], texts=[EVIL] * 4, image_of=torch.arange(4)
    )


@pytest.fixture
def address(index):
    with server(index) as running:
        thread = threading.Thread(target=running.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{running.server_address[1]}"
        running.shutdown()
        thread.join()


def get(url, **headers):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as err:
        return err.code, err.headers, err.read()


def test_a_query_is_answered(address):
    status, headers, raw = get(f"{address}/?q=2")
    text = raw.decode()
    assert status == 200 and "4 photos searched" in text and text.index("größe.jpg") < text.index("a.jpg")
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    status, headers, raw = get(f"{address}/photo?n=2")
    assert (status, headers["Content-Type"]) == (200, "image/jpeg") and raw[:2] == b"\xff\xd8" and len(raw) < 40_000
    status, _, raw = get(f"{address}/like?n=2")
    assert status == 200 and "Photos like größe.jpg" in raw.decode() and raw.decode().count("<figure>") == 3


def test_words_that_were_never_read_are_named_first(address):
    text = get(f"{address}/?q={quote('zebra 2')}")[2].decode()
    assert text.index("never read “zebra”") < text.index("<main>") and "by the other words" in text
    assert "it knows no word" in get(f"{address}/?q=zebra")[2].decode()
    assert warning((), "2") == ""


@pytest.mark.parametrize("path", ["/?q=" + quote(EVIL), "/?q=" + quote(EVIL + " 1"), "/like?n=1", "/?q=1"])
def test_nothing_is_markup(address, path):
    text = get(address + path)[2].decode()
    assert "<script" not in text and "<i>" not in text and "num<b>" not in text and 'value="<' not in text


@pytest.mark.parametrize(
    "path, status",
    [
        ("/photo?n=9", 400),
        ("/photo?n=-1", 400),
        ("/photo?n=a", 400),
        ("/photo", 400),
        ("/like?n=99", 400),
        ("/photo?n=3", 404),
        ("/etc/passwd", 404),
        ("/../../etc/passwd", 404),
        ("/photo?n=../../x", 400),
        ("/?q=" + "a" * 5000, 200),
        ("/", 200),
        ("/?q=%ff%00", 200),
        ("/?q=", 200),
    ],
)
def test_what_else_is_asked(address, path, status):
    code, _, raw = get(address + path)
    assert code == status and b"Traceback" not in raw


def test_other_names_of_this_machine_are_refused(address):
    port = address.rpartition(":")[2]
    assert get(address, Host=f"evil.example:{port}")[0] == 403
    assert get(address, Host=f"localhost:{port}")[0] == 200


def test_a_port_that_is_taken(index, address):
    with pytest.raises(ValueError, match="is taken .*--port"):
        server(index, int(address.rpartition(":")[2]))


def test_the_page_as_a_file(index, tmp_path):
    hits = index.by_text("1 zebra", 4)
    write_page(tmp_path / "p.html", "1 zebra", hits, About.of(index, "1 zebra"))
    text = (tmp_path / "p.html").read_text()
    assert is_page(text) and text.count("data:image/jpeg;base64,") == 3 and "is not there any more" in text
    assert "<script" not in text and "http" not in text.replace("http-equiv", "") and "<form" not in text
    assert "4 photos searched" in text and "never read “zebra”" in text
    write_page(tmp_path / "p.html", "a \ud800 b", hits)  # half a character in a query


def test_hits_without_files_have_no_picture():
    made = page("q", [Hit(1, 0.5, "a caption")], About(), lambda hit: 1 / 0)
    assert "a caption" in made and "<img" not in made


def test_the_shell_is_not_written_to(index):
    assert plain(EVIL) == '<script>alert("1")</script>&"\'\ufffd[31m' and plain("größe 日本") == "größe 日本"


@pytest.mark.parametrize("query", ["a" * 5000, "a\0b", "a/" * 3000, "\ud800", ""])
def test_long_and_odd_queries_are_no_files(query, index):
    assert not names_picture(query)


def test_a_list_of_names_that_is_short(index):
    with pytest.raises(ValueError, match="3 file names for 4 images"):
        Index(Numbers(), index.images, index.files[:3])


def raw_answer(address, sent):
    """What comes back for bytes as they are."""
    host, port = address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as line:
        line.sendall(sent)
        return line.recv(1 << 16)


def test_a_click_opens_the_picture_itself(index, address, tmp_path):
    """Whole, turned right, with its folder and date."""
    exif = Image.Exif()
    exif[0x0112], exif[0x0132] = 6, "2024:05:01 12:30:00"
    turned = Image.new("RGB", (900, 300), (250, 0, 0))
    turned.paste((0, 0, 250), (0, 0, 450, 300))
    turned.save(index.files[1], exif=exif)
    index.notes[1] = "2024:05:01 12:30:00"
    page_ = get(f"{address}/?q=1")[2].decode()
    assert '<a href="/picture?n=1"><img src="/photo?n=1"' in page_ and 'href="/like?n=1"' in page_
    status, headers, raw = get(f"{address}/picture?n=1")
    text = raw.decode()
    assert status == 200 and str(tmp_path) in text and "2024:05:01 12:30:00" in text and 'src="/whole?n=1"' in text
    assert "b&lt;i&gt;.jpg" in text and "<i>" not in text
    with Image.open(io.BytesIO(get(f"{address}/whole?n=1")[2])) as shown:
        assert shown.size == (300, 900) and shown.getpixel((150, 50))[2] > 200
    for place in ("/picture?n=9", "/whole?n=x"):
        assert get(address + place)[0] == 400
    assert get(f"{address}/whole?n=3")[0] == 404, "gone.jpg"


def test_dates_and_series(index, address):
    index.notes |= {0: "2023:01:01 00:00:00", 2: "2024:01:01 00:00:00"}
    latest = get(f"{address}/?q=0+1&sort=date")[2].decode()
    assert latest.index('n=2"') < latest.index('n=0"') and "best first" in latest
    index.images[1] = index.images[0]
    text = get(f"{address}/?q=0")[2].decode()
    assert text.count("<figure>") == 3 and "(1 nearly the same)" in text


@pytest.mark.parametrize("site, status", [("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)])
def test_other_pages_may_not_embed_it(address, site, status):
    for path in ("/", "/photo?n=0", "/whole?n=0"):
        code, headers, _ = get(address + path, **{"Sec-Fetch-Site": site})
        assert code == status and headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        assert headers["Cross-Origin-Opener-Policy"] == "same-origin"


def test_a_host_without_a_port(address):
    assert get(address, Host="127.0.0.1")[0] == get(address, Host="localhost")[0] == 200
    for host in ("localhost.evil.example", "127.0.0.1:", "evil@localhost", "localhost:x", "10.0.0.1"):
        assert get(address, Host=host)[0] in (400, 403)


@pytest.mark.parametrize(
    "sent",
    [
        b"\x00\xff\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n",
        b"GET /?q=%zz%u&n=%00 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"BREW / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * (1 << 17) + b"\r\n\r\n",
    ],
)
def test_malformed_requests(address, sent, capfd):
    """None gets a traceback, here or there, and the next question is answered."""
    try:
        found = raw_answer(address, sent)
    except ConnectionError:
        found = b""
    assert b"Traceback" not in found and get(address)[0] == 200
    assert "Traceback" not in capfd.readouterr().err


def test_an_encoder_that_fails_gets_a_page(index, address, monkeypatch):
    monkeypatch.setattr(index.encoder, "texts", lambda texts: 1 / 0)
    status, _, raw = get(f"{address}/?q=1")
    assert status == 500 and b"division by zero" in raw and b"Traceback" not in raw and get(address)[0] == 200


@pytest.mark.parametrize("port", [-1, 65536, 10**9])
def test_ports_that_there_are_not(index, port):
    with pytest.raises(ValueError, match="ports go from 1 to 65535"):
        server(index, port)


def test_it_ends_beside_an_open_connection(index):
    with server(index) as running:
        thread = threading.Thread(target=running.serve_forever, daemon=True)
        thread.start()
        with socket.create_connection(running.server_address) as line:
            line.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n")  # and nothing more
            assert get(f"http://127.0.0.1:{running.server_address[1]}")[0] == 200
            running.shutdown()
            thread.join()


def test_large_pictures_come_one_at_a_time(address, monkeypatch):
    """And pages are answered beside them."""
    began, first, go = [], threading.Event(), threading.Event()

    def slow(file, small=None):
        began.append(file)
        first.set()
        go.wait()
        return Image.new("RGB", (20, 20))

    monkeypatch.setattr("icrlib.search.serve.open_picture", slow)
    with ThreadPoolExecutor(6) as pool:
        asked = [pool.submit(get, f"{address}/whole?n={row % 3}") for row in range(12)]
        first.wait()
        assert [get(address)[0] for _ in range(30)] == [200] * 30
        seen = len(began)
        go.set()
        assert [one.result()[0] for one in asked] == [200] * 12 and seen == 1


SERVES = """
import torch
from icrlib.cli import albums
from icrlib.search.index import Index
from tests.search.test_page import Numbers
albums._serve(Index(Numbers(), torch.eye(4), [""] * 4), 0)
print("ended", flush=True)
"""


def test_ctrl_c_ends_it_beside_an_open_connection():
    """A process of its own, asked by the signal that a terminal sends; half a request stays open beside it."""
    with subprocess.Popen(
        [sys.executable, "-u", "-c", SERVES], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as own:
        try:
            port = int(re.search(r"127\.0\.0\.1:(\d+)/", own.stdout.readline())[1])
            with socket.create_connection(("127.0.0.1", port)) as line:
                line.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n")  # and nothing more
                assert get(f"http://127.0.0.1:{port}")[0] == 200
                own.send_signal(signal.SIGINT)
                said, errors = own.communicate()
            assert own.returncode == 0 and said.strip() == "ended" and not errors, errors
        finally:
            own.kill()

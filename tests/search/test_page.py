"""What a search shows: in the shell, as a page, and served on this machine only; nothing that it shows can act."""

from __future__ import annotations

import threading
import urllib.error
import urllib.request
from urllib.parse import quote

import pytest
import torch
from PIL import Image

from icrlib.search.index import Hit, Index, names_picture, plain
from icrlib.search.page import About, is_page, page, warning, write_page
from icrlib.search.serve import server

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

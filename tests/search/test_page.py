"""The page of answers: one file, every text escaped, each picture a link to its file; and what it is written over."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from urllib.parse import unquote, urlparse

import pytest
from PIL import Image

from icrlib.search.index import Hit
from icrlib.search.page import About, is_page, write_page
from tests.search.test_album import Colours  # noqa: F401  (named on the command line below)
from tests.test_cli import icr

NASTY = '<script>alert("x")</script> & "quotes"'


class Tags(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


@pytest.fixture
def photo(tmp_path):
    path = tmp_path / 'a "b" <c>#d.jpg'
    Image.new("RGB", (900, 300), (0, 0, 250)).save(path)
    return path


def test_pictures_are_in_it_and_link_to_their_files(photo, tmp_path):
    hits = [Hit(1, 0.5, NASTY, str(photo)), Hit(2, 0.4, "gone", str(tmp_path / "gone.jpg")), Hit(3, 0.3, "none")]
    write_page(tmp_path / "page.html", NASTY, hits, About("m", 3, (NASTY,)))
    text = (tmp_path / "page.html").read_text()
    tags = Tags(text).found
    assert "<script" not in text and text.count("&lt;script&gt;") >= 3 and "the photo is not there any more" in text
    (link,) = [about["href"] for tag, about in tags if tag == "a"]
    assert unquote(urlparse(link).path) == str(photo)
    (image,) = [about for tag, about in tags if tag == "img"]
    assert image["src"].startswith("data:image/jpeg") and image["alt"] == photo.name
    assert not re.search(r"https?://", text) and "3 photos searched" in text and "has never read" in text
    assert is_page(tmp_path / "page.html") and not is_page(photo)


def test_another_file_is_not_written_over(photo, tmp_path):
    words = ("search", "blue", "--index", tmp_path, "--encoder", "tests.search.test_album:Colours", "--html")
    icr("index", tmp_path, *words[4:6])
    (tmp_path / "letter.html").write_text("Dear Ann")
    assert "no page of a search" in icr(*words, tmp_path / "letter.html").output
    assert (tmp_path / "letter.html").read_text() == "Dear Ann"
    for more in ((), ()):  # its own earlier page it may
        assert icr(*words, tmp_path / "page.html", *more).exit_code == 0
    assert icr(*words, tmp_path / "letter.html", "--force").exit_code == 0 and is_page(tmp_path / "letter.html")

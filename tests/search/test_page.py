"""The page of answers: one file, every text escaped, each picture a link to its file; and what it is written over."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import unquote, urlparse

import torch
from PIL import Image

from icrlib.search import Hit, Index, Own, write_page
from icrlib.search.page import is_page
from tests.search.test_album import MINE, Colours
from tests.test_cli import icr

NASTY = '<script>alert("x")</script> & "quotes"'


def test_pictures_are_in_it_and_link_to_their_files(tmp_path):
    photo, page = tmp_path / 'a "b" <c>#d.jpg', tmp_path / "page.html"
    Image.new("RGB", (900, 300), (0, 0, 250)).save(photo)
    encoder = Own(Colours(), NASTY)
    encoder.unknown = lambda query: [NASTY]
    hits = [Hit(1, 0.5, NASTY, str(photo)), Hit(2, 0.4, "gone", str(tmp_path / "gone.jpg")), Hit(3, 0.3, "none")]
    write_page(page, NASTY, hits, Index(encoder, torch.eye(3), ["a", "b", "c"]))
    text = page.read_text()
    assert "<script" not in text and text.count("&lt;script&gt;") >= 4 and "the photo is not there any more" in text
    ((link, kind, name),) = re.findall('<a href="([^"]+)"><img src="data:(.+?);[^"]+" alt="([^"]+)"></a>', text)
    assert unquote(urlparse(link).path) == str(photo) and kind == "image/jpeg" and unescape(name) == photo.name
    assert not re.search(r"https?://", text) and "3 photos searched" in text and "has never read" in text


def test_another_file_is_not_written_over(tmp_path):
    Image.new("RGB", (90, 30), (0, 0, 250)).save(tmp_path / "blue.jpg")
    (tmp_path / "letter.html").write_text("Dear Ann")
    icr("index", tmp_path, "--encoder", MINE)
    words = ("search", "red.heic", "--index", tmp_path, "--encoder", MINE, "--html")
    assert "letter.html" in icr(*words, tmp_path / "letter.html").output
    assert (tmp_path / "letter.html").read_text() == "Dear Ann"
    for _ in range(2):  # its own earlier page it may
        assert "red.heic: no such picture; searched as words" in icr(*words, tmp_path / "page.html").output
    assert is_page(tmp_path / "page.html") and "1 photos searched" in (tmp_path / "page.html").read_text()

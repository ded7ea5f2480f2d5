"""From a folder of photos to a search, as typed: check, features, train, search."""

from __future__ import annotations

import shlex
import shutil

import pytest

import icrlib

from .data.photos import make
from .test_cli import icr

SIZES = {"updates": 4, "batch_size": 8, "embed_dim": 8, "word_dim": 8, "progress": False}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Photos, their features, and a model trained on these: each made once, by the commands themselves."""
    folder = tmp_path_factory.mktemp("way")
    make(folder / "photos")
    result = icr("features", str(folder / "photos"), str(folder / "features"), "--backbone", "scenes")
    assert result.exit_code == 0 and "ready; use it as features=" in result.output
    data = icrlib.load_dataset("flickr8k", features=folder / "features", min_count=1)
    icrlib.train(data, out=folder / "run", **SIZES)
    return folder


def test_check_counts_and_says_by_its_status_whether_there_are_problems(place, tmp_path):
    result = icr("data", "check", "flickr8k", "--root", str(place / "photos"))
    assert result.exit_code == 0 and "train        12 images        24 captions" in result.output, result.output
    assert "(published: 6,000 images)" in result.output and result.output.rstrip().endswith("no problems")
    root = shutil.copytree(place / "photos", tmp_path / "photos")
    (root / "images" / "val2.jpg").unlink()
    result = icr("data", "check", str(root))
    assert result.exit_code == 1 and "1 problems" in result.output and "val2.jpg" in result.output


def test_search_by_words_and_by_picture(place, tmp_path):
    where = ("--features", str(place / "features"))
    for model in (place / "run", place / "run" / "record.json"):
        result = icr("search", str(model), "a red ring", *where, "--top", "3")
        lines = result.output.splitlines()
        assert result.exit_code == 0 and len(lines) == 3 and ".jpg" in lines[0] and lines[0].split()[0] == "1"
    picture = str(place / "photos" / "images" / "test0.jpg")
    page = tmp_path / "found.html"
    result = icr("search", str(place / "run"), picture, *where, "--html", str(page))
    lines = result.output.splitlines()
    assert result.exit_code == 0 and len(lines) == 6 and ".jpg" not in lines[0]
    assert "<h1>test0.jpg</h1>" in page.read_text()
    for query, warning in (
        ("a red zebra", "never read “zebra”"),
        ("a red zebra", "go by the other words"),
        ("zebra", "it knows no word of this"),
        ("zebra zebra", "it knows no word of this"),
    ):
        assert warning in icr("search", str(place / "run"), query, *where).output


@pytest.mark.parametrize(
    "words, message",
    [
        ("data check flickr7k --root x", "flickr8k"),
        ("search RUN ring", "say where to search"),
        ("search RUN ring --features nowhere", "nowhere: missing train_ims.npy"),
        ("search a red ring --features FEATURES", "got 3 words"),
        ("search only --features FEATURES", "got 1 words"),
        ("search RUN '' --features FEATURES", "the query has no word"),
    ],
)
def test_refusals(place, words, message):
    known = {"RUN": place / "run", "FEATURES": place / "features"}
    result = icr(*(known.get(word, word) for word in shlex.split(words)))
    assert result.exit_code in (1, 2) and message in result.output, result.output

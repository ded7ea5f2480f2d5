"""From a folder of photos to a search, as typed: check, features, train, search."""

from __future__ import annotations

import shutil

import pytest

import icrlib

from .data.photos import edit, make
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


def test_check_counts(place):
    for words in ((str(place / "photos"),), ("flickr8k", "--root", str(place / "photos")),
                  ("flickr8k", str(place / "photos")), ("--root", str(place / "photos"))):  # fmt: skip
        result = icr("data", "check", *words)
        assert result.exit_code == 0 and "train        12 images        24 captions" in result.output, result.output
        assert ("(published: 6,000 images)" in result.output) == ("flickr8k" in words)
        assert result.output.rstrip().endswith("no problems")


def test_check_lists_every_problem_and_says_so_by_its_status(place, tmp_path):
    root = shutil.copytree(place / "photos", tmp_path / "photos")
    (root / "images" / "train1.jpg").unlink()
    (root / "images" / "val2.jpg").write_text("broken")
    edit(root, lambda images: images[5].update(sentences=[]))
    result = icr("data", "check", str(root))
    assert result.exit_code == 1 and "3 problems" in result.output
    for name in ("train1.jpg", "val2.jpg", "train5.jpg: no caption"):
        assert name in result.output


@pytest.mark.parametrize(("words", "message"), [
    ((), "say which folder"),
    (("flickr7k", "--root", "x"), "Did you mean 'flickr8k'"),
    (("nowhere",), "nowhere: no such folder"),
])  # fmt: skip
def test_check_refuses(words, message):
    result = icr("data", "check", *words)
    assert result.exit_code == 2 and message in result.output


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


def test_search_in_photos_with_a_model_on_pictures(place, tmp_path):
    data = icrlib.load_dataset("flickr8k", root=place / "photos", images="published", backbone="scenes", min_count=1)
    icrlib.train(data, out=tmp_path / "run", **SIZES)
    result = icr("search", str(tmp_path / "run"), "a red ring", "--photos", str(place / "photos"), "--top", "2")
    assert result.exit_code == 0 and len(result.output.splitlines()) == 2, result.output


def test_search_refuses(place):
    run = str(place / "run")
    for words, message in (((), "say where to search"), (("--features", "nowhere"), "nowhere: missing train_ims.npy"),
                           (("--photos", str(place / "photos")), "was trained on finished features")):  # fmt: skip
        result = icr("search", run, "a ring", *words)
        assert result.exit_code == 2 and message in result.output, result.output

"""A folder of features is of one run, and nobody else's is written over."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from icrlib import parsing
from icrlib.data import cache, feature_folder, precomputed
from icrlib.data.precomputed import MARK, UNFINISHED

from .photos import edit, extract, make


@pytest.fixture
def root(tmp_path):
    return make(tmp_path / "photos", train=4, val=3, test=3)


def content(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.glob("[!.]*")) if path.is_file()}


def load(folder):
    return precomputed.load(folder, name="flickr8k", min_count=1)


KILLED = """
import os, signal, sys
from icrlib.data import cache, feature_folder, features
from icrlib.files import write_bytes
left = int(sys.argv[3])
def write(path, content):
    global left
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    left -= 1
    write_bytes(path, content)
cache.write_bytes = feature_folder.write_bytes = write
features.extract(sys.argv[1], sys.argv[2], backbone="scenes", progress=False)
"""


@pytest.mark.process
@pytest.mark.parametrize("writes", [0, 1, 3, 6, 13])
def test_killed_while_an_older_one_is_replaced(root, tmp_path, writes):
    """Before the first write the old folder is whole; after it, nobody can take the mixture for one run's."""
    folder = extract(root, tmp_path / "f")
    old = content(folder)
    edit(root, lambda images: images[0]["sentences"][0].update(raw="another caption"))
    edit(root, lambda images: images.reverse())
    new = content(extract(root, tmp_path / "new"))
    code = subprocess.run([sys.executable, "-c", KILLED, str(root), str(folder), str(writes)]).returncode
    assert code == -9
    if writes == 0:
        assert content(folder) == old
        assert len(load(folder).train) == 4
    else:
        with pytest.raises(ValueError, match="unfinished.*icr features PHOTOS"):
            load(folder)
    extract(root, folder)
    assert content(folder) == new
    assert len(load(folder).train) == 4


def test_features_of_others_stay(root, tmp_path):
    other = make(tmp_path / "more" / "photos", train=4, val=3, test=3)
    folder = extract(other, tmp_path / "f")
    before = content(folder)
    for options, what in (
        ({}, "other photos"),
        ({"regions": 2}, "regions: 0, now 2"),
        ({"backbone": "tests.own_parts:other_network"}, "backbone: 'scenes'"),
    ):
        with pytest.raises(ValueError, match=f"{what}.*--force"):
            extract(root, folder, **options)
    assert content(folder) == before
    assert load(extract(root, folder, force=True)).train.features.shape[0] == 4


def test_features_of_unknown_origin_stay(root, tmp_path):
    folder = extract(root, tmp_path / "f")
    (folder / MARK).unlink()
    before = content(folder)
    with pytest.raises(ValueError, match=f"unknown origin .*train_ims.npy.*no {MARK}"):
        extract(root, folder)
    (folder / MARK).write_text('{"backbone": 3}')
    with pytest.raises(ValueError, match="unknown origin .*features.json has no key.*--force"):
        extract(root, folder)
    assert {k: v for k, v in content(folder).items() if k != MARK} == {k: v for k, v in before.items() if k != MARK}
    load(extract(root, folder, force=True))


def test_the_same_photos_again(root, tmp_path):
    """Done work is left alone; a changed caption replaces the folder without asking."""
    folder = extract(root, tmp_path / "f")
    before = (folder / "train_ims.npy").stat().st_mtime_ns
    extract(root, folder)
    assert (folder / "train_ims.npy").stat().st_mtime_ns == before
    edit(root, lambda images: images[0]["sentences"][0].update(raw="a word that was not there"))
    assert "a word that was not there" in load(extract(root, folder)).train.captions


def test_photos_without_captions_and_without_a_training_split(root, tmp_path):
    edit(root, lambda images: [image.update(split="test") for image in images])
    edit(root, lambda images: images[2].pop("sentences"))
    folder = extract(root, tmp_path / "f")
    assert feature_folder.noted(folder)["photos"] == {"test": 9, "rest": 1}
    assert np.load(folder / "rest_ims.npy").shape == (1, 256)
    assert parsing.lines(folder / "rest_files.txt")[0].endswith("train2.jpg")
    with pytest.raises(FileNotFoundError, match="train_ims.npy"):
        load(folder)
    edit(root, lambda images: [image.pop("sentences", None) for image in images])
    assert feature_folder.noted(extract(root, folder))["photos"] == {"rest": 10}
    assert not (folder / "test_ims.npy").exists(), "captions of an earlier state are gone"


@pytest.mark.parametrize("content_", [b"", b"{", b'{"key": 1, "backbone": "scenes"}', b"[]", b"\xff", b"[" * 9999])
def test_a_damaged_mark(root, tmp_path, content_):
    folder = extract(root, tmp_path / "f")
    (folder / MARK).write_bytes(content_)
    with pytest.raises(ValueError, match="features.json"):
        extract(root, folder)
    if content_ != b'{"key": 1, "backbone": "scenes"}':  # training does not ask for the origin
        with pytest.raises(ValueError, match="features.json"):
            load(folder)


def test_the_mark_is_first_and_last(root, tmp_path, monkeypatch):
    written, real = [], feature_folder.write_bytes

    def write(path, raw):
        written.append((path.name, raw))
        real(path, raw)

    monkeypatch.setattr(feature_folder, "write_bytes", write)
    monkeypatch.setattr(cache, "write_bytes", write)
    extract(root, tmp_path / "f")
    names = [name for name, _ in written]
    assert names[0] == names[-1] == MARK and names.count(MARK) == 2
    assert json.loads(written[0][1])[UNFINISHED] and UNFINISHED not in json.loads(written[-1][1])

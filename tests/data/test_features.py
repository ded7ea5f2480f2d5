"""From photos to features: what a network makes of them, faults that cost nothing but themselves, and kills."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import icrlib
from icrlib import parsing
from icrlib.data import backbones, features, karpathy, precomputed
from icrlib.data.pictures import open_picture
from icrlib.data.precomputed import MARK
from icrlib.files import write_bytes
from icrlib.search import Index

from ..test_cli import icr
from .photos import edit, extract


@pytest.fixture
def root(pristine, tmp_path):
    return Path(shutil.copytree(pristine, tmp_path / "photos"))


def load(folder):
    return precomputed.load(folder, name="flickr8k", min_count=1)


def content(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.glob("[!.]*")) if path.is_file()}


def test_features_equal_the_networks_own(root, tmp_path):
    data = load(extract(root, tmp_path / "f"))
    assert (len(data.train), len(data.val), len(data.test)) == (12, 6, 6) and len(data.test.captions) == 12
    network = backbones.load("scenes")
    for row in (0, 5):
        one = network(network.prepare(open_picture(root / "images" / f"test{row}.jpg"))[None])[0]
        torch.testing.assert_close(data.test.features[row].float(), one, rtol=2e-3, atol=2e-3)
        texts = [c for c, i in zip(data.test.captions, data.test.image_of, strict=True) if i == row]
        assert texts == karpathy.read(root)["test"].captions[row]


def test_regions(root, tmp_path):
    data = load(extract(root, tmp_path / "f", regions=4))
    assert data.val.features.shape == (6, 16, 256) and data.defaults == {"places": "cells"}
    pooled = load(extract(root, tmp_path / "g")).val.features.float()
    torch.testing.assert_close(data.val.features.float().mean(1), pooled, rtol=5e-3, atol=5e-3)


def test_captions_of_any_length_and_photos_without(root, tmp_path):
    edit(root, lambda images: images[0]["sentences"].append({"raw": "ring " * 500}))
    edit(root, lambda images: images[1]["sentences"].append({"raw": ""}))
    data = load(extract(root, tmp_path / "f"))
    assert data.train.image_of.bincount()[:3].tolist() == [3, 2, 2]  # the empty one did not come in
    edit(root, lambda images: images[1].update(sentences=[{"raw": " "}]))
    folder = extract(root, tmp_path / "g")
    assert len(load(folder).train) == 11 and "1" not in load(folder).train.image_ids
    assert precomputed.noted(folder)["photos"] == {"train": 11, "dev": 6, "test": 6, "rest": 1}
    assert parsing.lines(folder / "rest_files.txt")[0].endswith("train1.jpg")
    assert np.array_equal(np.load(folder / "rest_ims.npy"), np.load(tmp_path / "f" / "train_ims.npy")[1:2])


def test_bad_photos_cost_nothing_but_themselves(root, tmp_path, monkeypatch):
    (root / "images" / "train3.jpg").write_text("broken")
    (root / "images" / "test1.jpg").unlink()
    with pytest.raises(features.BadPicture, match="2 photos") as err:
        extract(root, tmp_path / "f")
    assert all(word in str(err.value) for word in ("train3.jpg: ", "test1.jpg: ", "--skip-bad"))
    assert not (tmp_path / "f" / "train_ims.npy").exists()
    opened = []
    monkeypatch.setattr(features, "open_picture", lambda path: opened.append(path) or open_picture(path))
    data = load(extract(root, tmp_path / "f", skip_bad=True))
    assert opened == [], "what was done was done again"
    said = icr("features", str(root), str(tmp_path / "f"), "--backbone", "scenes", "--skip-bad").output
    assert "2 photos were left out" in said, said
    assert (len(data.train), len(data.test)) == (11, 5) and len(data.test.captions) == 10
    files = (tmp_path / "f" / "test_files.txt").read_text().split()
    assert [Path(f).name for f in files] == [f"test{i}.jpg" for i in (0, 2, 3, 4, 5)]
    with pytest.raises(features.BadPicture, match="train3.jpg"):
        extract(root, tmp_path / "f")  # a folder without them does not pass for one of all photos


def test_what_was_mended_around_a_photo_is_tried_again(root, tmp_path, monkeypatch):
    """A package that was missing, a right to read: the file itself is as it was."""
    with monkeypatch.context() as patch, pytest.raises(features.BadPicture, match="no decoder"):
        patch.setattr(features, "open_picture", lambda path: (_ for _ in ()).throw(features.BadPicture("no decoder")))
        extract(root, tmp_path / "f")
    monkeypatch.chdir(root.parent)
    extract(Path(root.name), tmp_path / "f")
    files = (tmp_path / "f" / "train_files.txt").read_text().split()
    assert len(files) == 12 and all(Path(file).is_absolute() for file in files)


def test_a_part_without_any_good_photo(root, tmp_path, monkeypatch):
    monkeypatch.setattr(features, "PART", 2)
    for number in (0, 1):
        (root / "images" / f"train{number}.jpg").write_text("broken")
    assert np.load(extract(root, tmp_path / "f", skip_bad=True) / "train_ims.npy").shape == (10, 256)
    for number in range(6):
        (root / "images" / f"val{number}.jpg").write_text("broken")
    with pytest.raises(features.BadPicture, match="val"):
        extract(root, tmp_path / "g", skip_bad=True)


def test_a_killed_extraction_goes_on(root, tmp_path, monkeypatch):
    """What it had done is not done again, and the result is the same."""
    whole = content(extract(root, tmp_path / "whole"))
    monkeypatch.setattr(features, "PART", 2)
    new, real, opened, left = content(extract(root, tmp_path / "new")), features.write_arrays, [], [None] * 3
    assert new == whole

    def write(path, arrays):
        real(path, arrays)
        left.pop()  # at the fourth an IndexError

    with monkeypatch.context() as patch, pytest.raises(IndexError):
        patch.setattr(features, "write_arrays", write)
        extract(root, tmp_path / "f")
    monkeypatch.setattr(features, "open_picture", lambda path: opened.append(path) or open_picture(path))
    assert content(extract(root, tmp_path / "f")) == new and len(opened) == 24 - 4 * 2


@pytest.mark.parametrize("writes", [1, 6, 13])
def test_ended_while_the_folder_is_written(root, tmp_path, monkeypatch, writes):
    """Nobody takes half of it for the whole, and the same command ends as if nothing had been."""
    folder, new, real, left = tmp_path / "f", content(extract(root, tmp_path / "new")), write_bytes, [None] * writes

    def write(path, raw):
        if not left:
            raise KeyboardInterrupt
        left.pop()
        real(path, raw)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(features, "write_bytes", write)
        extract(root, folder)
    for look in (load, precomputed.parts):
        with pytest.raises((ValueError, FileNotFoundError), match="icr features PHOTOS|missing"):
            look(folder)
    assert content(extract(root, folder)) == new


@pytest.mark.parametrize(
    "change, options",
    [
        (lambda images: images[0]["sentences"][0].update(raw="a word that was not there"), {}),
        (lambda images: images.pop(), {}),
        (lambda images: None, {"regions": 2}),
        (lambda images: None, {"backbone": "readers_own:network"}),
    ],
)
def test_other_features_are_never_written_over(root, tmp_path, change, options):
    """Of the same photos and captions nothing is computed again."""
    folder = extract(root, tmp_path / "f")
    before = content(folder), (folder / "train_ims.npy").stat().st_mtime_ns
    extract(root, folder)
    edit(root, change)
    with pytest.raises(ValueError, match="f holds features of other photos"):
        extract(root, folder, **options)
    assert (content(folder), (folder / "train_ims.npy").stat().st_mtime_ns) == before


def test_features_of_unknown_origin_stay(root, tmp_path):
    folder = extract(root, tmp_path / "f")
    (folder / MARK).write_bytes(b'{"backbone": 3}')
    before = content(folder)
    for word in ("features.json", "f holds features"):
        with pytest.raises(ValueError, match=word):
            extract(root, folder)
        (folder / MARK).unlink(missing_ok=True)
    assert content(folder) == {name: raw for name, raw in before.items() if name != MARK}


def test_torchvision_networks_make_maps():
    """Without weights: the shapes."""
    for name, shape in (("resnet50", (1, 2048)), ("vit_b_16", (1, 768))):
        network = backbones._torchvision(name, weights=None)
        picture = network.prepare(Image.new("RGB", (300, 200)))
        assert picture.shape == (3, 224, 224) and network(picture[None]).shape == shape
        assert network(picture[None], 4).shape == (1, 16, shape[1])


def network():
    """A reader's network, whose own name is not the one that finds it."""
    made = backbones.load("scenes")
    made.name = "mine"
    return made


def test_a_network_of_ones_own_is_noted_but_never_imported_from_a_file(root, tmp_path, readers_own):
    """What is noted is the name that was asked for; who searches with a picture hands the network over again."""
    folder = extract(root, tmp_path / "f", readers_own)
    run = icrlib.train(load(folder), "bow", updates=2, batch_size=8, embed_dim=8, progress=False)
    index = Index.of(run.model, folder)
    with pytest.raises(ValueError, match="readers_own:network"):
        index.by_picture(root / "images" / "test0.jpg", top=3)
    hits = index.by_picture(root / "images" / "test0.jpg", top=3, backbone=readers_own)
    assert [hit.rank for hit in hits] == [1, 2, 3]

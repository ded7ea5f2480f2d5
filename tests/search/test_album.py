"""An album: any folder of pictures becomes searchable, stays so while it changes, and nothing of it is touched."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import icrlib
from icrlib.data import precomputed
from icrlib.files import alone
from icrlib.search import album as albums
from icrlib.search.album import Album, of_model
from icrlib.search.encoders import Own
from icrlib.search.index import Index
from tests.data.photos import edit, extract
from tests.search.conftest import SIZES
from tests.test_cli import icr

MINE = "tests.search.test_album:Colours"


class Colours:
    """An encoder of a reader's own: a picture is its mean colour, a text the colours that it names."""

    def __init__(self, stop_at: int = 99) -> None:
        self.calls, self.stop_at = [], stop_at

    def encode_images(self, pictures):
        self.calls.append(len(pictures))
        if len(self.calls) == self.stop_at:
            raise KeyboardInterrupt
        return np.array([np.asarray(picture).mean((0, 1)) + 1 for picture in pictures])

    def encode_captions(self, texts):
        return [[1.0 + 9 * (colour in text) for colour in ("red", "green", "blue")] for text in texts]


@pytest.fixture
def pictures(trained, tmp_path):
    """A folder as people have them: folders in folders, other files, no captions."""
    folder = tmp_path / "album"
    for place in ("2024/May", ".hidden"):
        (folder / place).mkdir(parents=True)
        shutil.copy(trained / "photos" / "images" / "train0.jpg", folder / place / "IMG 1.JPG")
    for number in (0, *range(2, 8)):
        shutil.copy(trained / "photos" / "images" / f"test{number}.jpg", folder / f"IMG {number}.jpeg")
    (folder / "notes.txt").write_text("not a picture")
    return folder


def embed(album, trained=None, mine=None):
    """What :meth:`Album.update` gives, with the model that was trained or with an encoder of one's own."""
    encoder = Own(mine, "mine") if mine else of_model(trained / "run", "run", "scenes")
    return Album(album).update(encoder, trained and trained / "run", progress=False)


def vectors(album):
    with np.load(album / ".icr" / "album.npz") as file:
        return {str(name): vector.tobytes() for name, vector in zip(file["names"], file["vectors"], strict=True)}


def test_as_typed_and_again_with_its_own_copy_of_the_model(trained, pictures):
    before = {path: path.read_bytes() for path in pictures.rglob("*") if path.is_file()}
    result = icr("index", pictures, "--model", trained / "run", "--features", trained / "features")
    assert "8 new, 0 changed, 0 gone, 0 as before" in result.output, result.output
    first = icr("search", "a red ring", "--index", pictures / ".icr", "--top", "3").output
    assert len(first.splitlines()) == 3 and all("IMG " in line for line in first.splitlines()), first
    alike = icr("search", pictures / "2024" / "May" / "IMG 1.JPG", "--index", pictures).output
    assert "IMG 1.JPG" in alike.splitlines()[0], "itself is most like itself"
    Image.new("RGB", (50, 50), (200, 0, 0)).save(pictures / "new.png")
    assert "1 new, 0 changed, 0 gone, 8 as before" in icr("index", pictures).output
    (pictures / "new.png").unlink()
    assert "1 gone" in icr("index", pictures).output
    assert icr("search", "a red ring", "--index", pictures, "--top", "3").output == first
    assert {path: path.read_bytes() for path in before} == before


def test_it_finds_what_the_feature_folder_finds(trained, pictures):
    """The same picture has the same score in an album and among the photos with captions."""
    embed(pictures, trained)
    album = Album(pictures)
    captioned = Index.of(trained / "run", trained / "features").by_text("a red ring", 99)
    scores = {Path(hit.file).read_bytes(): hit.score for hit in captioned}
    for hit in album.index(album.encoder()).by_text("a red ring", 99):
        assert hit.score == pytest.approx(scores[Path(hit.file).read_bytes()], abs=2e-3)


def test_new_changed_and_gone(trained, pictures):
    embed(pictures, trained)
    old = vectors(pictures)
    (pictures / "IMG 0.jpeg").unlink()
    shutil.copy(pictures / "IMG 2.jpeg", pictures / "new.png.jpg")
    Image.new("RGB", (50, 50), (200, 0, 0)).save(pictures / "2024" / "May" / "IMG 1.JPG")
    assert embed(pictures, trained) == ({"new": 1, "changed": 1, "gone": 1, "as before": 6}, [])
    now = vectors(pictures)
    assert now["new.png.jpg"] == old["IMG 2.jpeg"]
    assert {name for name in now if now[name] == old.get(name)} == set(old) - {"IMG 0.jpeg", "2024/May/IMG 1.JPG"}
    for colour in ("red", "blue"):  # written again, of the same size
        Image.new("RGB", (50, 50), colour).save(pictures / "a.bmp")
        (counts, _), old, now = embed(pictures, trained), now, vectors(pictures)
    assert counts["changed"] == 1 and now["a.bmp"] != old["a.bmp"]


def test_a_killed_indexing_goes_on(pictures, monkeypatch):
    monkeypatch.setattr(albums, "TOGETHER", 3)
    monkeypatch.setattr(albums, "EVERY", -1)
    with pytest.raises(KeyboardInterrupt):
        embed(pictures, mine=Colours(stop_at=2))
    again = Colours()
    assert embed(pictures, mine=again)[0]["as before"] == 3
    assert again.calls == [3, 2], "in batches, and only what is missing"
    resumed = vectors(pictures)
    shutil.rmtree(pictures / ".icr")
    embed(pictures, mine=again)
    assert vectors(pictures) == resumed
    with alone(pictures / ".icr", ""), pytest.raises(ValueError, match="another process"):
        embed(pictures, mine=again)


def test_what_cannot_be_read_is_named_and_tried_again_when_it_changes(trained, pictures):
    (pictures / "broken.jpg").write_bytes(b"no")
    os.symlink(pictures / "nowhere.jpg", pictures / "link.jpg")
    output = icr("index", pictures, "--model", trained / "run", "--backbone", "scenes").output
    assert "8 new" in output and output.count("left out: ") == 1 and "broken.jpg: cannot be decoded" in output
    assert len(vectors(pictures)) == 8
    Image.new("RGB", (50, 50)).save(pictures / "broken.jpg")
    assert embed(pictures, trained)[1] == []
    (pictures / "broken.jpg").write_bytes(b"no")
    assert embed(pictures, trained)[0] == {"new": 0, "changed": 0, "gone": 0, "as before": 8}


def test_odd_names(trained, pictures):
    odd = {"a\u2028b.jpg", "c\nd.jpg", "e\x1b[31mf.jpg", "größe.jpg", os.fsdecode(b"bad\xff.jpg")}
    for name in odd:
        shutil.copy(pictures / "IMG 2.jpeg", pictures / name)
    assert embed(pictures, trained)[0]["new"] == 13
    album = Album(pictures)
    alike = album.index(album.encoder()).by_picture(pictures / "IMG 2.jpeg", 6)
    assert {os.path.basename(hit.file) for hit in alike} == odd | {"IMG 2.jpeg"}
    shown = icr("search", "a red ring", "--index", pictures, "--top", "13").output
    assert len(shown.splitlines()) == 13 and "\x1b" not in shown


def test_an_encoder_of_ones_own(trained, pictures):
    embed(pictures, trained)
    for colour in ("red", "lime"):
        Image.new("RGB", (40, 40), colour).save(pictures / f"{colour}.png")
    result = icr("index", pictures, "--encoder", MINE)
    assert "10 new" in result.output and f"--encoder {MINE}" in result.output, result.output
    for query, file in (("red", "red.png"), ("green", "lime.png")):
        result = icr("search", f"something {query}", "--index", pictures, "--encoder", MINE, "--top", "1")
        assert file in result.output, result.output
    with pytest.raises(ValueError, match="--encoder"):
        Album(pictures).encoder()
    result = icr("search", "red", "--index", pictures, "--encoder", "tests.own_parts:Bags")
    assert result.exit_code == 1 and MINE in result.output, result.output
    embed(pictures, trained)
    result = icr("search", "red", "--index", pictures, "--encoder", MINE)
    assert result.exit_code == 1 and "leave out --encoder" in result.output, result.output


def test_an_encoder_of_ones_own_that_has_changed(pictures, monkeypatch):
    embed(pictures, mine=Colours())
    Image.new("RGB", (40, 40), "red").save(pictures / "red.png")
    monkeypatch.setattr(Colours, "encode_images", lambda self, pictures: np.ones((len(pictures), 4)))
    with pytest.raises(ValueError, match="mine is not as it was .*delete that"):
        embed(pictures, mine=Colours())
    with pytest.raises(ValueError, match="mine: 3 numbers of a picture, but 2 of a text"):
        monkeypatch.setattr(Colours, "encode_captions", lambda self, texts: np.ones((len(texts), 2)))
        Album(pictures).index(Own(Colours(), "mine")).by_text("red")


def test_a_killed_change_of_the_model_leaves_the_album_as_it_was_or_none(trained, pictures, tmp_path, monkeypatch):
    """Never the new model beside the vectors of the old one."""
    embed(pictures, trained)
    before, one = vectors(pictures), (pictures / ".icr" / "model" / "model.json").read_bytes()
    shutil.copytree(trained / "run", tmp_path / "other")
    (tmp_path / "other" / "model.json").write_bytes(one + b" ")
    stopped = Own(Colours(stop_at=1), "mine")
    with pytest.raises(KeyboardInterrupt):
        Album(pictures).update(stopped, tmp_path / "other", progress=False)
    assert vectors(pictures) == before and (pictures / ".icr" / "model" / "model.json").read_bytes() == one
    monkeypatch.setattr(albums.np, "savez", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        Album(pictures).update(Own(Colours(), "mine"), tmp_path / "other", progress=False)
    assert not Album(pictures).begun


@pytest.mark.parametrize(
    ("answer", "what"),
    [
        (lambda pictures: np.full((len(pictures), 3), np.nan), "NaN"),
        (lambda pictures: ["a"] * len(pictures), "encode_images"),
    ],
)
def test_answers_that_are_no_vectors(pictures, answer, what):
    mine = Colours()
    mine.encode_images = answer
    with pytest.raises(ValueError, match=what):
        embed(pictures, mine=mine)


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("index",), "--model"),
        (("index", "--encoder", "math:pi"), "encode_captions"),
        (("index", "--model", "RUN"), "--backbone"),
        (("index", "--model", "RUN", "--backbone", "efficientnet_lite2"), "1280"),
        (("search", "a dog", "--index"), "icr index"),
    ],
)
def test_refused_before_anything_is_made(trained, pictures, words, what):
    command, *options = (str(trained / "run") if word == "RUN" else word for word in words)
    result = icr(command, *options, pictures)
    assert result.exit_code in (1, 2) and what in result.output, result.output
    assert not (pictures / ".icr").exists()


def test_features_of_another_form_than_the_models(trained, pictures, tmp_path):
    extract(trained / "photos", tmp_path / "cells", regions=2)
    result = icr("index", pictures, "--model", trained / "run", "--features", tmp_path / "cells")
    assert result.exit_code == 1 and "of another kind (vector)" in result.output, result.output
    assert not (pictures / ".icr").exists()


def test_a_damaged_album(trained, pictures):
    embed(pictures, trained)
    path = pictures / ".icr" / "album.npz"
    for damage in (lambda raw: raw[:5000], lambda raw: raw.replace(b"names.npy", b"nemas.npy")):
        path.write_bytes(damage(path.read_bytes()))
        with pytest.raises(ValueError, match="album.npz: damaged .*delete it"):
            embed(pictures, trained)


def test_a_model_on_pictures(trained, pictures, tmp_path):
    data = icrlib.load_dataset("flickr8k", root=trained / "photos", images="published", backbone="scenes", min_count=1)
    icrlib.train(data, out=tmp_path / "run", word_dim=8, **SIZES)
    assert "8 new" in icr("index", pictures, "--model", tmp_path / "run").output
    assert len(icr("search", "a red ring", "--index", pictures).output.splitlines()) == 5


def test_all_splits_and_those_without_captions(trained, tmp_path):
    root = shutil.copytree(trained / "photos", tmp_path / "photos")
    edit(root, lambda images: images[0].pop("sentences"))
    folder = extract(root, tmp_path / "f")
    index = Index.of(trained / "run", folder)
    assert len(index) == 30 and len(Index.of(trained / "run", folder, "test")) == 12
    captions = {hit.file: hit.caption for hit in index.by_text("a ring", 99)}
    assert index.files[-1].endswith("train0.jpg") and captions.pop(index.files[-1]) == ""
    parts = [part for part in precomputed.parts(folder) if part.captions]
    own = {part.files[row]: part.captions[part.image_of.tolist().index(row)] for part in parts for row in part.image_of}
    assert captions == own, "the caption shown is the photo's own first"

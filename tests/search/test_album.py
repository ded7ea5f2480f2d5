"""An album: any folder of pictures becomes searchable, stays so while it changes, and nothing of it is touched."""

from __future__ import annotations

import os
import shutil

import numpy as np
import pytest
import torch
from PIL import Image

import icrlib
from icrlib.data import feature_folder
from icrlib.search.album import Album, of_model
from icrlib.search.encoders import Own
from icrlib.search.index import Index
from tests.data.photos import edit, extract, make
from tests.test_cli import icr

SIZES = {"updates": 4, "batch_size": 8, "embed_dim": 8, "word_dim": 8, "progress": False}


class Colours:
    """An encoder of a reader's own: a picture is its mean colour, a text the colours that it names."""

    def encode_images(self, pictures):
        return np.array([np.asarray(picture).mean((0, 1)) + 1 for picture in pictures])

    def encode_captions(self, texts):
        return [[1.0 + 9 * (colour in text) for colour in ("red", "green", "blue")] for text in texts]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A model and its features, made from photos with captions."""
    folder = tmp_path_factory.mktemp("trained")
    make(folder / "photos")
    extract(folder / "photos", folder / "features")
    data = icrlib.load_dataset("flickr8k", features=folder / "features", min_count=1)
    icrlib.train(data, out=folder / "run", **SIZES)
    return folder


@pytest.fixture
def pictures(trained, tmp_path):
    """A folder as people have them: folders in folders, other files, no captions."""
    folder = tmp_path / "album"
    (folder / "2024" / "May").mkdir(parents=True)
    (folder / ".hidden").mkdir()
    some = sorted((trained / "photos" / "images").glob("t*.jpg"))[:8]
    for number, file in enumerate(some):
        place = folder / "2024" / "May" if number % 2 else folder
        shutil.copy(file, place / f"IMG {number}.{'JPG' if number % 3 else 'jpeg'}")
    shutil.copy(some[0], folder / ".hidden" / "no.jpg")
    (folder / "notes.txt").write_text("not a picture")
    return folder


def embed(trained, album):
    return Album(album).update(of_model(trained / "run", "run", "scenes"), trained / "run", progress=False)


def vectors(album):
    with np.load(album / ".icr" / "album.npz") as held:
        return {str(name): vector.tobytes() for name, vector in zip(held["names"], held["vectors"], strict=True)}


def test_as_typed(trained, pictures):
    before = {path: path.read_bytes() for path in pictures.rglob("*") if path.is_file()}
    result = icr("index", str(pictures), "--model", str(trained / "run"), "--features", str(trained / "features"))
    assert result.exit_code == 0 and "8 new, 0 changed, 0 gone, 0 as before" in result.output, result.output
    result = icr("search", "a red ring", "--index", str(pictures / ".icr"), "--top", "3")
    lines = result.output.splitlines()
    assert result.exit_code == 0 and len(lines) == 3 and all("IMG " in line for line in lines), result.output
    picture = str(pictures / "2024" / "May" / "IMG 1.JPG")
    result = icr("search", picture, "--index", str(pictures))
    assert result.exit_code == 0 and "IMG 1.JPG" in result.output.splitlines()[0], "itself is most like itself"
    assert {path: path.read_bytes() for path in before} == before


def test_an_album_goes_on_with_its_own_copy_of_the_model(trained, pictures):
    icr("index", str(pictures), "--model", str(trained / "run"), "--features", str(trained / "features"))
    before = icr("search", "a red ring", "--index", str(pictures)).output
    Image.new("RGB", (50, 50), (200, 0, 0)).save(pictures / "new.png")
    result = icr("index", str(pictures))
    assert result.exit_code == 0 and "1 new, 0 changed, 0 gone, 8 as before" in result.output, result.output
    (pictures / "new.png").unlink()
    icr("index", str(pictures))
    assert icr("search", "a red ring", "--index", str(pictures)).output == before


def test_it_finds_what_the_feature_folder_finds(trained, pictures):
    """The same picture has the same score in an album and among the photos with captions."""
    embed(trained, pictures)
    album = Album(pictures)
    here = {hit.file: hit.score for hit in album.index(album.encoder()).by_text("a red ring", 99)}
    there = Index.of(trained / "run", trained / "features")
    scores = {os.path.basename(hit.file): hit.score for hit in there.by_text("a red ring", 99)}
    names = {path.read_bytes(): path.name for path in (trained / "photos" / "images").iterdir()}
    assert len(here) == 8
    for file, score in here.items():
        with open(file, "rb") as raw:
            assert score == pytest.approx(scores[names[raw.read()]], abs=2e-3)


def test_new_changed_and_gone(trained, pictures):
    embed(trained, pictures)
    old = vectors(pictures)
    (pictures / "IMG 0.jpeg").unlink()
    shutil.copy(pictures / "IMG 2.JPG", pictures / "new.png.jpg")
    Image.new("RGB", (50, 50), (200, 0, 0)).save(pictures / "2024" / "May" / "IMG 1.JPG")
    found = embed(trained, pictures)
    assert (found.new, found.changed, found.gone, found.same, found.problems) == (1, 1, 1, 6, [])
    now = vectors(pictures)
    assert now["new.png.jpg"] == old["IMG 2.JPG"] and now["2024/May/IMG 1.JPG"] != old["2024/May/IMG 1.JPG"]
    same = {name for name in now if name in old and now[name] == old[name]}
    assert same == set(old) - {"IMG 0.jpeg", "2024/May/IMG 1.JPG"}
    assert embed(trained, pictures).same == 8
    place = pictures / "IMG 2.JPG"
    about = place.stat()
    os.utime(place, ns=(about.st_atime_ns, about.st_mtime_ns + 1))  # of the same size, written again
    assert embed(trained, pictures).changed == 1


def test_what_cannot_be_read_is_named_and_tried_again_when_it_changes(trained, pictures):
    (pictures / "broken.jpg").write_bytes(b"no")
    os.symlink(pictures / "nowhere.jpg", pictures / "link.jpg")
    found = embed(trained, pictures)
    assert found.new == 9 and len(found.problems) == 1 and "broken.jpg: cannot be decoded" in found.problems[0]
    assert "left out: " in icr("index", str(pictures), "--model", str(trained / "run"), "--backbone", "scenes").output
    Image.new("RGB", (50, 50)).save(pictures / "broken.jpg")
    assert embed(trained, pictures).problems == []


def test_odd_names(trained, pictures):
    for name in ("a\u2028b.jpg", "c\nd.jpg", "e\x1b[31mf.jpg", "größe.jpg"):
        shutil.copy(pictures / "IMG 2.JPG", pictures / name)
    shutil.copy(pictures / "IMG 2.JPG", os.fsencode(pictures) + b"/bad\xff.jpg")
    assert embed(trained, pictures).new == 13
    album = Album(pictures)
    alike = [hit.file for hit in album.index(album.encoder()).by_picture(pictures / "IMG 2.JPG", 6)]
    odd = {"a\u2028b.jpg", "c\nd.jpg", "e\x1b[31mf.jpg", "größe.jpg", os.fsdecode(b"bad\xff.jpg")}
    assert {os.path.basename(file) for file in alike} == odd | {"IMG 2.JPG"}
    shown = icr("search", "a red ring", "--index", str(pictures), "--top", "13").output
    assert len(shown.splitlines()) == 13 and "\x1b" not in shown


def test_two_processes(trained, pictures):
    from icrlib.files import alone

    with alone(pictures / ".icr", ""), pytest.raises(ValueError, match="another process is indexing"):
        embed(trained, pictures)


def test_another_network_begins_anew(trained, pictures):
    embed(trained, pictures)
    found = Album(pictures).update(Own(Colours(), "colours"), progress=False)
    assert (found.new, found.same) == (8, 0)
    with pytest.raises(ValueError, match="made with colours, which is not of this library.*--encoder"):
        Album(pictures).encoder()


def test_an_encoder_of_ones_own(pictures):
    for colour, value in (("red", (250, 0, 0)), ("green", (0, 250, 0))):
        Image.new("RGB", (40, 40), value).save(pictures / f"{colour}.png")
    mine = "tests.search.test_album:Colours"
    result = icr("index", str(pictures), "--encoder", mine)
    assert result.exit_code == 0 and f"--encoder {mine}" in result.output, result.output
    for colour in ("red", "green"):
        result = icr("search", f"something {colour}", "--index", str(pictures), "--encoder", mine, "--top", "1")
        assert f"{colour}.png" in result.output, result.output
    assert "hand over what reads" in icr("search", "red", "--index", str(pictures)).output.replace("\n", " ")


class Counting(Colours):
    """Says how many pictures it got at once."""

    def __init__(self):
        self.batches = []

    def encode_images(self, pictures):
        self.batches.append(len(pictures))
        return super().encode_images(pictures)


def test_an_encoder_of_ones_own_gets_batches(pictures, monkeypatch):
    made = Counting()
    Album(pictures).update(Own(made, "mine"), progress=False)
    assert made.batches == [8]
    one_by_one = {hit.file: hit.score for hit in Album(pictures).index(Own(Colours(), "mine")).by_text("red", 99)}
    monkeypatch.setattr("icrlib.search.encoders.PIXELS", 3 * 96 * 80)
    (pictures / "broken.jpg").write_bytes(b"no")
    for file in pictures.rglob("IMG*"):
        os.utime(file, (1, 1))
    made.batches.clear()
    found = Album(pictures).update(Own(made, "mine"), progress=False)
    assert len(found.problems) == 1 and found.changed == 8 and max(made.batches) == 3, "large ones go in parts"
    again = {hit.file: hit.score for hit in Album(pictures).index(Own(Colours(), "mine")).by_text("red", 99)}
    assert again == pytest.approx(one_by_one), "each picture has its own vector, the broken one apart"


class Growing(Colours):
    def encode_images(self, pictures):
        return np.ones((len(pictures), len(pictures)))


def test_answers_of_several_sizes_are_named(pictures, monkeypatch):
    files = sorted(pictures.rglob("IMG*"))
    monkeypatch.setattr("icrlib.search.encoders.PIXELS", 3 * 96 * 80)
    with pytest.raises(ValueError, match="gives pictures 2 and 3 numbers"):
        Own(Growing(), "mine").pictures(files)


def test_vectors_made_elsewhere(pictures, tmp_path):
    names = Album(pictures).names()
    found = Colours().encode_images([Image.open(pictures / name).convert("RGB") for name in names])
    np.save(tmp_path / "images.npy", found)
    assert icr("index", str(pictures), "--embeddings", str(tmp_path / "images.npy")).exit_code == 0
    index = Album(pictures).index(Album(pictures).encoder(Colours()))
    assert torch.allclose(index.images, torch.nn.functional.normalize(torch.from_numpy(found).float(), dim=1))
    (tmp_path / "names.txt").write_text("\n".join(names[:3]) + "\n")
    np.save(tmp_path / "three.npy", found[:3])
    words = ("index", str(pictures), "--files", str(tmp_path / "names.txt"), "--embeddings")
    assert "3 pictures" in icr(*words, str(tmp_path / "three.npy")).output
    for content, what in (
        (found, f"images.npy: {len(found)} rows for 3 pictures"),
        (found[:3] * np.nan, "row 0 holds NaN"),
        (found[:3, :0], "wanted"),
        (np.array(["a", "b", "c"]), "images.npy"),
    ):
        np.save(tmp_path / "images.npy", content)
        result = icr(*words, str(tmp_path / "images.npy"))
        assert result.exit_code == 1 and what in " ".join(result.output.split()), result.output
    (tmp_path / "names.txt").write_text("elsewhere.jpg\nb\nc\n")
    assert "'elsewhere.jpg' is no picture below" in icr(*words, str(tmp_path / "three.npy")).output


@pytest.mark.parametrize(
    "given, what",
    [
        (("--model", "m", "--encoder", "e"), "say one thing that embeds"),
        (("--encoder", "nonsense"), "PACKAGE.MODULE:NAME"),
        (("--encoder", "nowhere:at"), "No module named"),
        (("--encoder", "math:nothing"), "no attribute"),
        (("--encoder", "math:pi"), "has no encode_captions"),
        (("--model", "nowhere"), "no model.json here"),
        (("--embeddings", "nowhere.npy"), "no such file"),
    ],
)
def test_index_refuses(pictures, given, what):
    result = icr("index", str(pictures), *given)
    assert result.exit_code in (1, 2) and what in result.output, result.output
    assert not (pictures / ".icr").exists()


def test_a_model_without_a_known_network(trained, pictures):
    result = icr("index", str(pictures), "--model", str(trained / "run"))
    assert result.exit_code == 1 and "name it with" in result.output, result.output
    result = icr("index", str(pictures), "--model", str(trained / "run"), "--backbone", "efficientnet_lite2")
    assert result.exit_code == 1 and "makes 1280 numbers" in result.output and "trained on 256" in result.output
    assert not (pictures / ".icr").exists(), "nothing is made that no search could use"


@pytest.mark.parametrize(
    "damage",
    [
        lambda raw: raw[:5000],
        lambda raw: b"no archive at all" * 99,
        lambda raw: raw.replace(b"names.npy", b"nemas.npy"),
        lambda raw: raw.replace("2024/May".encode("utf-32-le"), "../../ay".encode("utf-32-le")),
    ],
)
def test_a_damaged_album(trained, pictures, damage):
    embed(trained, pictures)
    base = pictures / ".icr" / "album.npz"
    base.write_bytes(damage(base.read_bytes()))
    for use in (lambda: embed(trained, pictures), lambda: Album(pictures).index(Own(Colours()))):
        with pytest.raises(ValueError, match="album.npz: damaged .*delete it, and icr index .* makes it anew"):
            use()


def test_a_folder_without_an_index(tmp_path):
    result = icr("search", "a dog", "--index", str(tmp_path))
    assert result.exit_code == 1 and "no index here; icr index" in result.output
    assert list(tmp_path.iterdir()) == [], "looking makes nothing"
    assert "no such folder" in icr("search", "a dog", "--index", str(tmp_path / "nowhere")).output


def test_dates(trained, pictures):
    exif = Image.Exif()
    exif[0x0132] = "2024:05:01 12:30:00"
    Image.new("RGB", (40, 30)).save(pictures / "dated.jpg", exif=exif)
    embed(trained, pictures)
    index = Album(pictures).index(Album(pictures).encoder())
    said = {os.path.basename(hit.file): hit.caption for hit in index.by_text("a ring", 99)}
    assert said["dated.jpg"] == "2024:05:01 12:30:00" and said["IMG 2.JPG"] == ""


def test_a_model_on_pictures(trained, pictures, tmp_path):
    data = icrlib.load_dataset("flickr8k", root=trained / "photos", images="published", backbone="scenes", min_count=1)
    icrlib.train(data, out=tmp_path / "run", **SIZES)
    result = icr("index", str(pictures), "--model", str(tmp_path / "run"))
    assert result.exit_code == 0 and "8 new" in result.output, result.output
    assert len(icr("search", "a red ring", "--index", str(pictures)).output.splitlines()) == 5


def test_all_splits_and_those_without_captions(trained, tmp_path):
    root = shutil.copytree(trained / "photos", tmp_path / "photos")
    edit(root, lambda images: images[0].pop("sentences"))
    folder = extract(root, tmp_path / "f")
    every = Index.of(trained / "run", folder)
    assert len(every) == 24 and len(Index.of(trained / "run", folder, "test")) == 6
    assert every.files[-1].endswith("train0.jpg") and feature_folder.noted(folder)["photos"]["rest"] == 1
    captions = {hit.file: hit.caption for hit in every.by_text("a ring", 99)}
    assert captions[every.files[-1]] == "" and all(captions[file] for file in every.files[:-1])
    for file, caption in list(captions.items())[:24]:
        if caption:
            own = [
                text
                for part in feature_folder.parts(folder)
                for text, row in zip(part.captions, part.image_of, strict=True)
                if part.files[row] == file
            ]
            assert caption == own[0], "the caption shown is the photo's own first"


MODULES = {
    "syntax": ("load = 3 +\n", "SyntaxError: invalid syntax (own_syntax.py, line 1)"),
    "leaves": ("import sys\nsys.exit('no weights')\n", "SystemExit: no weights (own_leaves.py, line 2)"),
    "needs": ("def load(weights): ...\n", "TypeError: load() missing 1 required positional argument: 'weights'"),
    "nothing": ("def load(): ...\n", "own_nothing:load has no encode_captions"),
    "imports": ("import no_such_thing\n", "there is no module 'no_such_thing'"),
}


@pytest.mark.parametrize("name", MODULES)
def test_modules_of_ones_own_that_do_not_work(pictures, tmp_path, monkeypatch, name):
    """One line, and what the module itself died of."""
    content, told = MODULES[name]
    (tmp_path / f"own_{name}.py").write_text(content)
    monkeypatch.syspath_prepend(tmp_path)
    result = icr("index", pictures, "--encoder", f"own_{name}:load")
    assert result.exit_code == 1 and told in result.output and "Traceback" not in result.output, result.output


def test_a_query_that_looks_like_a_picture(pictures):
    mine = ("--index", pictures, "--encoder", "tests.search.test_album:Colours")
    icr("index", pictures, *mine[2:])
    assert "red.heic: no such picture; searched as words" in icr("search", "red.heic", *mine).output
    assert "searched as words" not in icr("search", "a red jpg", *mine).output

"""The encoder that needs no captions: from classes to vectors, and an album with it from a folder of pictures alone."""

from __future__ import annotations

import json
import sqlite3
import threading
import urllib.request

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

from icrlib.data.backbones import Backbone
from icrlib.data.targets.base import Teacher
from icrlib.search import imagenet_words
from icrlib.search.album import Album
from icrlib.search.imagenet_words import ImageNetWords, class_names, convex, sentences
from icrlib.search.serve import server
from tests.search.test_album import Colours
from tests.test_cli import icr

COLOURS = {"red": (250, 10, 10), "green": (10, 250, 10), "blue": (10, 10, 250)}


class Names(Teacher):
    """A sentence is the colours that it names, and something that all sentences share."""

    name, size, identity = "colours", 4, "c" * 64

    def _parts(self, captions):
        yield (
            list(range(len(captions))),
            torch.tensor([[1.0] + [float(name in text) for name in COLOURS] for text in captions]),
        )


class Shares(nn.Module):
    """A picture as a map of its colours; how many were in a batch is kept."""

    def __init__(self):
        super().__init__()
        self.batches = []

    def forward(self, pictures):
        self.batches.append(len(pictures))
        return pictures.clone()


@pytest.fixture
def small(monkeypatch, tmp_path):
    """The encoder with three classes, a network that sees colours, and a teacher that reads them."""
    network = Shares()

    def prepare(picture):
        return torch.from_numpy(np.asarray(picture.resize((4, 4))).copy()).permute(2, 0, 1).float() / 50

    monkeypatch.setattr(
        imagenet_words.backbones, "load", lambda name: Backbone(name, network, prepare, None, nn.Identity())
    )
    monkeypatch.setattr(imagenet_words, "teacher", lambda name: Names())
    monkeypatch.setattr(imagenet_words, "class_names", lambda: [[name, "colour"] for name in COLOURS])
    monkeypatch.setenv("ICRLIB_CACHE", str(tmp_path / "cache"))
    return network


@pytest.fixture
def pictures(tmp_path):
    folder = tmp_path / "album"
    folder.mkdir()
    for name, colour in COLOURS.items():
        Image.new("RGB", (40, 30), colour).save(folder / f"{name}.png")
    return folder


def test_the_classes_are_imagenets_in_the_order_of_the_networks():
    told = json.loads(imagenet_words.NAMES.read_text(encoding="utf-8"))
    numbers = list(told["names"])
    assert len(numbers) == 1000 and numbers == sorted(set(numbers)) and "WordNet 3.0 Copyright 2006" in told["licence"]
    names = class_names()
    known = {
        0: "tench",
        134: "crane",
        281: "tabby",
        517: "crane",
        638: "maillot",
        736: "pool table",
        999: "toilet tissue",
    }
    assert {row: names[row][0] for row in known} == known
    assert (numbers[134], numbers[517], numbers[639]) == ("n02012849", "n03126707", "n03710721")
    assert sentences([["hen"], ["tabby", "tabby cat"]]) == ["a photo of hen", "a photo of tabby, tabby cat"]


@pytest.mark.parametrize("top", [None, 2])
def test_a_picture_is_the_mean_of_its_classes(top):
    rng = np.random.default_rng(3)
    probabilities, classes = rng.dirichlet(np.ones(5), 4), rng.normal(size=(5, 3))
    found = convex(torch.from_numpy(probabilities), torch.from_numpy(classes), top)
    for row in range(4):
        chosen = sorted(range(5), key=lambda c: -probabilities[row, c])[: top or 5]
        vector = sum(probabilities[row, c] * classes[c] for c in chosen) / sum(probabilities[row, c] for c in chosen)
        vector -= sum(classes) / 5
        assert found[row].numpy() == pytest.approx(vector / np.linalg.norm(vector))


def test_an_album_without_a_model(small, pictures):
    (pictures / "broken.jpg").write_bytes(b"no")
    result = icr("index", str(pictures))
    assert result.exit_code == 0 and "4 new" in result.output and "broken.jpg" in result.output, result.output
    assert "--encoder" not in result.output, "a search needs no more than the album"
    for colour in COLOURS:
        result = icr("search", f"something {colour}", "--index", str(pictures), "--top", "1")
        assert f"{colour}.png" in result.output, result.output
    picture = str(pictures / "red.png")
    assert "red.png" in icr("search", picture, "--index", str(pictures), "--top", "1").output
    page = pictures.parent / "answers.html"
    assert icr("search", "green", "--index", str(pictures), "--html", str(page)).exit_code == 0
    assert "imagenet-words" in page.read_text() and page.read_text().count("<img") == 3
    result = icr("index", str(pictures), "--encoder", "imagenet-words")
    assert "0 new, 0 changed, 0 gone, 4 as before" in result.output, "the same by its name"


@pytest.mark.process
def test_it_is_served(small, pictures):
    icr("index", str(pictures))
    album = Album(pictures)
    with server(album.index(album.encoder())) as running:
        thread = threading.Thread(target=running.serve_forever, daemon=True)
        thread.start()
        with urllib.request.urlopen(f"http://127.0.0.1:{running.server_address[1]}/?q=blue+things") as answer:
            text = answer.read().decode()
        running.shutdown()
        thread.join()
    assert "model: imagenet-words" in text and text.index("blue.png") < text.index("red.png")


def test_pictures_go_through_the_network_together(small, pictures):
    ImageNetWords().pictures(sorted(pictures.iterdir()))
    assert small.batches == [3]


def test_an_album_goes_on_with_what_made_it(small, pictures):
    own = "tests.search.test_album:Colours"
    icr("index", str(pictures), "--encoder", own)
    result = icr("index", str(pictures))
    assert result.exit_code == 1 and "made with tests.search.test_album:Colours" in result.output, result.output
    assert icr("index", str(pictures), "--encoder", "imagenet-words").exit_code == 0
    Image.new("RGB", (9, 9)).save(pictures / "new.png")
    assert "1 new" in icr("index", str(pictures)).output
    result = icr("search", "red", "--index", str(pictures), "--encoder", own)
    assert result.exit_code == 1 and "index the pictures again" in " ".join(result.output.split())


def test_vectors_made_elsewhere_leave_nothing_of_it(small, pictures):
    """The album is not taken for this encoder's any more: neither searched with it nor left as it is."""
    icr("index", str(pictures))
    names = Album(pictures).names()
    Album(pictures).take(Colours().encode_images([Image.open(pictures / name) for name in names]), names, "v.npy")
    with pytest.raises(ValueError, match="made with v.npy, which is not of this library"):
        Album(pictures).encoder()
    assert Album(pictures).update(ImageNetWords(), progress=False).new == 3


def test_another_sentence_encoder_is_refused(small, pictures, monkeypatch):
    icr("index", str(pictures))
    monkeypatch.setattr(Names, "identity", "d" * 64)
    result = icr("search", "red", "--index", str(pictures))
    assert result.exit_code == 1 and "queries would not fit" in " ".join(result.output.split()), result.output


def test_a_strangers_album_names_registered_encoders_only(small, pictures):
    icr("index", str(pictures))
    for named, what in (("os:system", "Code is never imported"), ("other", "unknown encoder 'other'")):
        with sqlite3.connect(pictures / ".icr" / "album.sqlite") as base:
            base.execute("update about set value = ? where name = 'encoder'", (named,))
        result = icr("search", "red", "--index", str(pictures))
        assert result.exit_code == 1 and what in " ".join(result.output.split()), result.output


@pytest.mark.parametrize("given", [("--features", "f"), ("--backbone", "scenes"), ("--teacher", "sbert")])
def test_what_is_about_a_model_wants_one(small, pictures, given):
    result = icr("index", str(pictures), *given)
    assert result.exit_code == 2 and "about a model; add --model" in " ".join(result.output.split()), result.output
    assert not (pictures / ".icr").exists()


@pytest.mark.slow
def test_the_real_one_reads_and_sees(tmp_path):
    """A query is nearest to the classes that it names, and a picture's vector is of the same space."""
    made, names = ImageNetWords(), class_names()
    made.ready()
    for query, wanted in (("a cat on a sofa", "cat"), ("a sailing boat on the water", "boat"), ("a pizza", "pizza")):
        best = (made.classes @ made.texts([query])[0]).topk(3).indices.tolist()
        assert any(wanted in name for row in best for name in names[row]), [names[row] for row in best]
    Image.new("RGB", (50, 40), (200, 30, 30)).save(tmp_path / "red.png")
    found = made.pictures([tmp_path / "red.png"])
    assert found.shape == (1, 384) and np.linalg.norm(found) == pytest.approx(1, abs=1e-5)

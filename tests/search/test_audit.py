"""An audit of any encoder: the recalls of `evaluate`."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import icrlib
from icrlib.data import karpathy
from icrlib.data.pictures import open_picture
from icrlib.search.album import of_model
from icrlib.search.audit import audit
from icrlib.search.encoders import Own
from tests.search.test_album import MINE
from tests.test_cli import icr


@pytest.fixture
def photos(trained):
    return karpathy.read(trained / "photos")["test"]


class Knows:
    """Vectors that it was given: a picture is known by its mean, a text by itself."""

    def __init__(self, photos, angle=0.0):
        self.vectors, self.angle = np.eye(16)[: len(photos)], angle
        self.of_text = {text: row for row, texts in enumerate(photos.captions) for text in texts}
        self.of_mean = {np.asarray(open_picture(file)).mean(): row for row, file in enumerate(photos.files)}

    def encode_images(self, pictures):
        return self.vectors[[self.of_mean[np.asarray(picture).mean()] for picture in pictures]]

    def encode_captions(self, texts):
        rows = np.array([self.of_text[text] for text in texts])
        return self.vectors[rows] + self.angle * self.vectors[(rows + 1) % len(self.vectors)]


def measured(photos, knows, **options):
    return audit(Own(knows, "knows"), photos, progress=False, **options)


def test_the_recalls_are_those_of_evaluate(trained, photos):
    encoder = of_model(trained / "run", "run", "scenes")
    data = icrlib.load_dataset("flickr8k", features=trained / "features", min_count=1)
    result = audit(encoder, photos, progress=False)
    assert result.measures == icrlib.evaluate(encoder.model, data.test)
    table = result.recalls()
    assert table.loc["captions of a photo", "R@5"] == result.measures["i2t"]["r5"]
    assert table.loc["the photo of a caption", "median rank"] == result.measures["t2i"]["median_rank"]


def test_photos_that_cannot_be_audited(photos):
    bare = dataclasses.replace(photos, captions=[photos.captions[0], *[[]] * (len(photos) - 1)])
    with pytest.raises(ValueError, match="1 photos with captions"):
        measured(bare, Knows(photos))


def test_photos_without_captions_are_distractors(photos):
    """The encoder likes the next photo better than a caption's own, also where that one has no caption."""
    bare = dataclasses.replace(photos, captions=[*photos.captions[:-1], []])
    measures = measured(bare, Knows(photos, 3.0)).measures
    empty = dataclasses.replace(photos, captions=[*photos.captions[:-1], [" "]])  # as icr features drops it
    assert measured(empty, Knows(photos, 3.0)).measures == measures
    assert measures["t2i"]["r1"] == 0 and measures["i2t"]["r1"] > 0


def test_equal_texts_count_as_right(photos):
    """Every second photo has the caption of the one before; the encoder knows the later photo of two."""
    same = dataclasses.replace(photos, captions=[[photos.captions[row - row % 2][0]] for row in range(len(photos))])
    both = [measured(same, Knows(same), relevance=kind) for kind in ("own", "text")]
    assert [one.measures["t2i"]["r1"] for one in both] == [50, 100]


def test_the_command(trained):
    output = icr("audit", trained / "photos", "--model", trained / "run", "--features", trained / "features").output
    assert "12 photos of the split 'test', 24 captions" in output and "median rank" in output, output
    output = icr("audit", trained / "photos", "--encoder", MINE, "--split", "val").output
    assert f"{MINE}: 6 photos of the split 'val'" in output, output

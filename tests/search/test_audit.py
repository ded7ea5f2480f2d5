"""An audit of any encoder: the recalls of `evaluate`, and counts that a loop confirms."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

import icrlib
from icrlib.data import karpathy
from icrlib.data.pictures import open_picture
from icrlib.losses import by_name
from icrlib.search.album import of_model
from icrlib.search.audit import LOSSES, audit
from icrlib.search.encoders import Own
from tests.search.test_album import MINE
from tests.test_cli import icr


@pytest.fixture
def photos(trained):
    return karpathy.read(trained / "photos")["test"]


class Knows:
    """Vectors that it was given: a picture is known by its mean, a text by itself."""

    def __init__(self, photos, angle=0.0, noise=0.0):
        rng, self.noise, self.angle = np.random.default_rng(0), noise, angle
        self.vectors = np.linalg.qr(rng.normal(size=(16, 16)))[0][: len(photos)]
        self.of_text = {text: row for row, texts in enumerate(photos.captions) for text in texts}
        self.of_mean = {np.asarray(open_picture(file)).mean(): row for row, file in enumerate(photos.files)}

    def encode_images(self, pictures):
        return self.vectors[[self.of_mean[np.asarray(picture).mean()] for picture in pictures]]

    def encode_captions(self, texts):
        rows = np.array([self.of_text[text] for text in texts])
        noise = self.noise * np.random.default_rng(1).normal(size=(len(texts), 16))
        return noise + self.vectors[rows] + self.angle * self.vectors[(rows + 1) % len(self.vectors)]


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


def test_what_is_left_is_what_a_loop_counts(trained, photos):
    """Batches, weights and thresholds written out; all captions of a photo are right; the last batch is smaller."""
    encoder = Own(Knows(photos, noise=0.4))  # right about most, so that some queries have no gradient
    left = audit(encoder, photos, batch_size=9, seed=3, progress=False).left
    test = icrlib.load_dataset("flickr8k", features=trained / "features", min_count=1).test
    images, captions = encoder.finish(encoder.pictures(photos.files)), encoder.texts(test.captions)
    assert 0 < left.loc["Triplet", "captions without a gradient, %"] < 100
    sampler = icrlib.sampling.Sampler(test, 3, 9, positives="image")
    assert len(sampler[sampler.per_epoch - 1].images) < 9
    for loss in map(by_name, LOSSES):
        none, several, queries = [0, 0], [0.0, 0.0], [0, 0]
        for k in range(sampler.per_epoch):
            batch = sampler[k]
            scores = images[batch.images] @ captions[batch.captions].T
            for side, (s, right) in enumerate(((scores, batch.positives), (scores.T, batch.positives.T))):
                weights = loss.weights(s, right).abs()
                none[side] += int(((weights > 0.01).sum(1) == 0).sum())
                queries[side] += len(s)
                wrong = torch.where(right, 0, weights)
                n_eff = [float(row.sum() ** 2 / (row**2).sum()) for row in wrong.double() if (row != 0).any()]
                several[side] += len(s) * (np.mean(n_eff) if n_eff else 0)
        row = left.loc[loss.label]
        for side, what in enumerate(("photos", "captions")):
            assert row[f"{what} without a gradient, %"] == pytest.approx(100 * none[side] / queries[side])
            assert row[f"effective negatives of {what}"] == pytest.approx(several[side] / queries[side], rel=1e-4)


def test_photos_that_cannot_be_audited(photos):
    bare = dataclasses.replace(photos, captions=[photos.captions[0], *[[]] * (len(photos) - 1)])
    with pytest.raises(ValueError, match="1 photos with captions"):
        measured(bare, Knows(photos))


def test_photos_without_captions_are_distractors(photos):
    """The encoder likes the next photo better than a caption's own, also where that one has no caption."""
    bare = dataclasses.replace(photos, captions=[*photos.captions[:-1], []])
    measures = measured(bare, Knows(photos, 3.0)).measures
    assert measures["t2i"]["r1"] == 0 and measures["i2t"]["r1"] > 0


def test_equal_texts_count_as_right_in_both_tables(photos):
    """Every second photo has the caption of the one before; the encoder knows the later photo of two."""
    same = dataclasses.replace(photos, captions=[[photos.captions[row - row % 2][0]] for row in range(len(photos))])
    both = [measured(same, Knows(same), relevance=kind) for kind in ("own", "text")]
    assert [one.measures["t2i"]["r1"] for one in both] == [50, 100]
    # The farther of two right photos is always pulled.
    assert [one.left.loc["Triplet", "captions without a gradient, %"] for one in both] == [50, 0]


def test_the_command(trained):
    output = icr("audit", trained / "photos", "--model", trained / "run", "--features", trained / "features").output
    assert "12 photos of the split 'test', 24 captions" in output and "without a gradient" in output, output
    assert all(by_name(name).label in output for name in LOSSES)
    output = icr("audit", trained / "photos", "--encoder", MINE, "--split", "val").output
    assert f"{MINE}: 6 photos of the split 'val'" in output, output

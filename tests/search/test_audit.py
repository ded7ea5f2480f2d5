"""An audit of any encoder: the recalls of `evaluate`, and counts that a loop confirms."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

import icrlib
from icrlib.data import features, karpathy
from icrlib.losses import by_name
from icrlib.search.album import of_model
from icrlib.search.audit import LOSSES, audit
from icrlib.search.encoders import Own
from tests.data.photos import make
from tests.test_cli import icr


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    make(folder / "photos", train=24, val=8, test=12)
    features.extract(folder / "photos", folder / "features", backbone="scenes", progress=False)
    data = icrlib.load_dataset("flickr8k", features=folder / "features", min_count=1)
    small = {"updates": 4, "batch_size": 8, "embed_dim": 8, "progress": False}
    return folder, data, icrlib.train(data, "bow", out=folder / "run", **small)


@pytest.fixture
def photos(trained):
    return karpathy.read(trained[0] / "photos")["test"]


class Knows:
    """Vectors that it was given: a picture is told by its mean, a text by itself."""

    def __init__(self, photos, angle, noise=0.0):
        rng, self.noise = np.random.default_rng(0), noise
        self.vectors = np.linalg.qr(rng.normal(size=(16, 16)))[0][: len(photos)]
        self.of_text = {text: (row, k) for row, some in enumerate(photos.captions) for k, text in enumerate(some)}
        self.means, self.angle = {}, angle
        for row, file in enumerate(photos.files):
            self.means[self._mean(features.open_picture(file))] = row

    @staticmethod
    def _mean(picture):
        return round(float(np.asarray(picture, float).mean()), 6)

    def encode_images(self, pictures):
        return self.vectors[[self.means[self._mean(picture)] for picture in pictures]]

    def encode_captions(self, texts):
        rows = [self.of_text[text][0] for text in texts]
        lost = self.noise * np.random.default_rng(1).normal(size=(len(texts), 16))
        return lost + self.vectors[rows] + self.angle * self.vectors[[(row + 1) % len(self.vectors) for row in rows]]


def test_the_recalls_are_those_of_evaluate(trained, photos):
    folder, data, run = trained
    found = audit(of_model(folder / "run", "run", "scenes"), photos, progress=False)
    assert found.measures == icrlib.evaluate(run.model, data.test)
    assert (found.photos, found.captions) == (len(data.test), len(data.test.captions))
    table = found.recalls()
    assert table.loc["captions of a photo", "R@5"] == found.measures["i2t"]["r5"]
    assert table.loc["the photo of a caption", "median rank"] == found.measures["t2i"]["median_rank"]


@pytest.mark.parametrize("kind", ["trained", "own"])
def test_what_is_left_is_what_a_loop_counts(trained, photos, kind):
    """Batches, weights and thresholds written out; all captions of a photo are right; the last batch is smaller."""
    folder, data, run = trained
    own = Own(Knows(photos, 0.0, noise=0.4), "knows")  # right about most, so that some queries have no gradient
    encoder = own if kind == "own" else of_model(folder / "run", "run", "scenes")
    left = audit(encoder, photos, batch_size=9, seed=3, progress=False).left
    images, captions = icrlib.evaluation.embed(run.model, data.test)
    if kind == "own":
        images, captions = own.finish(own.pictures(photos.files)), own.texts(data.test.captions)
        assert 0 < left.loc["Triplet", "captions without a gradient, %"] < 100
    sampler = icrlib.sampling.Sampler(data.test, 3, 9, positives="image")
    assert len(sampler[sampler.per_epoch - 1].images) < 9
    for name in LOSSES:
        loss, none, several, queries = by_name(name), [0, 0], [0.0, 0.0], [0, 0]
        for k in range(sampler.per_epoch):
            batch = sampler[k]
            scores = images[batch.images] @ captions[batch.captions].T
            for side, (s, own) in enumerate(((scores, batch.positives), (scores.T, batch.positives.T))):
                w = loss.weights(s, own).abs()
                none[side] += int(((w > 0.01).sum(1) == 0).sum())
                queries[side] += len(s)
                wrong = torch.where(own, 0, w)
                n_eff = [float(row.sum() ** 2 / (row**2).sum()) for row in wrong.double() if (row != 0).any()]
                several[side] += len(s) * (np.mean(n_eff) if n_eff else 0)
        row = left.loc[loss.label]
        for side, what in enumerate(("photos", "captions")):
            assert row[f"{what} without a gradient, %"] == pytest.approx(100 * none[side] / queries[side])
            assert row[f"effective negatives of {what}"] == pytest.approx(several[side] / queries[side], rel=1e-4)


@pytest.mark.parametrize(("angle", "share"), [(0.0, 100.0), (3.0, 0.0)])
def test_an_encoder_that_is_right_leaves_triplet_nothing(photos, angle, share):
    """Cosines of 1 and 0, or of a wrong photo three times as near: every query has no gradient, or each has one."""
    found = audit(Own(Knows(photos, angle), "knows"), photos, progress=False)
    assert found.left.loc["Triplet", "captions without a gradient, %"] == share
    assert (found.measures["t2i"]["r1"] == 100.0) == (angle == 0) and len(found.left) == len(LOSSES)


def test_photos_that_cannot_be_audited(photos):
    encoder = Own(Knows(photos, 0.0), "knows")
    bare = dataclasses.replace(photos, captions=[*photos.captions[:-1], []])
    with pytest.raises(ValueError, match=f"{photos.files[-1].name} has no caption"):
        audit(encoder, bare, progress=False)
    with pytest.raises(ValueError, match="1 photos; an audit needs two or more"):
        audit(encoder, karpathy.Photos(photos.files[:1], photos.ids[:1], photos.captions[:1]), progress=False)


def test_the_command(trained):
    folder, _, run = trained
    said = icr("audit", str(folder / "photos"), "--model", str(folder / "run"), "--features", str(folder / "features"))
    assert said.exit_code == 0, said.output
    assert f"rsum {run.record['test']['rsum']:.1f}" in said.output and "12 photos of the split 'test'" in said.output
    assert all(by_name(name).label in said.output for name in LOSSES) and "without a gradient" in said.output
    said = icr("audit", str(folder / "photos"), "--encoder", "tests.search.test_album:Colours", "--split", "val")
    assert said.exit_code == 0 and "tests.search.test_album:Colours: 8 photos of the split 'val'" in said.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "say what is measured"),
        (["--model", "m", "--encoder", "a:b"], "say what is measured"),
        (["--encoder", "math:pi"], "has no encode_captions"),
        (["--model", "nowhere"], "no model.json here"),
        (["--encoder", "tests.search.test_album:Colours", "--batch-size", "1"], "batch_size must be at least 2"),
    ],
)
def test_what_the_command_refuses(trained, words, message):
    said = icr("audit", str(trained[0] / "photos"), *words)
    assert said.exit_code in (1, 2) and message in said.output, said.output

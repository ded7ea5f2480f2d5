"""Training on pictures: crops, the network inside the model, its batch norm, fine-tuning, and a run that is killed."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from scipy.stats import ks_2samp
from torch import nn

import icrlib
from icrlib import sampling, training
from icrlib.data import backbones, features, karpathy, pictures
from icrlib.data.backbones import Backbone
from icrlib.data.scenes.backbone import load_backbone

from .photos import edit

SIZES = {"batch_size": 8, "embed_dim": 8, "word_dim": 8, "progress": False}


def network() -> Backbone:
    """A small network with batch norm, as a reader would bring it along."""
    torch.manual_seed(3)
    layers = nn.Sequential(nn.Conv2d(3, 6, 3, 2), nn.BatchNorm2d(6), nn.ReLU(), nn.Dropout(0.5))
    plain = (0.5,) * 3, (0.25,) * 3
    return Backbone("own", layers, pictures.squeezed(16, *plain, squash=True), pictures.random_crop(16, *plain))


@pytest.fixture
def data(pristine, readers_own):
    return icrlib.load_dataset("flickr8k", root=pristine, images="published", backbone=readers_own, min_count=1)


def batches(split, count, start=0):
    feeding = sampling.feed(split, sampling.Sampler(split, 0, 8), start)
    return [next(feeding) for _ in range(count)]


# Crops


def test_windows_have_torchvisions_distribution():
    """Area, shape and place of 3,000 crops against ``RandomResizedCrop``: two-sample Kolmogorov-Smirnov distances."""
    transforms = backbones.import_torchvision().transforms
    dice, picture = np.random.default_rng(0), Image.new("RGB", (160, 120))
    torch.manual_seed(0)
    ours = np.array([pictures.window(160, 120, dice) for _ in range(3000)], dtype=float)
    theirs = np.array(
        [transforms.RandomResizedCrop.get_params(picture, (0.08, 1.0), (3 / 4, 4 / 3)) for _ in range(3000)],
        dtype=float,
    )[:, [1, 0, 3, 2]]
    for read in (lambda w: w[:, 2] * w[:, 3], lambda w: w[:, 2] / w[:, 3], lambda w: w[:, 0], lambda w: w[:, 1]):
        assert ks_2samp(read(ours), read(theirs)).pvalue > 0.01  # the draws are fixed
    # After ten tries: 4:3 at most, centred.
    assert [pictures.window(*size, dice) for size in ((1000, 3), (3, 1000))] == [(498, 0, 4, 3), (0, 498, 3, 4)]


def test_a_crop_is_torchvisions_resized_crop(pristine):
    functional = backbones.import_torchvision().transforms.functional
    picture = pictures.open_picture(pristine / "images" / "train0.jpg")
    crop = pictures.random_crop(24, (0.4, 0.5, 0.6), (0.2, 0.3, 0.4))
    mirrored = 0
    for seed in range(8):
        dice = np.random.default_rng(seed)
        left, top, width, height = pictures.window(*picture.size, dice)
        expected = functional.resized_crop(picture, top, left, height, width, [24, 24], antialias=True)
        if dice.random() < 0.5:
            expected, mirrored = functional.hflip(expected), mirrored + 1
        expected = functional.normalize(functional.to_tensor(expected), (0.4, 0.5, 0.6), (0.2, 0.3, 0.4))
        torch.testing.assert_close(crop(picture, np.random.default_rng(seed)), expected)
    assert 0 < mirrored < 8


def test_crops_are_fresh_and_repeatable(data):
    first, again = batches(data.train, 4), batches(data.train, 1, start=2)
    assert first[0][1].shape == (8, 3, 16, 16)
    # A run that goes on sees what it would have seen.
    assert torch.equal(first[2][1], again[0][1]) and torch.equal(first[2][0].captions, again[0][0].captions)
    # An image that comes twice in a batch has two crops, others in the next batch, and others with another seed.
    twice = torch.zeros(2, dtype=torch.int64)
    crops = [crop for seed in (0, 1) for crop in data.train.features.stream([(0, twice), (1, twice)], seed)]
    assert len(torch.cat(crops).flatten(1).unique(dim=0)) == 8


def test_evaluation_sees_whole_pictures_in_order(data, pristine, monkeypatch):
    monkeypatch.setattr(icrlib.data.photos, "AT_ONCE", 4)
    shown = list(data.test.features.split(512))
    assert [len(part) for part in shown] == [4, 2] and len(data.test.features) == 6
    prepare = network().prepare
    for row, picture in enumerate(torch.cat(shown)):
        torch.testing.assert_close(picture, prepare(pictures.open_picture(pristine / "images" / f"test{row}.jpg")))


# The dataset


def test_splits_and_options(data, pristine, readers_own):
    assert data.val.captions == [text for texts in karpathy.read(pristine)["val"].captions for text in texts]
    assert data.val.image_of.tolist() == [row for row in range(6) for _ in range(2)]
    assert data.options["images"] == "published" and data.options["backbone"] == readers_own
    other = icrlib.load_dataset("flickr8k", root=pristine, images="published", backbone="scenes", min_count=1)
    assert other.fingerprint != data.fingerprint and other.train.features.shape == (12, 256)


def test_fewer_training_photos(data, pristine, readers_own):
    """The same as those of a folder of features; what is drawn belongs to what the data is."""
    few = {"root": pristine, "min_count": 1, "train": 5}
    some = icrlib.load_dataset("flickr8k", images="published", backbone=readers_own, **few)
    cached = icrlib.load_dataset("flickr8k", backbone="scenes", **few)
    assert cached.train.captions == some.train.captions and len(some.train) == 5 and len(some.val) == 6
    assert [file.name for file in some.train.features.files] == [f"train{row}.jpg" for row in some.train.image_ids]
    assert some.fingerprint != data.fingerprint


def test_what_is_refused(pristine, tmp_path, readers_own):
    pictures_of = {"images": "published", "backbone": readers_own}
    for options, word in (({"images": "publised"}, "published"), ({"features": tmp_path} | pictures_of, "features=")):
        with pytest.raises(ValueError, match=word):
            icrlib.load_dataset("flickr8k", root=pristine, **options)
    root = Path(shutil.copytree(pristine, tmp_path / "photos"))
    edit(root, lambda images: images[0].update(sentences=[{"raw": " "}]))
    with pytest.raises(ValueError, match=r"train0\.jpg: no caption"):
        icrlib.load_dataset("flickr8k", root=root, **pictures_of)
    without = Backbone("scenes", nn.Identity(), None)
    with pytest.raises(ValueError, match="scenes.*crop="):
        icrlib.data.photos.Pictures([], without)


def test_cached_features_are_computed_once(pristine, tmp_path, monkeypatch):
    monkeypatch.setenv("ICRLIB_CACHE", str(tmp_path / "cache"))
    root = Path(shutil.copytree(pristine, tmp_path / "photos"))

    def load(**options):
        return icrlib.load_dataset("flickr8k", root=root, backbone="scenes", min_count=1, **options)

    data = load()
    kept = list((tmp_path / "cache" / "features").iterdir())
    assert len(kept) == 1 and data.train.features.shape == (12, 256)
    with monkeypatch.context() as patch:
        patch.setattr(features.backbones, "load", None)  # from here on nothing may be computed
        assert load().fingerprint == data.fingerprint
    edit(root, lambda images: images[0]["sentences"].append({"raw": "one more"}))
    assert len(load().train.captions) == 25 and list((tmp_path / "cache" / "features").iterdir()) == kept
    assert len(load(features=tmp_path / "mine").train.captions) == 25 and (tmp_path / "mine" / "train_ims.npy").exists()


# The network inside the model


def statistics(model):
    return torch.cat([model.backbone[1].running_mean, model.backbone[1].running_var])


def test_a_published_network_is_not_frozen(data):
    """Its weights stay, its statistics move; with batch_norm="eval" nothing does. Its dropout is never on."""
    before = network().network
    for mode, moves in (("train", True), ("eval", False)):
        run = icrlib.train(data, updates=3, batch_norm=mode, **SIZES)
        now = run.model.backbone
        assert torch.equal(now[0].weight, before[0].weight) and torch.equal(now[1].weight, before[1].weight)
        stored = torch.cat([before[1].running_mean, before[1].running_var])
        assert torch.equal(statistics(run.model), stored) != moves
        assert run.record["config"]["backbone"] == data.options["backbone"]
        assert run.record["config"]["batch_norm"] == mode and not run.model.train().backbone[3].training


def test_batch_norm_is_put_back_without_a_trace():
    """In evaluation the same function; in training another, for the batch's statistics are not the stored ones."""
    drawn = torch.randint(0, 256, (12, 64, 64, 3), generator=torch.Generator().manual_seed(0)).to(torch.uint8)
    plain = load_backbone()
    made = backbones.with_batch_norm(plain, drawn[:8])
    with torch.no_grad():
        torch.testing.assert_close(made(drawn), plain(drawn), rtol=1e-3, atol=1e-3)
        assert (made.train()(drawn[8:]) - plain(drawn[8:])).abs().max() > 0.01


def test_fine_tuning_begins_when_it_should(data, monkeypatch):
    seen = []
    original = training.optim.set_rates

    def spy(optimiser, update, config):
        lr = original(optimiser, update, config)
        network = optimiser.param_groups[1]["params"][0]  # the second group is the network's
        seen.append((network.detach().clone(), [group["lr"] for group in optimiser.param_groups]))
        return lr

    monkeypatch.setattr(training.optim, "set_rates", spy)
    run = icrlib.train(data, updates=5, finetune_after=3, lr=1e-2, **SIZES)
    weights, rates = zip(*seen, strict=True)
    assert all(torch.equal(weights[0], w) for w in weights[:4]) and not torch.equal(weights[0], weights[4])
    assert rates[0] == pytest.approx([1e-2, 1e-3]) and rates[4] == pytest.approx([1e-3, 1e-4])  # dropped halfway
    assert run.record["history"][0]["lr"] == pytest.approx(1e-2) and run.record["config"]["finetune_after"] == 3


def test_a_saved_model_is_read_again_with_its_statistics(data, tmp_path):
    run = icrlib.train(data, updates=3, finetune_after=1, out=tmp_path / "run", **SIZES)
    with pytest.raises(ValueError, match="names the backbone .*hand it over"):
        icrlib.load_model(tmp_path / "run")
    again = icrlib.load_model(tmp_path / "run", backbone=data.options["backbone"])
    assert torch.equal(statistics(again), statistics(run.model))
    assert icrlib.evaluate(again, data.test) == icrlib.evaluate(run.model, data.test)


def test_a_killed_run_goes_on_as_if_it_had_not_been(data, tmp_path, monkeypatch):
    options = SIZES | {"updates": 6, "evaluate_every": 2, "finetune_after": 3, "accumulate": 2}
    whole = icrlib.train(data, **options)
    calls, original = [], training.loop.look

    def dies(*given):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return original(*given)

    monkeypatch.setattr(training.loop, "look", dies)
    with pytest.raises(KeyboardInterrupt):
        icrlib.train(data, out=tmp_path / "run", **options)
    resumed = icrlib.train(data, out=tmp_path / "run", **options)
    assert resumed.record["history"] == whole.record["history"] and resumed.record["test"] == whole.record["test"]
    assert all(
        torch.equal(a, b)
        for a, b in zip(resumed.model.state_dict().values(), whole.model.state_dict().values(), strict=True)
    )

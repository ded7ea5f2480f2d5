"""Loading ``scenes``: sizes, seeds, cache, features, fingerprint; and what trained models must show for it to teach
what it is meant to."""

import hashlib
import json
import logging
from dataclasses import replace

import numpy as np
import pytest
import torch
from click.testing import CliRunner

import icrlib
import make_backbone
from icrlib.data import augment
from icrlib.data.backbones import with_batch_norm
from icrlib.data.scenes import backbone, generate, graph, load
from icrlib.experiments import named, runs
from icrlib.files import sha256_of

SMALL = {"train": 40, "val": 10, "test": 20, "progress": False}


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ICRLIB_CACHE", str(tmp_path / "cache"))


def cached(tmp_path):
    return sorted((tmp_path / "cache" / "scenes").glob("*"))


def same(a, b) -> bool:
    """The fingerprint covers pictures, captions, forms and pairs."""
    return a.fingerprint == b.fingerprint and all(
        torch.equal(x.features, y.features) and x.graphs == y.graphs and torch.equal(x.twin_of, y.twin_of)
        for x, y in ((a.train, b.train), (a.val, b.val), (a.test, b.test))
    )


def test_what_a_split_holds():
    data = icrlib.load_dataset("scenes", **SMALL)
    assert data.name == "scenes" and data.options["regions"] is False and data.options["seed"] == 0
    for name, size in (("train", 40), ("val", 10), ("test", 20)):
        split = getattr(data, name)
        assert split.name == name and len(split) == size and len(split.captions) == len(split.forms) == 5 * size
        assert split.features.shape == (size, 256) and split.images.shape == (size, 64, 64, 3)
        assert split.image_of.tolist() == [row // 5 for row in range(5 * size)]
        assert (split.relevance | ~split.positives.T).all(), "own captions are true"


def test_same_seed_same_data_with_and_without_the_cache(tmp_path, monkeypatch):
    written, cached = load(**SMALL), load(**SMALL)
    monkeypatch.setenv("ICRLIB_CACHE", str(tmp_path / "other"))
    assert same(written, cached) and same(written, load(**SMALL)) and not same(written, load(seed=1, **SMALL))


@pytest.mark.parametrize(
    ("name", "options", "start"),
    [
        ("scenes", {"phrasing": "apart"}, "8fde7ffe"),
        ("scenes", {"phrasing": "label"}, "2011fa30"),
        ("rendered", {}, "a1e0960c"),
        ("stamps", {"bits": 4}, "b83bf482"),
    ],
)
def test_data_of_records_are_drawn_as_they_were(name, options, start):
    data = icrlib.load_dataset(name, seed=3, train=160, val=40, test=80, progress=False, **options)
    assert data.fingerprint[:8] == start
    if options.get("phrasing") == "apart":
        for phrasing, foils in (("apart", "0a92e216"), ("plain", "0e1c4b86")):
            train = replace(data.train, phrasing=phrasing)
            texts = train.foils(torch.arange(0, 800, 3), augment.dice(0, 1, augment.FOILS))
            assert hashlib.sha256(repr(texts).encode()).hexdigest()[:8] == foils


def test_sizes_of_one_split_do_not_change_another_and_splits_differ():
    small, large = load(**SMALL), load(**{**SMALL, "train": 60})
    assert small.test.captions == large.test.captions and (small.val.images == large.val.images).all()
    contents = [{scene.content for scene in split.graphs} for split in (small.train, small.val, small.test)]
    assert not contents[0] & contents[1] and not contents[0] & contents[2] and not contents[1] & contents[2]


@pytest.mark.parametrize("damage", ["cut", "flip"])
def test_a_damaged_cache_is_named_and_drawn_anew(tmp_path, caplog, damage):
    first = load(**SMALL)
    (path,) = cached(tmp_path)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content if damage == "flip" else content[: len(content) // 2])
    with caplog.at_level(logging.WARNING):
        second = load(**SMALL)
    assert path.name in caplog.text and "made again" in caplog.text
    assert same(first, second)
    caplog.clear()
    assert same(first, load(**SMALL)) and not caplog.text, "the cache is whole again"


def test_other_code_or_options_are_another_cache_entry(tmp_path, monkeypatch):
    for options in ({}, {"regions": True}, {"seed": 3}):
        load(**SMALL, **options)
    monkeypatch.setattr(generate, "sha256_of", lambda *parts: sha256_of(*parts, b"changed"))
    load(**SMALL)
    assert len(cached(tmp_path)) == 4


def test_the_fingerprint_covers_everything_but_the_features():
    data = load(**SMALL)
    split = data.val
    changes = {"images": split.images ^ np.uint8(1), "captions": ["a ring", *split.captions[1:]]}
    changes |= {"forms": split.forms[::-1], "image_of": split.image_of.flip(0), "features": split.features + 1}
    for name, change in changes.items():
        other = generate.fingerprint([data.train, replace(split, **{name: change}), data.test])
        assert (other == data.fingerprint) == (name == "features"), name


# -- backbone and regions ----------------------------------------------------------------------------------------


def test_mean_under_a_box_equals_the_mean_over_its_pixels():
    """Slow twin: blow the map up to pixels and take the plain mean under the box."""
    generator = torch.Generator().manual_seed(0)
    maps = torch.rand(7, 8, 8, generator=generator)
    pixels = maps.repeat_interleave(8, 1).repeat_interleave(8, 2)
    boxes = torch.tensor([[0, 0, 64, 64], [3, 5, 4, 6], [10, 20, 33, 22], [8, 16, 24, 40]])
    weights = backbone.box_weights(boxes)
    assert torch.allclose(weights.sum((1, 2)), torch.ones(4))
    for (x0, y0, x1, y1), weight in zip(boxes.tolist(), weights, strict=True):
        assert torch.allclose((maps * weight).sum((1, 2)), pixels[:, y0:y1, x0:x1].mean((1, 2)), atol=1e-6)


def test_pooled_is_the_mean_of_the_map_and_regions_are_means_under_boxes():
    pooled, regions = load(**SMALL).test, load(**{**SMALL, "regions": True}).test
    assert regions.features.shape == (20, 8, 261) and (pooled.images == regions.images).all()
    maps = backbone.load_backbone()(torch.from_numpy(pooled.images))
    assert torch.allclose(maps.flatten(2).mean(2), pooled.features, atol=1e-5)
    weights = backbone.box_weights(torch.from_numpy(regions.boxes))
    for row, box in ((0, 0), (7, 3), (19, 7)):
        mean = (maps[row] * weights[row, box]).sum((1, 2))
        assert torch.allclose(regions.features[row, box, :256], mean, atol=1e-4)
        x0, y0, x1, y1, area = regions.features[row, box, 256:].mul(64).tolist()
        assert [x0, y0, x1, y1] == regions.boxes[row, box].tolist() and area == (x1 - x0) * (y1 - y0) / 64


def test_folding_batch_norm_keeps_the_function():
    pictures = torch.randint(0, 256, (3, 64, 64, 3), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    plain = backbone.load_backbone()
    folded = make_backbone.folded(with_batch_norm(plain, pictures))
    assert torch.allclose(folded(pictures), plain(pictures), atol=1e-4)


def test_committed_weights_are_those_of_the_report():
    report = json.loads(backbone.WEIGHTS.with_suffix(".json").read_text())
    assert report["sha256"] == sha256_of(backbone.WEIGHTS) and report["scenes"] == 16_000
    assert all(share >= 0.98 for share in report["region"].values()), "a linear probe names every attribute of a region"
    assert backbone.WEIGHTS.stat().st_size < 1_000_000


@pytest.mark.slow
def test_the_script_makes_weights_that_load(tmp_path):
    """The script that made the committed weights, on a few scenes."""
    out = tmp_path / "weights.safetensors"
    done = CliRunner().invoke(
        make_backbone.main, ["--scenes", "256", "--epochs", "1", "--threads", "1", "--unseen", "250", "--out", str(out)]
    )
    assert done.exit_code == 0, done.output
    assert backbone.load_backbone(out)(torch.zeros(1, 64, 64, 3, dtype=torch.uint8)).shape == (1, 256, 8, 8)
    report = json.loads(out.with_suffix(".json").read_text())
    assert set(report["region"]) == set(graph.VALUES) and report["sha256"] == sha256_of(out)


# -- trained models ----------------------------------------------------------------------------------------------


def test_default_runs_are_neither_trivial_nor_hopeless():
    losses = ["triplet", "triplet_sh", "ntxent", "smoothap"]
    for record in runs("scenes", method=["bow", "vse++"], loss=losses, seed=range(10), updates=3000):
        assert 15 <= record["test"]["t2i"]["r1"] <= 55, record["path"]


def test_defaults_are_what_the_search_chose():
    """The best candidate with the published constant, for each method and loss; nobody typed in another number."""
    data = icrlib.load_dataset("scenes", smoke=True)
    chosen = {pair: best for pair, best in named.searched()["scenes"].best.items() if pair[0] != "vsrn"}
    assert len(chosen) == 8
    for (method, loss), settings in chosen.items():
        defaults = {"warmup": 0} | data.defaults_for(method, loss)
        for name in {"lr", "warmup"} & {*settings}:
            assert defaults[name] == settings[name], (method, loss)

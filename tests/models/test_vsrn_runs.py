"""VSRN from its settings to a search: on scenes, feature folders, photos; killed and resumed; its captions are text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import icrlib
from icrlib.data import precomputed
from icrlib.data.text import Vocabulary, tokenize
from icrlib.training.config import resolve
from tests.data import photos

SMALL = dict(embed_dim=8, word_dim=6, batch_size=16, progress=False)
PARTS = {"train": 12, "dev": 4, "test": 4}


@pytest.fixture(scope="module")
def scenes():
    return icrlib.load_dataset("scenes", smoke=True, regions=True, progress=False)


@pytest.fixture
def folder(tmp_path):
    """A feature folder of regions in SCAN's layout, five captions an image."""
    for seed, (part, images) in enumerate(PARTS.items()):
        regions = np.random.default_rng(seed).random((images, 3, 5), dtype=np.float32)
        np.save(tmp_path / f"{part}_ims.npy", regions.astype(np.float16))
        lines = [f"A man and dog {word} number {i} .\n" for i in range(images) for word in ("a", "b", "c", "d", "e")]
        (tmp_path / f"{part}_caps.txt").write_text("".join(lines), encoding="utf-8")
    return tmp_path


def load(folder, name="flickr30k"):
    return icrlib.load_dataset(name, features=folder, min_count=1)


def test_it_learns(scenes):
    run = icrlib.train(scenes, "vsrn", "ntxent", updates=400, evaluate_every=100, lr=1e-2, **{**SMALL, "embed_dim": 32})
    assert run.history[-1]["loss"] < 2 < np.log(16)  # what a collapse has


@pytest.mark.parametrize(
    ("data", "loss", "drops", "linear", "final"),
    [
        ("flickr30k", "ntxent", (10, 20), "none", True),
        ("flickr30k", "smoothap", (50, 100), "none", True),
        ("coco", "triplet_sh", (15,), "regions", False),
        ("coco", "smoothap", (75,), "regions", False),
        ("flickr8k", "triplet", (15,), "none", True),
    ],
)
def test_published_settings_by_data(folder, data, loss, drops, linear, final):
    """The release's job files: epochs, drops of the rate, sizes and quirks; five times the epochs over images."""
    config = resolve(load(folder, data), "vsrn", loss, given={})
    epochs = 150 if loss == "smoothap" else 30
    assert config.settings["updates"] == epochs * config.per_epoch
    assert config.drops == [drop * config.per_epoch for drop in drops]
    sizes = {"embed_dim": 2048, "word_dim": 300, "blocks": 4, "graph_norm": "regions"}
    assert config.model_options == sizes | {"linear_norm": linear, "final_norm": final}
    assert (config.lr, config.batch_size, config.grad_clip) == (2e-4, 128, 2.0)
    given = resolve(load(folder, data), "vsrn", loss, given={"final_norm": not final})
    assert given.model_options["final_norm"] is not final and given.identity() != config.identity()


def test_feature_folders(folder):
    """Half precision, read from the disk as it is used, and not held in memory; a loss over batches of images."""
    loaded = load(folder)
    assert loaded.train.features.dtype == torch.float16
    maps = Path("/proc/self/maps")
    assert not maps.exists() or str(folder / "train_ims.npy") in maps.read_text()
    run = icrlib.train(loaded, "vsrn", "smoothap", updates=2, **SMALL)
    assert np.isfinite(run.record["test"]["rsum"]) and "ranks" in run.record["test"]


def test_photos_as_grid_cells(tmp_path):
    """2 x 2 cells of a backbone's map are regions, too."""
    made = photos.extract(photos.make(tmp_path / "photos"), tmp_path / "f", regions=2)
    data = precomputed.load(made, name="flickr8k", min_count=1)
    assert data.train.features.shape == (12, 4, 256)
    assert np.isfinite(icrlib.train(data, "vsrn", updates=2, **SMALL).record["test"]["rsum"])


def test_captions_are_text_and_never_bytes(folder):
    """A port of the original to Python 3 reads lines as bytes and takes str() of them: every caption then begins with
    the same word that no caption has, here "b'a", and its last word is glued to an escaped line end."""
    data = load(folder)
    assert data.train.captions[0] == "A man and dog a number 0 ."
    assert {tokenize(caption)[0] for caption in data.train.captions} == {"a"}
    assert not {word for word in data.vocabulary.words if word.startswith(("b'", 'b"')) or "\\n" in word}
    data.train.captions[3] = data.train.captions[3].encode()
    for call in (
        lambda: data.vocabulary.encode([b"a man and dog"]),
        lambda: Vocabulary.build([b"a man and dog"], 1),
        lambda: icrlib.train(data, "vsrn", updates=2, **SMALL),
    ):
        with pytest.raises(TypeError):
            call()

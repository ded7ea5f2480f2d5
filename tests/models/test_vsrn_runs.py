"""VSRN from its settings to a search: on scenes, feature folders, photos; killed and resumed; its captions are text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import icrlib
from icrlib.training.config import resolve

SMALL = dict(embed_dim=8, word_dim=6, batch_size=16, progress=False)
PARTS = {"train": 12, "dev": 4, "test": 4}


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

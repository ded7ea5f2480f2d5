"""What VSRN and VSE∞ were published with, by data and loss; and regions that are read from the disk when used."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import icrlib
from icrlib.training.unread import configuration


def resolved(method: str, data: str, loss: str, **given) -> dict:
    return configuration(data, method, loss, given=given)[0]


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
def test_vsrn(data, loss, drops, linear, final):
    """The release's job files: epochs, drops of the rate, sizes and quirks; five times the epochs over images."""
    config = resolved("vsrn", data, loss)
    epochs = 150 if loss == "smoothap" else 30
    assert config["updates"] == epochs * config["per_epoch"]
    assert config["drops"] == [drop * config["per_epoch"] for drop in drops]
    sizes = {"embed_dim": 2048, "word_dim": 300, "blocks": 4, "graph_norm": "regions"}
    assert config["model_options"] == sizes | {"linear_norm": linear, "final_norm": final}
    assert (config["lr"], config["batch_size"], config["grad_clip"]) == (2e-4, 128, 2.0)
    assert resolved("vsrn", data, loss, final_norm=not final)["model_options"]["final_norm"] is not final


@pytest.mark.parametrize(
    ("data", "loss", "warmup"), [("flickr30k", "triplet_sh", 1132), ("coco", "triplet_sh", 4425), ("coco", "ntxent", 0)]
)
def test_vse_infty(data, loss, warmup):
    config = resolved("vse_infty", data, loss)
    names = ("lr", "weight_decay", "optimiser", "batch_size", "drop_words", "delete_words", "warmup", "grad_clip")
    assert [config[name] for name in names] == [5e-4, 1e-2, "adamw", 128, 0.1, 0.08, warmup, 2.0]
    assert config["model_options"]["drop_regions"] == 0.2 and config["model_options"]["padding"] == "released"
    assert config["updates"] == 25 * config["per_epoch"] and config["drops"] == [15 * config["per_epoch"]]


def test_feature_folders(tmp_path):
    """In SCAN's layout, and not held in memory."""
    for seed, (part, images) in enumerate({"train": 12, "dev": 4, "test": 4}.items()):
        regions = np.random.default_rng(seed).random((images, 3, 5), dtype=np.float32)
        np.save(tmp_path / f"{part}_ims.npy", regions.astype(np.float16))
        lines = [f"A man and dog {word} number {i} .\n" for i in range(images) for word in "abcde"]
        (tmp_path / f"{part}_caps.txt").write_text("".join(lines), encoding="utf-8")
    loaded = icrlib.load_dataset("flickr30k", features=tmp_path, min_count=1)
    assert loaded.train.features.dtype == torch.float16
    maps = Path("/proc/self/maps")
    assert not maps.exists() or str(tmp_path / "train_ims.npy") in maps.read_text()

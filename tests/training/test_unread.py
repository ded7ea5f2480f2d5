"""What a run would be, before its data was read: against what resolves once it is."""

from __future__ import annotations

import pytest

import icrlib
from icrlib.training import unread
from icrlib.training.config import resolve


@pytest.mark.parametrize(
    ("name", "method", "source", "given"),
    [
        ("scenes", "vse++", {}, {"epochs": 7, "lr": 0.002}),
        ("scenes", "vsrn", {"regions": True}, {"epochs": 7}),
        ("stamps", "ltd", {"bits": 3}, {"epochs": 7, "tau": 0.2}),
        ("rendered", "ltd", {}, {"updates": 20, "finetune_after": 10}),
    ],
)
def test_drawn_data_are_known_without_drawing_them(name, method, source, given):
    """The twin draws them: all of the configuration agrees but the hash, and so does the shape of the features."""
    source = {"train": 30, "val": 8, "test": 8} | source
    drawn = icrlib.load_dataset(name, seed=3, **source)
    config, data = unread.configuration(name, method, "ntxent", seed=3, source=source, given=given)
    assert config == resolve(drawn, method, "ntxent", seed=3, given=given).flat() | {"data_hash": ""}
    assert tuple(data.train.features.shape) == tuple(drawn.train.features.shape)


@pytest.mark.parametrize(
    ("dataset", "method", "loss", "updates"),
    [
        ("flickr30k", "vse++", "ntxent", 33_990),  # 29,000 × 5 captions in batches of 128, thirty times
        ("flickr30k", "vse++", "smoothap", 34_050),
        ("coco", "vsrn", "triplet_sh", 132_780),
    ],
)
def test_a_published_row_has_the_updates_of_its_own_data(dataset, method, loss, updates):
    row = {"epochs": 150 if loss == "smoothap" else 30, "batch_size": 128}
    config, _ = unread.configuration(dataset, method, loss, given=row)
    assert config["updates"] == updates


def test_a_published_start_does_not_fill_a_short_run():
    """VSE∞'s first epoch has all negatives; in 500 updates nothing else would be left."""
    with pytest.raises(ValueError, match="warmup"):
        unread.configuration("flickr30k", "vse_infty", "triplet_sh", given={"updates": 500})

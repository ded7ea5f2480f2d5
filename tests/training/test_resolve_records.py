"""What every record was asked for, resolved again by today's rules: is it still the run that the record names?"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import torch

from icrlib.data.scenes import stamps
from icrlib.data.scenes.generate import ABOUT
from icrlib.data.splits import Dataset, Split
from icrlib.records.files import below
from icrlib.records.folder import root
from icrlib.training.config import identity, resolve
from icrlib.training.unread import Unseen

CAPTIONS = 5  # of an image, in every data set that has records
# Training photos of Flickr8k by the start of the data's hash: all, a part, and those outside of an album.
PHOTOS = {"5dc985": 6000, "8e5cac": 6000, "fc14c9": 400, "3d9b1f": 5600, "b98600": 5600}
# Scenes' own settings when the first 57 runs of half the length were made; all of these leave something to them.
# Today's are those of icrlib/data/scenes/defaults.json.
EARLIER = {
    "bow ntxent": {"lr": 0.01},
    "bow smoothap": {"lr": 0.01},
    "bow triplet": {"lr": 0.003},
    "bow triplet_sh": {"lr": 0.01},
    "vse++ ntxent": {"lr": 0.01},
    "vse++ smoothap": {"lr": 0.003},
    "vse++ triplet": {"lr": 0.01},
    "vse++ triplet_sh": {"lr": 0.01, "warmup": 250},
}
# A record keeps eight digits, an identity all of them: what these were, by setting and what the record says.
TENTH = {0.0003: 3e-3 / 10}
UNROUNDED = {"lr": TENTH | {0.00033333333: 1e-3 / 3}, "finetune_lr": TENTH, "restart_lr": TENTH}

MACHINE = ("device", "threads")  # no part of what a run is


@cache
def splits(images: int, pictures: bool) -> dict[str, Split]:
    features = Unseen(images, 8) if pictures else torch.zeros(1).expand(images, 8)
    image_of = torch.arange(images * CAPTIONS) // CAPTIONS
    split = Split("train", features, [""] * len(image_of), image_of, [""] * images)
    return {"train": split, "val": split, "test": split}


def stand_in(config: dict, earlier: bool = False) -> Dataset:
    """A data set with the name, sizes, options, hash and defaults of the record's, and nothing in it."""
    name, options = config["dataset"], config["data_options"]
    photos = PHOTOS.get(config["data_hash"][:6])
    images, defaults, tuned = (options["train"], ABOUT["settings"], ABOUT["tuned"]) if not photos else (photos, {}, {})
    if name == "stamps":
        images *= min(options["rounds"], 1 << options["bits"])
        defaults = defaults | stamps.SETTINGS
    if earlier:
        defaults, tuned = defaults | {"updates": 1500}, EARLIER
    return Dataset(
        name,
        **splits(images, "backbone" in options),
        vocabulary=None,
        fingerprint=config["data_hash"],
        defaults=defaults,
        options=options,
        tuned=tuned,
        foils=name == "scenes",
    )


def head(path: Path) -> tuple[str, dict]:
    """(identity, configuration) of a record, without reading the long rest of it."""
    text, decode = path.read_text("utf-8"), json.JSONDecoder().raw_decode
    found = (decode(text, text.index(f'"{name}": ') + len(name) + 4)[0] for name in ("identity", "config"))
    return tuple(found)


def test_every_record_is_still_the_run_that_was_asked_for():
    """All of them: names, values and identity. Of 57 the data's defaults were others, of 38 a rate has lost digits."""
    paths = below()
    other, earlier, unrounded = [], 0, 0
    for path in paths:
        named, config = head(path)
        if identity(config) != named:
            for part in (config, config["asked"]):
                part |= {name: of.get(part[name], part[name]) for name, of in UNROUNDED.items() if name in part}
            unrounded += 1
        parts = (config["method"], config["loss"])
        given = config["asked"] | {"start_from": config.get("start_from")}  # of a second stage asked for by a folder
        again = resolve(stand_in(config), *parts, seed=config["seed"], given=given)
        if again.identity() != named:
            again = resolve(stand_in(config, earlier=True), *parts, seed=config["seed"], given=given)
            earlier += 1
        now = json.loads(json.dumps(again.flat())) | {name: config[name] for name in MACHINE if name in config}
        differ = {name: (value, config[name]) for name, value in now.items() if config.get(name, value) != value}
        if again.identity() != named or differ:
            other.append(f"{path.relative_to(root())}: {named} is {again.identity()} now; (now, then): {differ}")
    assert not other, f"{len(other)} of {len(paths)}, the first: " + "\n".join(other[:3])
    assert (earlier, unrounded) == (57, 38) and len(paths) >= 3000

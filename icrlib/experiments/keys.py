"""What names a run: its arguments, resolved to a configuration without drawing or reading data, and the key of that."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from icrlib.data.load import DRAWN, load_dataset
from icrlib.experiments import store
from icrlib.records.folder import root
from icrlib.training.unread import configuration

NAMES = ("dataset", "method", "loss", "seed", "data_seed")  # what is no setting
# Photos are told apart by the fingerprint of their features, which nobody types: options that stand for one.
OF_PHOTOS = ("train", "regions", "features", "root", "images", "backbone")


def key(one: Mapping) -> str:
    """The key of the run that these arguments of :func:`runs` name."""
    return store.key_of(resolved(one))


def resolved(one: Mapping) -> dict:
    """The whole configuration of one run, without drawing or reading data."""
    dataset, options = one["dataset"], source_of(one)
    sides = {name: one.get(name) for name in NAMES[1:]}
    given = {name: value for name, value in one.items() if name not in (*NAMES, *options)}
    if first := first_stage(one):
        given["start_from"] = resolved(first)
    if dataset in DRAWN or Path(str(options.get("features"))).is_dir():
        return configuration(dataset, **sides, source=options, given=given)[0]
    if options.get("root"):
        config, _ = configuration(dataset, **sides, source=options, given=given)
        return config | {"data_hash": _of_root(dataset, tuple(options.items()))}
    told = {name: value for name, value in options.items() if value is not None}
    prints = [row["fingerprint"] for row in photos() if (row["dataset"], row["options"]) == (dataset, told)]
    if not prints:
        raise ValueError(
            f"{dataset} with {options}: no record names such photos; known are "
            f"{[row['options'] for row in photos() if row['dataset'] == dataset]}, and features=FOLDER names your own"
        )
    return configuration(dataset, **sides, given=given)[0] | {"data_hash": prints[0]}


def first_stage(one: Mapping) -> dict | None:
    """The first stage of a run: what ``start_from`` says of it, with data, model, loss and seed of the run itself."""
    named = one.get("start_from")
    if named is not None and not isinstance(named, Mapping):
        raise ValueError(
            f"start_from={named!r}: runs() names a first stage by its settings, start_from={{'lr': 0.003}}"
        )
    return None if named is None else {name: one[name] for name in NAMES if name in one} | dict(named)


def folder(one: Mapping) -> Path:
    """Where a run is trained, below the reader's own."""
    return store.trained() / store.place_of(one["dataset"], one["method"], one["loss"], key(one))


def for_training(one: Mapping) -> dict:
    """The arguments as :func:`icrlib.train` takes them: a first stage by its folder."""
    first = first_stage(one)
    return dict(one) if first is None else {**one, "start_from": str(folder(first))}


def stages_before(one: Mapping) -> list[dict]:
    """The earlier stages of a run that left no weights here, the first of them first. A record alone holds none."""
    first = first_stage(one)
    return [] if first is None or (folder(first) / "record.json").exists() else [*stages_before(first), first]


def source_of(one: Mapping) -> dict:
    """Those of the arguments that are options of the data."""
    drawn = DRAWN.get(one["dataset"])
    other = (*NAMES, "smoke", "progress")
    names = [name for name in inspect.signature(drawn).parameters if name not in other] if drawn else OF_PHOTOS
    return {name: one[name] for name in names if name in one}


@cache
def _of_root(dataset: str, options: tuple) -> str:
    """The fingerprint of photos that are opened at every use, once for all runs on them."""
    if dict(options).get("images") != "published":
        raise ValueError('root= is for images="published"; make features once, `icr features`, and give features=')
    return load_dataset(dataset, **dict(options)).fingerprint


@cache
def photos() -> list[dict]:
    """Which options stand for which photos, by ``records/photos.json``: {"dataset", "options", "fingerprint"} each."""
    return json.loads((root() / "photos.json").read_text(encoding="utf-8"))

"""The training of one run, named as for :func:`icrlib.runs`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from icrlib.data.load import DRAWN, load_dataset
from icrlib.experiments import keys
from icrlib.names import METHODS
from icrlib.training.run import train


def train_one(one: Mapping, folder: Path, features: str | Path | None = None) -> None:
    """Train one run, named as for :func:`icrlib.runs`, in ``folder``; killed and called again, it goes on.

    Its first stage (``start_from``) is trained before, where that has left no weights here.
    ``features``: the folder of the photos' features. ``ValueError`` where that is needed and not given, or holds other
    photos than the run names.
    """
    for first in keys.stages_before(one):
        train_one(first, keys.folder(first), features)
    source = keys.source_of(one)
    given = {name: value for name, value in keys.for_training(one).items() if name not in (*keys.NAMES, *source)}
    if one["dataset"] in DRAWN:
        regions = {"regions": True} if METHODS.find(one["method"]).takes == "regions" else {}
        draw = one["seed"] if one.get("data_seed") is None else one["data_seed"]
        data = load_dataset(one["dataset"], seed=draw, **regions | source)
    elif source.get("root"):
        data = load_dataset(one["dataset"], **source)
    else:
        data = load_dataset(one["dataset"], **_photos(source, features))
        wanted = keys.resolved(one)["data_hash"]
        if not data.fingerprint.startswith(wanted[:8]):
            raise ValueError(f"{features}: other photos, or features of them, than the page's runs are of")
    train(data, one["method"], one["loss"], seed=one["seed"], out=folder, **given)


def _photos(source: Mapping, features: str | Path | None) -> dict:
    folder = source.get("features", features) if Path(str(source.get("features"))).is_dir() else features
    if folder is None:
        raise ValueError("these runs are of photos: say where their features lie, `icr train PAGE --features FOLDER`")
    return {name: value for name, value in source.items() if name not in ("features", "regions")} | {"features": folder}

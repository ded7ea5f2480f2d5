"""What the run of a notebook would take, before anything starts."""

from __future__ import annotations

from collections.abc import Mapping

from icrlib.data.load import DRAWN, USUAL, more_options
from icrlib.experiments import missing, store
from icrlib.names import LOSSES, METHODS
from icrlib.training import unread

DATA = ("features", "root", "images", "backbone", "regions")
RUN = ("dataset", "method", "loss", "seed", "data_seed", "smoke", "out", "record", "probe")  # what is no setting of it


def sentence(values: Mapping) -> str:
    """What the run of a notebook with these parameters would take; ``ValueError`` for values that no run takes."""
    config, shape = configured(values)
    if wrong := unread.misfit(config["method"], shape):
        raise ValueError(f"{wrong}; `icr features` makes both kinds of photos, and -p regions=true draws regions")
    seconds, key = missing.seconds_of(config), store.key_of(config)
    time = "of unknown length, for no record is like it" if seconds is None else f"about {seconds / 60:.1f} minutes"
    record = store.load(store.place_of(config["dataset"], config["method"], config["loss"], key), key)
    there = f"\nits record is there already: {record['path']}" if record else ""
    return f"plan: {config['updates']:,} updates, {time}{there}"


def configured(values: Mapping) -> tuple[dict, tuple[int, ...]]:
    """(configuration, shape of one image's features) of a run with parameters as those of book/reproduce/run."""
    dataset = values.get("dataset") or USUAL
    more, drawn = more_options(dataset), dataset in DRAWN
    source = {name: values[name] for name in (*(["regions"] if drawn else DATA), *more) if name in values}
    no_settings = {*DATA, *RUN, *more}
    config, data = unread.configuration(
        dataset,
        values.get("method") or METHODS.usual,
        values.get("loss") or LOSSES.usual,
        seed=values.get("seed") or 0,
        data_seed=values.get("data_seed"),
        smoke=bool(values.get("smoke")),
        source=source,
        given={name: value for name, value in values.items() if name not in no_settings and value is not None},
    )
    return config, tuple(data.train.features.shape[1:])

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
    dataset = values.get("dataset") or USUAL
    more = more_options(dataset)
    source = [*(["regions"] if dataset in DRAWN else DATA), *more]
    config, data = unread.configuration(
        dataset,
        values.get("method") or METHODS.usual,
        values.get("loss") or LOSSES.usual,
        seed=values.get("seed") or 0,
        data_seed=values.get("data_seed"),
        smoke=bool(values.get("smoke")),
        source={name: values[name] for name in source if name in values},
        given={name: value for name, value in values.items() if name not in (*DATA, *RUN, *more) and value is not None},
    )
    if wrong := unread.misfit(config["method"], tuple(data.train.features.shape[1:])):
        raise ValueError(f"{wrong}; `icr features` makes both kinds of photos, and -p regions=true draws regions")
    seconds, key = missing.seconds_of(config), store.key_of(config)
    time = "of unknown length, for no record is like it" if seconds is None else f"about {seconds / 60:.1f} minutes"
    record = store.load(store.place_of(config["dataset"], config["method"], config["loss"], key))
    known = f"\nits record is there already: {record['path']}" if record else ""
    return f"plan: {config['updates']:,} updates, {time}{known}"

"""What runs would cost, from past records."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path

import click

from icrlib.data.load import DRAWN, USUAL, more_options
from icrlib.names import LOSSES, METHODS
from icrlib.parameters import read_value
from icrlib.planning import asked, cost, operations
from icrlib.records.index import outlines

DATA = ("features", "root", "images", "backbone", "regions")
RUN = ("dataset", "method", "loss", "seed", "data_seed", "smoke", "out", "record", "probe")  # what is no setting of it


@click.command()
@click.option("-p", "given", multiple=True, metavar="NAME=VALUE[,VALUE]", help="Settings; several values make a grid.")
def plan(given: tuple[str, ...]) -> None:
    """Say how many core-hours a grid of runs would take, from past records; nothing is started.

    Runs whose record is among the book's, or below runs/, count as finished.

    \b
    icr plan -p loss=triplet,ntxent -p lr=1e-3,3e-3 -p updates=3000,9000 -p seed=0,1,2
    """
    axes = {}
    for text in given:
        name, _, values = text.partition("=")
        if not values:
            raise ValueError(f"-p {text}: write NAME=VALUE or NAME=VALUE,VALUE")
        axes[name] = [read_value(value) for value in values.split(",")]
    runs = [dict(zip(axes, point, strict=True)) for point in itertools.product(*axes.values())]
    known = [*outlines(), *asked.of_runs(Path("runs"))]
    found = [_cost(*configured(run), known) for run in runs]
    costs = [one for one in found if isinstance(one, cost.Cost)]
    unknown = [one for one in found if isinstance(one, str) and one]
    counts = {"finished": found.count(""), "of unknown length": len(unknown)}
    notes = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    seconds = sum(one.seconds for one in costs)
    time = f"{seconds / 3600:.1f} core-hours" if seconds >= 3600 else f"{seconds / 60:.1f} core-minutes"
    click.echo(f"{len(runs)} runs, {time}{f' ({notes})' if notes else ''} as past records suggest")
    for note in dict.fromkeys([*unknown, *filter(None, (one.scaled for one in costs))]):
        click.echo(f"  {note}")


def expected(values: Mapping) -> str:
    """What the run of a notebook with these parameters would take; ``ValueError`` for values that no run takes."""
    config, sizes = configured(values)
    if wrong := operations.misfit(config["method"], sizes["features"]):
        raise ValueError(f"{wrong}; `icr features` makes both kinds of photos, and -p regions=true draws regions")
    known = [*outlines(), *asked.of_runs(Path("runs"))]
    record = asked.finished(config, known)
    kept = f"\nits record is there already: {record['path']}" if record else ""
    return cost.sentence(config, sizes, known, cost.AROUND) + kept


def configured(values: Mapping) -> tuple[dict, dict]:
    """(configuration, sizes of the data) of a run with parameters as those of book/reproduce/run; no data is read."""
    dataset = values.get("dataset") or USUAL
    more, drawn = more_options(dataset), dataset in DRAWN
    source = {name: values[name] for name in (*(["regions"] if drawn else DATA), *more) if name in values}
    if drawn:
        source["seed"] = values.get("data_seed")
    no_settings = {*DATA, *RUN, *more}
    return asked.configuration(
        dataset,
        values.get("method") or METHODS.usual,
        values.get("loss") or LOSSES.usual,
        seed=values.get("seed") or 0,
        smoke=bool(values.get("smoke")),
        source=source,
        given={name: value for name, value in values.items() if name not in no_settings and value is not None},
    )


def _cost(config: dict, sizes: dict, known: list[dict]) -> cost.Cost | str:
    """What a run would take; "" where its record is there already; else why nobody can say."""
    if asked.finished(config, known):
        return ""
    return cost.estimate(config, known, sizes) or cost.unknown(config, known, sizes)

"""What runs would cost, from past records."""

from __future__ import annotations

import itertools
from pathlib import Path

import click

from icrlib.data.load import USUAL
from icrlib.names import LOSSES, METHODS
from icrlib.parameters import read_value
from icrlib.planning import asked, cost
from icrlib.records.index import outlines

PARTS = ("dataset", "method", "loss", "seed")


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
        name, equals, values = text.partition("=")
        if not equals or not values:
            raise ValueError(f"-p {text}: write NAME=VALUE or NAME=VALUE,VALUE")
        axes[name] = [read_value(value) for value in values.split(",")]
    base, known = {"dataset": USUAL, "method": METHODS.usual, "loss": LOSSES.usual, "seed": 0}, outlines()
    runs = [base | dict(zip(axes, point, strict=True)) for point in itertools.product(*axes.values())]
    found = [_expected(run, [*known, *asked.of_runs(Path("runs"))]) for run in runs]
    click.echo(f"{len(runs)} runs, {_sum(found)} as past records suggest")
    for loss in dict.fromkeys(run["loss"] for run in runs):
        own = [one for run, one in zip(runs, found, strict=True) if run["loss"] == loss]
        click.echo(f"  {loss}: {len(own)} runs, {_sum(own)}")
    for said in dict.fromkeys(one for one in found if isinstance(one, str) and one):
        click.echo(f"  unknown: {said}")
    for said in dict.fromkeys(one.scaled for one in found if isinstance(one, cost.Cost) and one.scaled):
        click.echo(f"  {said}")


def _expected(run: dict, known: list[dict]) -> cost.Cost | str:
    """What a run would take; "" where its record is there already; else why nobody can say."""
    given = {name: value for name, value in run.items() if name not in PARTS}
    source = {name: run[name] for name in ("features", "root", "images", "backbone") if name in run}
    config, sizes = asked.configuration(
        run["dataset"],
        run["method"],
        run["loss"],
        seed=run["seed"],
        source=source,
        given={k: v for k, v in given.items() if k not in source},
    )
    if asked.finished(config, known):
        return ""
    return cost.estimate(config, known, sizes) or cost.unknown(config, known, sizes)


def _sum(found: list[cost.Cost | str]) -> str:
    """Core-hours of those runs that are to be trained, and how many are not counted, and why."""
    costs = [one for one in found if isinstance(one, cost.Cost)]
    notes = [
        f"{count} {what}"
        for count, what in (
            (found.count(""), "finished"),
            (sum(one.scaled != "" for one in costs), "of them scaled"),
            (sum(isinstance(one, str) and one != "" for one in found), "of unknown length"),
        )
        if count
    ]
    seconds = sum(one.seconds for one in costs)
    told = f"{seconds / 3600:.1f} core-hours" if seconds >= 3600 else f"{seconds / 60:.1f} core-minutes"
    return told + (f" ({', '.join(notes)})" if notes else "")

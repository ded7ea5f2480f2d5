"""Commands about records: what runs would cost, how two differ, which are there."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path

import click

from icrlib.cli.settings import read_value
from icrlib.data.load import USUAL
from icrlib.names import LOSSES, METHODS
from icrlib.planning import asked, cost
from icrlib.records.files import load
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


@click.command()
@click.argument("first", type=click.Path(path_type=Path))
@click.argument("second", type=click.Path(path_type=Path))
def compare(first: Path, second: Path) -> None:
    """Show what differs between two records: settings, versions, test measures."""
    a, b = load(first), load(second)
    for title, left, right in (
        ("settings", a["config"], b["config"]),
        ("versions", a.get("versions", {}), b.get("versions", {})),
        ("test", _measures(a), _measures(b)),
        ("cost", _cost(a), _cost(b)),
    ):
        click.secho(title, bold=True)
        names = [name for name in {**left, **right} if left.get(name) != right.get(name)]
        for name in names:
            x, y = left.get(name), right.get(name)
            number = isinstance(x, (int, float)) and isinstance(y, (int, float)) and not isinstance(x, bool)
            click.echo(f"  {name:24} {_show(x):>14} {_show(y):>14}" + (f" {y - x:>+12.4g}" if number else ""))
        if not names:
            click.echo("  the same")


def flat(values: dict, prefix: str = "") -> dict:
    """Nested dict to one level, keys joined by dots."""
    out: dict = {}
    for key, value in values.items():
        out |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return out


def _measures(record: dict) -> dict:
    return flat({name: value for name, value in record.get("test", {}).items() if name != "ranks"})


def _cost(record: dict) -> dict:
    names = ("wall_seconds", "seconds_per_epoch", "peak_memory_mb", "device")
    return flat({name: record[name] for name in names if name in record})


def _show(value) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


@click.command()
def records() -> None:
    """List the book's records: how many of each kind."""
    found = outlines()
    kinds = Counter((record["config"]["dataset"], record["config"]["method"]) for record in found)
    for (dataset, method), count in sorted(kinds.items()):
        click.echo(f"{count:5}  {dataset} {method}")
    click.echo(f"{len(found):5}  in all")

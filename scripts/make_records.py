"""Train the runs of a study whose records are missing, and write each record when it is done.

Without a study it lists all. A killed run goes on from its last checkpoint in runs/. Existing records are never
touched. Several of these commands may run side by side: each run is trained by one of them.
"""

from __future__ import annotations

import inspect
from pathlib import Path

import click
import torch

import icrlib
from icrlib import devices, records
from icrlib.planning import asked, cost
from studies import STUDIES, Planned, flickr8k, hopeless


@click.command(help=__doc__)
@click.argument("study", type=click.Choice(list(STUDIES)), required=False)
@click.option("--features", type=click.Path(path_type=Path, exists=True), help="Features of a study on photos.")
@click.option("--plan", is_flag=True, help="Say how many runs are missing and what they would cost; start nothing.")
@click.option("--loss", "losses", multiple=True, help="Only the runs with this loss; may be given several times.")
@click.option("--part", default="0/1", show_default=True, help="Begin at this share of the list, such as 1/2.")
def main(study: str | None, features: Path | None, plan: bool, losses: tuple[str, ...], part: str) -> None:
    if study is None:
        if features or plan or losses:
            raise click.UsageError(
                "--features, --plan and --loss are about one study; name it (STUDY=name for make), "
                "or leave them out for the list of all"
            )
        return overview()
    runs = list(STUDIES[study]())
    if strange := set(losses) - {run.loss for run in runs}:
        raise click.ClickException(
            f"{study} has no runs with {', '.join(sorted(strange))}; it has "
            + ", ".join(sorted({run.loss for run in runs}))
        )
    number, of = map(int, part.split("/"))
    # Its own part first, then what the others have left: a part is counted on the whole list, which all have alike.
    runs = runs[number::of] + [run for place, run in enumerate(runs) if place % of != number]
    runs = [run for run in runs if not run.path.exists() and (not losses or run.loss in losses)]
    if plan:
        known = records.find(study="*")
        costs = [expected(run, known, features) for run in runs]
        hours = sum(found.seconds for found in costs if found) / 3600
        unknown = f"; {n} are like no past record and not counted" if (n := costs.count(None)) else ""
        click.echo(
            f"{study}: {len(runs)} runs are missing, about {hours:.1f} core-hours as past records suggest" + unknown
        )
        return
    devices.keep_freed()
    torch.set_num_threads(1)
    for run in runs:
        if run.path.exists() or hopeless(run):
            continue
        train(run, features)


def overview() -> None:
    """One line a study: its name, its records, and what it asks. (Which are missing takes long to find.)"""
    wide = max(map(len, STUDIES))
    for name, plan in STUDIES.items():
        there = sum(1 for _ in (records.root() / "studies" / name).rglob("*.json"))
        click.echo(f"{name:{wide}} {there:5} records  {inspect.getdoc(plan).splitlines()[0].replace('``', '')}")
    click.echo("\nSTUDY=name trains what is missing of one; PLAN=1 only says how much that is and what it takes.")


def expected(run: Planned, known: list[dict], features: Path | None) -> cost.Cost | None:
    """What the run would take, as past records suggest; None where that is unknown."""
    source = run.data | ({"features": features} if features else {})
    config, sizes = asked.configuration(
        run.dataset, run.method, run.loss, seed=run.seed, source=source, given=run.settings
    )
    return cost.estimate(config, known, sizes)


def train(run: Planned, features: Path | None) -> None:
    """One run, unless another process is at it."""
    name = run.path.relative_to(records.root())
    if features and run.photos:
        features = flickr8k.fewer(features, run.photos, Path("runs"))
    data = icrlib.load_dataset(run.dataset, **({"features": features} if features else {}), **run.data)
    try:
        made = icrlib.train(
            data,
            run.method,
            run.loss,
            seed=run.seed,
            out=Path("runs") / name.with_suffix(""),
            record=run.path,
            device="cpu",
            **run.settings,
        )
    except ValueError as err:
        if "another process" not in str(err):
            raise
        click.echo(f"{name}: another process is at it")
        return
    best = made.record["test"]
    twins = f", swap twins {best['twins']['swap']:.1f} %" if "twins" in best else ""
    click.echo(f"{name}: test rsum {best['rsum']:.1f}{twins}, {made.record['wall_seconds']:.0f} s")


if __name__ == "__main__":
    main()
